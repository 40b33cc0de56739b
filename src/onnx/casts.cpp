// SPDX-License-Identifier: Apache-2.0
// Casts that change nothing hide the patterns that fuse() looks for.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "onnx/operators.h"
#include "onnx/pattern.h"
#include "onnx/roles.h"

namespace reprise::onnx {
namespace {

using KnownElements = std::unordered_map<std::string, std::int32_t>;  // by name; 0: not plain to see

std::int32_t element_at(const KnownElements& known, const Node& node, std::size_t input) {
  if (input >= node.inputs.size()) return 0;
  auto found = known.find(node.inputs[input]);
  return found == known.end() ? 0 : found->second;
}

std::int32_t constant_type(const Node& node) {
  for (const NodeAttribute& a : node.attributes)
    if (const auto* t = std::get_if<FileTensor>(&a.value)) return t->data_type;
  return node.op == "ConstantOfShape" ? static_cast<std::int32_t>(element_float) : 0;
}

// Of a node's first output.
std::int32_t made_element(const Document& document, const KnownElements& known, const Node& node) {
  if (!node.domain.empty()) return 0;
  if (node.op == "Cast") return static_cast<std::int32_t>(attribute_integer(node, "to", 0));
  if (node.op == "Constant" || node.op == "ConstantOfShape") return constant_type(node);
  if (node.op == "Where") return element_at(known, node, 1);
  const Operator* op = find_operator(node, opset_of(document, node));
  return op && op->elements != tells && !op->element ? element_at(known, node, 0) : 0;
}

}  // namespace

std::vector<Node> without_idle_casts(const Document& document, std::vector<Node> nodes) {
  KnownElements known;
  for (const Declared& input : document.inputs) known[input.name] = input.data_type;
  for (const FileTensor& t : document.initializers) known[t.name] = t.data_type;
  std::set<std::string> outputs;
  for (const Declared& output : document.outputs) outputs.insert(output.name);
  std::unordered_map<std::string, std::string> same;  // what an idle cast makes: what it was given
  std::vector<Node> kept;
  for (Node& node : nodes) {
    for (std::string& name : node.inputs)
      if (auto found = same.find(name); found != same.end()) name = found->second;
    std::int32_t element = made_element(document, known, node);
    if (!node.outputs.empty()) known[node.outputs[0]] = element;
    bool idle = node.op == "Cast" && node.domain.empty() && element > 0 && element == element_at(known, node, 0);
    if (idle && node.outputs.size() == 1 && !outputs.contains(node.outputs[0]))
      same[node.outputs[0]] = node.inputs[0];
    else
      kept.push_back(std::move(node));
  }
  return kept;
}

}  // namespace reprise::onnx
