// SPDX-License-Identifier: Apache-2.0
// Building graphs: adding nodes, and recording them through values.
#include "reprise/graph.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "base/error.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

// Without inputs a graph is an expression of constants: it can be copied into any other.
bool is_constant(const Value& v) { return v.graph()->inputs.empty(); }

// Whoever listens to one of the graphs says it in its own words.
[[noreturn]] void refuse_mixture(const Op& op, const Graph& a, const Graph& b) {
  for (const Graph* graph : {&a, &b})
    if (Recorder* recorder = graph->listener.recorder) recorder->recorded(foreign_value);
  fail("[{}] the inputs belong to two different graphs: record both in one function", op.name);
}

// The graph that a node over these inputs belongs to: constants follow, everything else leads.
std::shared_ptr<Graph> common_graph(const Op& op, const Values& inputs) {
  std::shared_ptr<Graph> graph;
  for (const Value& v : inputs) {
    if (!v) fail("[{}] an input is an empty Value: it was never assigned", op.name);
    if (is_constant(v) || v.graph() == graph) continue;
    if (graph) refuse_mixture(op, *graph, *v.graph());
    graph = v.graph();
  }
  if (inputs.empty()) fail("[{}] needs at least one input to know its graph", op.name);
  return graph ? graph : inputs[0].graph();
}

// Copies what a constant expression is made of, and nothing else of its graph.
Ref copy_expression(Graph& to, const Graph& from, Ref result) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(result.node) + 1, -1);
  place.back() = 0;
  for (std::int32_t i = result.node; i >= 0; --i)
    if (place[static_cast<std::size_t>(i)] >= 0)
      for (Ref r : from.node(i).inputs) place[static_cast<std::size_t>(r.node)] = 0;
  for (std::int32_t i = 0; i <= result.node; ++i) {
    if (place[static_cast<std::size_t>(i)] < 0) continue;
    Node node = from.node(i);
    for (Ref& r : node.inputs) r.node = place[static_cast<std::size_t>(r.node)];
    place[static_cast<std::size_t>(i)] = to.append(std::move(node));
  }
  return {place.back(), result.output};
}

Ref bring_into(Graph& graph, const Value& v) {
  return v.graph().get() == &graph ? v.ref() : copy_expression(graph, *v.graph(), v.ref());
}

// Attributes and types that are the same as those of a node just before are held once: a network of many equal steps
// would otherwise be many times as large while it is recorded.
void share_with_neighbours(std::span<const Node> nodes, Node& node) {
  constexpr std::size_t many = 64;
  bool has_attributes = node.attributes.empty(), has_types = node.outputs.size() == 0;
  for (const Node& other : nodes.last(std::min(many, nodes.size())) | std::views::reverse) {
    if (has_attributes && has_types) return;
    if (other.op != node.op) continue;
    if (!has_types && other.outputs == node.outputs) node.outputs = other.outputs, has_types = true;
    if (!has_attributes && other.attributes == node.attributes)
      node.attributes = other.attributes, has_attributes = true;
  }
}

}  // namespace

std::int32_t Graph::add(const Op& op, Refs node_inputs, Attributes attributes, std::string name) {
  Type few[2];  // enough for most ops, without an allocation
  std::vector<Type> many(node_inputs.size() > std::size(few) ? node_inputs.size() : 0);
  std::span<Type> types = many.empty() ? std::span(few, node_inputs.size()) : std::span(many);
  for (std::size_t i = 0; i < types.size(); ++i) types[i] = type(node_inputs[i]);
  Node node{&op, std::move(node_inputs), std::move(attributes), {}, std::move(name)};
  node.outputs = op.infer({op, types, node.attributes});
  share_with_neighbours(nodes_, node);
  return append(std::move(node));
}

Ref Graph::add_input(const Type& type, std::string name) {
  std::int32_t i = add(input_op, {}, {{"shape", type.shape.sizes()}, {"dtype", std::string(to_string(type.dtype))}},
                       std::move(name));
  inputs.push_back(i);
  return {i, 0};
}

std::int32_t Graph::append(Node node) {
  nodes_.push_back(std::move(node));
  return size() - 1;
}

void Graph::shrink(std::int32_t new_size) {
  nodes_.erase(nodes_.begin() + new_size, nodes_.end());
  std::erase_if(inputs, [&](std::int32_t i) { return i >= new_size; });
  std::erase_if(outputs, [&](Ref r) { return r.node >= new_size; });
}

Signature Graph::signature(std::int32_t i, std::vector<Type>& input_types) const {
  const Node& n = node(i);
  input_types.clear();
  for (Ref r : n.inputs) input_types.push_back(type(r));
  return {*n.op, input_types, n.attributes, n.outputs};
}

