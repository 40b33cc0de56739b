// SPDX-License-Identifier: Apache-2.0
// The judge of graphs. It trusts nothing that a pass may have got wrong.
#include "base/error.h"
#include "reprise/graph.h"

namespace reprise {
namespace {

void verify_node(const Graph& graph, std::int32_t i) {
  const Node& node = graph.node(i);
  if (!node.op) fail("[internal] node {} has no op", i);
  std::vector<Type> types;
  for (Ref r : node.inputs) {
    if (r.node < 0 || r.node >= i)
      fail("[internal] node {} ({}) reads node {}, which does not come before it", i, node.op->name, r.node);
    if (r.output < 0 || static_cast<std::size_t>(r.output) >= graph.node(r.node).outputs.size())
      fail("[internal] node {} ({}) reads output {} of node {}, which has {}", i, node.op->name, r.output, r.node,
           graph.node(r.node).outputs.size());
    types.push_back(graph.type(r));
  }
  Types inferred = node.op->infer({*node.op, types, node.attributes});
  if (inferred != node.outputs) fail("[internal] node {} ({}) does not have the types its op infers", i, node.op->name);
}

}  // namespace

void verify(const Graph& graph) {
  for (std::int32_t i = 0; i < graph.size(); ++i) verify_node(graph, i);
  for (Ref r : graph.outputs)
    if (r.node < 0 || r.node >= graph.size() || r.output < 0 ||
        static_cast<std::size_t>(r.output) >= graph.node(r.node).outputs.size())
      fail("[internal] output {}:{} is not a value of the graph", r.node, r.output);
  for (const Update& u : graph.updates)
    if (graph.node(u.input).op->name != "input" || graph.type({u.input, 0}) != graph.type(u.value))
      fail("[internal] node {} cannot take over the value {}:{}", u.input, u.value.node, u.value.output);
  std::int32_t before = -1;
  for (std::int32_t i : graph.inputs) {
    if (i <= before || i >= graph.size() || graph.node(i).op->name != "input")
      fail("[internal] {} is not an input of the graph", i);
    before = i;
  }
}

}  // namespace reprise
