// SPDX-License-Identifier: Apache-2.0
#include "graph/exact.h"

#include "graph/builtin.h"

namespace reprise {
namespace {

Attributes in_double(const Attributes& attributes) {
  Attributes result;
  for (const auto& [name, value] : attributes) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* tensor = std::get_if<Tensor>(&value);
    if (name == "dtype" && text && *text == "f32")
      result.set(name, std::string("f64"));
    else if (tensor && tensor->dtype() == DType::f32)
      result.set(name, tensor->to(DType::f64));
    else
      result.set(name, value);
  }
  return result;
}

}  // namespace

Graph in_double_precision(const Graph& graph) {
  Graph exact;
  for (const Node& node : graph.nodes()) exact.add(*node.op, node.inputs, in_double(node.attributes), node.name);
  exact.inputs = graph.inputs;
  exact.outputs = graph.outputs;
  exact.captures = graph.captures;
  exact.updates = graph.updates;
  return exact;
}

}  // namespace reprise