Value::Value(const Tensor& tensor)
    : graph_(std::make_shared<Graph>()), ref_{graph_->add(constant_op, {}, {{"value", tensor}}), 0} {}

const Type& Value::type() const {
  if (!graph_) fail("[value] an empty Value has no type: it was never assigned");
  return graph_->type(ref_);
}

namespace {

// The number of the new node, of which whoever listens was told.
std::int32_t record_node(const std::shared_ptr<Graph>& graph, const Op& op, const Values& inputs,
                         Attributes attributes) {
  std::int32_t before = graph->size();
  try {
    std::vector<Ref> refs;
    refs.reserve(inputs.size());
    for (const Value& v : inputs) refs.push_back(bring_into(*graph, v));
    std::int32_t node = graph->add(op, std::move(refs), std::move(attributes));
    if (graph->listener.recorder) graph->listener.recorder->recorded(node);
    return node;
  } catch (...) {
    if (graph->size() > before) graph->shrink(before);  // constants that came for this op
    throw;
  }
}

}  // namespace

Values record(const Op& op, const Values& inputs, Attributes attributes) {
  std::shared_ptr<Graph> graph = common_graph(op, inputs);
  std::int32_t node = record_node(graph, op, inputs, std::move(attributes));
  Values outputs;
  for (std::size_t i = 0; i < graph->node(node).outputs.size(); ++i)
    outputs.emplace_back(graph, Ref{node, static_cast<std::int32_t>(i)});
  return outputs;
}

Value record(std::string_view name, const Values& inputs, Attributes attributes) {
  const Op* op = find_op(name);
  if (!op) fail("there is no op '{}': `reprise ops` lists them", name);
  std::shared_ptr<Graph> graph = common_graph(*op, inputs);
  std::int32_t node = record_node(graph, *op, inputs, std::move(attributes));
  return {std::move(graph), Ref{node, 0}};
}

Value Call::in(int i) const { return {graph_, graph_->node(node_).inputs[static_cast<std::size_t>(i)]}; }
Value Call::out(int i) const { return {graph_, {node_, i}}; }
int Call::arity() const { return static_cast<int>(graph_->node(node_).inputs.size()); }

Values Call::inputs() const {
  Values values;
  for (int i = 0; i < arity(); ++i) values.push_back(in(i));
  return values;
}

const Attributes& Call::attributes() const { return graph_->node(node_).attributes; }
Signature Call::attributes_only() const { return {*graph_->node(node_).op, {}, attributes()}; }
std::int64_t Call::integer(std::string_view name) const { return attributes_only().integer(name); }
double Call::real(std::string_view name) const { return attributes_only().real(name); }
const std::string& Call::text(std::string_view name) const { return attributes_only().text(name); }
const std::vector<std::int64_t>& Call::integers(std::string_view name) const {
  return attributes_only().integers(name);
}
const std::vector<double>& Call::reals(std::string_view name) const { return attributes_only().reals(name); }

Value named(Value value, std::string name) {
  value.graph()->node(value.ref().node).name = std::move(name);
  return value;
}

namespace {

// Of a view it is meant for what the view shows: that is what takes memory.
void set_hint(const Value& value, Hint hint) {
  if (!value) fail("[hint] an empty Value cannot be kept or recomputed: it was never assigned");
  Node& node = value.graph()->node(owner(*value.graph(), value.ref()).node);
  if (node.hint != Hint::none && node.hint != hint)
    fail("[hint] the result of '{}' is to be kept and to be recomputed: decide for one",
         node.name.empty() ? std::string(node.op->name) : node.name);
  node.hint = hint;
}

}  // namespace

Value keep(Value value) {
  set_hint(value, Hint::keep);
  return value;
}

Value recompute_value(Value value) {
  set_hint(value, Hint::recompute);
  return value;
}

Graph trace(const std::function<Values(const Values&)>& f, std::span<const Type> types) {
  auto graph = std::make_shared<Graph>();
  Values inputs;
  for (const Type& type : types) inputs.emplace_back(graph, graph->add_input(type));
  std::vector<Ref> outputs;
  for (const Value& v : f(inputs)) {
    if (!v) fail("[trace] the function returned an empty Value: it was never assigned");
    if (v.graph() != graph && !is_constant(v)) fail("[trace] the function returned a value of another graph");
    outputs.push_back(bring_into(*graph, v));
  }
  graph->outputs = std::move(outputs);
  inputs.clear();
  bool is_ours = graph.use_count() == 1;  // unless the function has handed out Values of it
  return is_ours ? std::move(*graph) : *graph;
}

}  // namespace reprise
