// SPDX-License-Identifier: Apache-2.0
#include "compile/updates.h"

#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

std::size_t at(std::int32_t node) { return static_cast<std::size_t>(node); }

// The nodes that read each node's values; a node that reads one twice is there once.
std::vector<std::vector<std::int32_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<std::int32_t>> readers(at(graph.size()));
  for (std::int32_t i = 0; i < graph.size(); ++i)
    for (Ref r : graph.node(i).inputs)
      if (readers[at(r.node)].empty() || readers[at(r.node)].back() != i) readers[at(r.node)].push_back(i);
  return readers;
}

// Whether the node that makes the new value may write it over the old one: the op says so at this position, the planner
// can guard the old value's other readers (it does for output 0), and nobody reads the new value but the state itself.
bool writes_over(const Graph& graph, const std::vector<std::vector<std::int32_t>>& readers, const Update& update) {
  Ref made = update.value;
  const Node& node = graph.node(made.node);
  bool is_its_own = made.output < node.op->updates && node.inputs[at(made.output)] == Ref{update.input, 0};
  bool is_guarded = made.output == 0 || readers[at(update.input)].size() == 1;
  bool is_read = !readers[at(made.node)].empty() || std::ranges::count(graph.outputs, made) > 0;
  return is_its_own && is_guarded && !is_read;
}

Graph with_assignments(Graph graph) {
  std::vector<std::vector<std::int32_t>> readers = readers_of(graph);
  for (Update& u : graph.updates) {
    if (writes_over(graph, readers, u)) continue;
    std::int32_t node = graph.add(*find_op("assign"), {{u.input, 0}, u.value});
    readers.emplace_back();
    readers[at(u.input)].push_back(node);
    readers[at(u.value.node)].push_back(node);
    u.value = {node, 0};
  }
  return graph;
}

// Reads through views too: whoever reads a view of the state reads the state.
void readers_through_views(const Graph& graph, const std::vector<std::vector<std::int32_t>>& readers, std::int32_t node,
                           std::vector<std::int32_t>& all) {
  std::vector<std::int32_t> left = {node};
  while (!left.empty()) {
    std::int32_t next = left.back();
    left.pop_back();
    for (std::int32_t reader : readers[at(next)]) {
      all.push_back(reader);
      if (graph.node(reader).op->view_of >= 0) left.push_back(reader);
    }
  }
}

// Keeps the order of all nodes, but inputs and constants come first, and nodes that update, or that only make what is
// updated (a weight's gradient), come as soon as all they wait for is there: what they read can go the sooner.
class Hoist {
 public:
  explicit Hoist(const Graph& graph)
      : from_(graph), waits_(at(graph.size()), 0), unlocks_(at(graph.size())), place_(at(graph.size()), -1) {
    to_.reserve(graph.size());
    std::vector<std::vector<std::int32_t>> readers = readers_of(graph);
    std::vector<std::vector<std::int32_t>> needs(at(graph.size()));
    std::vector<bool> updates(at(graph.size()), false);
    for (const Update& u : graph.updates) {
      readers_through_views(graph, readers, u.input, needs[at(u.value.node)]);
      updates[at(u.value.node)] = true;
    }
    for (Ref r : graph.outputs) readers[at(r.node)].push_back(graph.size());
    auto is_update = [&](std::int32_t reader) { return reader < graph.size() && updates[at(reader)]; };
    for (std::int32_t i = 0; i < graph.size(); ++i) {
      bool is_eager = updates[at(i)] || (!readers[at(i)].empty() && std::ranges::all_of(readers[at(i)], is_update));
      if (is_eager && !is_given(graph.node(i))) wait(i, std::move(needs[at(i)]));
    }
  }

  Graph run() {
    for (std::int32_t i = 0; i < from_.size(); ++i)
      if (is_given(from_.node(i))) emit(i);
    for (std::int32_t i = 0; i < from_.size(); ++i)
      if (waits_[at(i)] == 0 && place_[at(i)] < 0) emit(i);
    if (to_.size() != from_.size())
      fail(
          "[compile] two parameters take over each other's old values: copy one of them first, for example by adding "
          "0");
    for (std::int32_t i : from_.inputs) to_.inputs.push_back(place_[at(i)]);
    for (Ref r : from_.outputs) to_.outputs.push_back(moved(r));
    for (const Capture& c : from_.captures) to_.captures.push_back({c.state, place_[at(c.input)]});
    for (const Update& u : from_.updates) to_.updates.push_back({place_[at(u.input)], moved(u.value)});
    return std::move(to_);
  }

 private:
  Ref moved(Ref r) const { return {place_[at(r.node)], r.output}; }

  // The node waits for its inputs and for these.
  void wait(std::int32_t node, std::vector<std::int32_t> others) {
    for (Ref r : from_.node(node).inputs) others.push_back(r.node);
    std::ranges::sort(others);
    others.erase(std::unique(others.begin(), others.end()), others.end());
    std::erase(others, node);
    for (std::int32_t other : others) unlocks_[at(other)].push_back(node);
    waits_[at(node)] = static_cast<int>(others.size());
  }

  void emit(std::int32_t first) {
    std::vector<std::int32_t> ready = {first};
    while (!ready.empty()) {
      std::int32_t i = ready.back();
      ready.pop_back();
      Node node = from_.node(i);
      for (Ref& r : node.inputs) r = moved(r);
      place_[at(i)] = to_.append(std::move(node));
      for (std::int32_t waiting : unlocks_[at(i)])
        if (--waits_[at(waiting)] == 0) ready.push_back(waiting);
    }
  }

  const Graph& from_;
  Graph to_;
  std::vector<int> waits_;                          // for so many nodes, by node; 0: an ordinary node
  std::vector<std::vector<std::int32_t>> unlocks_;  // who waits for a node
  std::vector<std::int32_t> place_;
};

}  // namespace

Graph with_updates_in_place(const Graph& graph) {
  if (graph.updates.empty()) return graph;
  Graph assigned = with_assignments(graph);
  return Hoist(assigned).run();
}

}  // namespace reprise
