// SPDX-License-Identifier: Apache-2.0
// Passes: graph in, graph out. Each is one walk that copies the nodes it keeps.
#include <unordered_map>

#include "base/error.h"
#include "graph/builtin.h"
#include "graph/hash.h"
#include "reprise/graph.h"

namespace reprise {
namespace {

// Copies a graph node by node, remembering where each node went.
class Copy {
 public:
  explicit Copy(const Graph& from) : from_(from), place_(static_cast<std::size_t>(from.size()), -1) {
    to_.reserve(from.size());
  }

  Node moved(std::int32_t i) const {
    Node node = from_.node(i);
    for (Ref& r : node.inputs) r = moved(r);
    return node;
  }
  Ref moved(Ref r) const { return {place_[static_cast<std::size_t>(r.node)], r.output}; }
  void append(std::int32_t i, Node node) { put(i, to_.append(std::move(node))); }
  void put(std::int32_t i, std::int32_t place) { place_[static_cast<std::size_t>(i)] = place; }
  const Graph& so_far() const { return to_; }

  Graph finish() {
    for (std::int32_t i : from_.inputs) to_.inputs.push_back(place_[static_cast<std::size_t>(i)]);
    for (Ref r : from_.outputs) to_.outputs.push_back(moved(r));
    for (const Capture& c : from_.captures)
      to_.captures.push_back({c.state, place_[static_cast<std::size_t>(c.input)]});
    for (const Update& u : from_.updates)
      to_.updates.push_back({place_[static_cast<std::size_t>(u.input)], moved(u.value)});
    return std::move(to_);
  }

 private:
  const Graph& from_;
  Graph to_;
  std::vector<std::int32_t> place_;
};

// Attributes or types that are the same, held once.
template <class T>
class Shared {
 public:
  const T& one_of(const T& item) {
    std::uint64_t h = hash_of(item);
    auto [begin, end] = known_.equal_range(h);
    for (auto at = begin; at != end; ++at)
      if (at->second == item) return at->second;
    return known_.emplace(h, item)->second;
  }

 private:
  std::unordered_multimap<std::uint64_t, T> known_;
};

bool same_content(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.hint == b.hint && a.attributes == b.attributes;
}

}  // namespace

Graph eliminate_dead_code(const Graph& graph) {
  std::vector<bool> live(static_cast<std::size_t>(graph.size()), false);
  for (Ref r : graph.outputs) live[static_cast<std::size_t>(r.node)] = true;
  for (std::int32_t i : graph.inputs) live[static_cast<std::size_t>(i)] = true;
  for (const Update& u : graph.updates) live[static_cast<std::size_t>(u.value.node)] = true;
  for (std::int32_t i = graph.size() - 1; i >= 0; --i)
    if (live[static_cast<std::size_t>(i)])
      for (Ref r : graph.node(i).inputs) live[static_cast<std::size_t>(r.node)] = true;
  Copy copy(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (live[static_cast<std::size_t>(i)]) copy.append(i, copy.moved(i));
  return copy.finish();
}

Graph eliminate_common_subexpressions(const Graph& graph) {
  Copy copy(graph);
  Shared<Attributes> attributes;
  Shared<Types> types;
  std::unordered_multimap<std::uint64_t, std::int32_t> seen;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    Node node = copy.moved(i);
    std::int32_t twin = -1;
    std::uint64_t h = hash_of(node);
    if (node.op != &input_op && node.op->recomputable) {
      auto [begin, end] = seen.equal_range(h);
      for (auto at = begin; at != end; ++at)
        if (same_content(copy.so_far().node(at->second), node)) twin = at->second;
    }
    if (twin >= 0) {
      copy.put(i, twin);
      continue;
    }
    seen.emplace(h, copy.so_far().size());
    if (!node.attributes.empty()) node.attributes = attributes.one_of(node.attributes);
    node.outputs = types.one_of(node.outputs);
    copy.append(i, std::move(node));
  }
  return copy.finish();
}

Graph fold_constants(const Graph& graph, std::int64_t largest_bytes) {
  Copy copy(graph);
  std::vector<bool> known(static_cast<std::size_t>(graph.size()), false);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    Node node = copy.moved(i);
    bool leaf = node.inputs.empty();
    bool inputs_known = true;
    for (Ref r : graph.node(i).inputs) inputs_known &= known[static_cast<std::size_t>(r.node)];
    bool small = node.outputs.size() == 1 && node.outputs[0].bytes() <= largest_bytes;
    known[static_cast<std::size_t>(i)] = inputs_known && small && node.op != &input_op &&
                                         (node.op->forward || node.op->view_of >= 0) && node.op->recomputable;
    if (leaf || !known[static_cast<std::size_t>(i)]) {
      copy.append(i, std::move(node));
      continue;
    }
    Graph alone;  // the node over its inputs, which are all leaves by now
    for (Ref& r : node.inputs) r = {alone.append(copy.so_far().node(r.node)), r.output};
    alone.outputs = {{alone.append(node), 0}};
    copy.append(i, {&constant_op, {}, {{"value", evaluate(alone, {})[0]}}, node.outputs, node.name});
  }
  return copy.finish();
}

}  // namespace reprise
