// SPDX-License-Identifier: Apache-2.0
// Walking among the nodes of a document to recognise a pattern, from one of its nodes to the others.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/document.h"

namespace reprise::onnx {

class Web {
 public:
  Web(const Document& document, const std::vector<Node>& nodes);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(std::size_t i) const { return nodes_[i]; }
  std::int64_t opset() const { return opset_; }

  /// The node of that op which makes this name.
  std::optional<std::size_t> maker(const std::string& name, std::string_view op) const;
  /// The only reader of output 0 of a node, which no output of the graph is, if it is of that op.
  std::optional<std::size_t> reader(std::size_t node, std::string_view op) const;
  /// Whether the values between these nodes are read by nobody else; the last one's are free.
  bool is_closed(const std::set<std::size_t>& nodes, std::size_t last) const;

  /// The number that a name stands for, if it is a single constant, perhaps cast; the integers, if it is a list of
  /// them.
  std::optional<double> number(const std::string& name) const;
  bool is_number(const std::string& name, double wanted) const;  // within f32's precision
  std::vector<std::int64_t> integers(const std::string& name) const;
  /// A weight of so many dimensions.
  bool is_weight(const std::string& name, std::size_t dims) const;

 private:
  const FileTensor* constant(const std::string& name) const;

  const std::vector<Node>& nodes_;
  std::int64_t opset_ = 0;
  std::unordered_map<std::string, std::size_t> maker_;
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
  std::set<std::string> outputs_;
  std::unordered_map<std::string, const FileTensor*> initializers_;
};

/// The nodes without casts to the type that a value has anyway: exporters write them where a model says "compute in
/// f32". A cast stays where the type before it is not plain to see.
std::vector<Node> without_idle_casts(const Document& document, std::vector<Node> nodes);

/// An attribute of a node, or the default.
std::int64_t attribute_integer(const Node& node, std::string_view name, std::int64_t otherwise);
std::vector<std::int64_t> attribute_integers(const Node& node, std::string_view name);

/// The operand of a node with two that is not this one; empty if neither is.
std::string other_operand(const Node& node, const std::string& name);

/// coefficient · x^power, as products, quotients and powers of x and numbers make it; the nodes they are join
/// `visited`.
struct Monomial {
  double coefficient = 1;
  int power = 0;
};
std::optional<Monomial> monomial(const Web& web, const std::string& name, const std::string& x,
                                 std::set<std::size_t>& visited);
bool is_close(const std::optional<Monomial>& m, double coefficient, int power);

}  // namespace reprise::onnx
