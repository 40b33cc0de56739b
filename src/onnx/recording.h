// SPDX-License-Identifier: Apache-2.0
// Records nodes one after the other, folds what is known, and collects what cannot be recorded.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/importer.h"
#include "onnx/operators.h"
#include "onnx/roles.h"

namespace reprise::onnx {

/// An Error where the bytes of a value, or those between two of its elements, cannot be counted.
void check_countable(const Type& type);

class Recording {
 public:
  Recording(const Document& document, const Roles& roles, const Network::Hooks& hooks, bool training)
      : document_(document), roles_(roles), hooks_(hooks), training_(training) {}

  /// An Error where there is no room for so many bytes more of constants.
  void hold(std::int64_t bytes);

  void give(const std::string& name, Operand operand);
  /// A name that cannot be had: what depends on it is left out.
  void miss(const std::string& op, const std::string& node, const std::string& why);
  void run(const Node& node);
  /// Notes it if an operator does not make this output of its.
  void need(const std::string& name);
  /// An empty operand where it is missing.
  Operand value(const std::string& name) const;

  /// Throws UnsupportedModel if anything was missing, and otherwise the first Error.
  void require_complete() const;

 private:
  std::vector<Operand> inputs_of(const Node& node) const;
  std::vector<Operand> record(const Node& node, const Operator& op, std::vector<Operand> inputs);
  Surroundings surroundings(const Node& node) const;
  void fold(std::vector<Operand>& outputs);
  std::int64_t most_operations() const;
  void check_size(const Value& value) const;

  const Document& document_;
  const Roles& roles_;
  const Network::Hooks& hooks_;
  bool training_;
  std::shared_ptr<Graph> graph_;  // the network's; none while everything is known
  std::unordered_map<std::string, Operand> values_;
  std::unordered_map<std::string, Missing> unmade_;  // outputs of recorded nodes, a concern only if somebody reads them
  std::vector<Missing> missing_;
  std::unordered_map<std::string, std::size_t> places_;  // in it, by op and reason
  std::string error_;  // of the first node that could not be recorded for another reason
  std::int64_t folded_bytes_ = 0, held_bytes_ = 0;
};

}  // namespace reprise::onnx
