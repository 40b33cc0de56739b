// SPDX-License-Identifier: Apache-2.0
// Graphs by name: checked and put in order before anything is recorded.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "reprise/lazy_ops.h"

namespace reprise {
namespace {

// Who makes a tensor: a node, or nobody because it is an input.
using Makers = std::unordered_map<std::string, std::ptrdiff_t>;
constexpr std::ptrdiff_t given = -1;

void add_maker(Makers& makers, const std::string& name, std::ptrdiff_t maker) {
  if (name.empty()) fail("[einsum_graph] a tensor has no name");
  if (!makers.emplace(name, maker).second) fail("[einsum_graph] '{}' is made twice", name);
}

Makers find_makers(const EinsumGraph& graph) {
  Makers makers;
  for (const auto& [name, type] : graph.inputs()) add_maker(makers, name, given);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i)
    add_maker(makers, graph.nodes()[i].output, static_cast<std::ptrdiff_t>(i));
  return makers;
}

void check_op(const EinsumGraph::Node& node) {
  switch (node.kind) {
    case EinsumGraph::Kind::einsum:
      if (node.inputs.empty()) fail("[einsum_graph] the einsum '{}' has no inputs", node.output);
      break;
    case EinsumGraph::Kind::unary: parse_elem_op(node.op); break;
    case EinsumGraph::Kind::binary: parse_binary_op(node.op); break;
    case EinsumGraph::Kind::reduce: parse_reduce_op(node.op); break;
  }
}

Value record_node(const EinsumGraph::Node& node, const Values& inputs) {
  switch (node.kind) {
    case EinsumGraph::Kind::einsum: return einsum(node.op, inputs);
    case EinsumGraph::Kind::unary: return elem_op(parse_elem_op(node.op), inputs[0]);
    case EinsumGraph::Kind::binary: return elem_op_binary(parse_binary_op(node.op), inputs[0], inputs[1]);
    case EinsumGraph::Kind::reduce: return reduce(parse_reduce_op(node.op), inputs[0], node.axes, node.keepdims);
  }
  fail("[internal] no such kind of node");
}

// An op's error, of its type, with the name of the tensor.
Value named_errors(const EinsumGraph::Node& node, const Values& inputs) {
  auto message = [&](const Error& e) { return fmt::format("[einsum_graph] '{}': {}", node.output, e.what()); };
  try {
    return record_node(node, inputs);
  } catch (const RankError& e) {
    throw RankError(message(e));
  } catch (const BroadcastError& e) {
    throw BroadcastError(message(e));
  } catch (const Error& e) {
    throw Error(message(e));
  }
}

}  // namespace

const Value& NamedGraph::operator[](std::string_view name) const {
  auto at = values.find(name);
  if (at == values.end()) fail("[einsum_graph] there is no tensor '{}'", name);
  return at->second;
}

void EinsumGraph::add_input(std::string name, const Type& type) { inputs_.emplace_back(std::move(name), type); }
void EinsumGraph::add_einsum(std::string output, std::string spec, std::vector<std::string> inputs) {
  nodes_.push_back({std::move(output), Kind::einsum, std::move(spec), std::move(inputs)});
}
void EinsumGraph::add_unary(std::string output, std::string op, std::string input) {
  nodes_.push_back({std::move(output), Kind::unary, std::move(op), {std::move(input)}});
}
void EinsumGraph::add_binary(std::string output, std::string op, std::string a, std::string b) {
  nodes_.push_back({std::move(output), Kind::binary, std::move(op), {std::move(a), std::move(b)}});
}
void EinsumGraph::add_reduce(std::string output, std::string op, std::string input, Axes axes, bool keepdims) {
  nodes_.push_back({std::move(output), Kind::reduce, std::move(op), {std::move(input)}, std::move(axes), keepdims});
}

// Names, ops and outputs; types are checked by recording.
void EinsumGraph::check_names() const {
  Makers makers = find_makers(*this);
  for (const Node& node : nodes_) {
    check_op(node);
    for (const std::string& name : node.inputs)
      if (!makers.contains(name)) fail("[einsum_graph] '{}' reads '{}', which nothing makes", node.output, name);
  }
  if (outputs_.empty()) fail("[einsum_graph] there are no outputs");
  for (const std::string& name : outputs_)
    if (!makers.contains(name)) fail("[einsum_graph] nothing makes the output '{}'", name);
}

void EinsumGraph::validate() const { build(); }

// Kahn's algorithm; of what is ready, the earliest added first.
std::vector<std::size_t> EinsumGraph::order() const {
  Makers makers = find_makers(*this);
  std::vector<std::size_t> missing(nodes_.size(), 0), result;
  std::vector<std::vector<std::size_t>> readers(nodes_.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const std::string& name : nodes_[i].inputs)
      if (auto at = makers.find(name); at != makers.end() && at->second != given) {
        readers[static_cast<std::size_t>(at->second)].push_back(i);
        ++missing[i];
      }
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (missing[i] == 0) result.push_back(i);
  for (std::size_t next = 0; next < result.size(); ++next)
    for (std::size_t reader : readers[result[next]])
      if (--missing[reader] == 0) result.push_back(reader);
  if (result.size() < nodes_.size()) {
    auto stuck = std::ranges::find_if(missing, [](std::size_t m) { return m > 0; });
    fail("[einsum_graph] '{}' depends on itself: the nodes form a cycle",
         nodes_[static_cast<std::size_t>(stuck - missing.begin())].output);
  }
  return result;
}

NamedGraph EinsumGraph::build() const {
  check_names();
  NamedGraph result{std::make_shared<Graph>(), {}};
  for (const auto& [name, type] : inputs_)
    result.values.emplace(name, Value(result.graph, result.graph->add_input(type, name)));
  for (std::size_t i : order()) {
    Values inputs;
    for (const std::string& name : nodes_[i].inputs) inputs.push_back(result[name]);
    result.values.emplace(nodes_[i].output, named_errors(nodes_[i], inputs));
  }
  for (const std::string& name : outputs_) result.graph->outputs.push_back(result[name].ref());
  return result;
}

}  // namespace reprise
