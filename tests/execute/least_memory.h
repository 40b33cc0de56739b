// SPDX-License-Identifier: Apache-2.0
// The least memory in which any order of a small graph can run, recomputing allowed: a search over all sets of present
// values, by the highest peak on the way to them (Dijkstra). Scalars count nothing and stay, so that the figure is a
// proved lower bound, off by the scalars at most.
#pragma once

#include <map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/graph.h"

namespace reprise {

class LeastMemory {
 public:
  explicit LeastMemory(const Graph& graph) {
    std::vector<int> place(static_cast<std::size_t>(graph.size()), given);
    auto bit = [&](Ref r) -> std::uint64_t {
      while (graph.node(r.node).op->view_of >= 0)
        r = graph.node(r.node).inputs[static_cast<std::size_t>(graph.node(r.node).op->view_of)];
      int at = place[static_cast<std::size_t>(r.node)];
      return at == given ? 0 : std::uint64_t{1} << at;
    };
    std::vector<Type> types;
    for (std::int32_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(i);
      if (is_given(node)) pinned_ += counted(node.outputs[0]);
      if (is_given(node) || node.op->view_of >= 0) continue;
      if (runs_.size() == 64 || node.outputs.size() != 1)
        fail("[least_memory] a small graph of single outputs, please");
      place[static_cast<std::size_t>(i)] = static_cast<int>(runs_.size());
      Run run{counted(node.outputs[0]), node.op->forward(graph.signature(i, types)).scratch_bytes, 0};
      for (Ref r : node.inputs) run.reads |= bit(r);
      runs_.push_back(run);
    }
    for (Ref r : graph.outputs) wanted_ |= bit(r);
  }

  std::int64_t bytes() {
    reach(0, pinned_);
    while (!open_.empty()) {
      auto lowest = open_.begin();
      std::int64_t peak = lowest->first;
      if (lowest->second.empty()) {
        open_.erase(lowest);
        continue;
      }
      std::uint64_t present = lowest->second.back();
      lowest->second.pop_back();
      if (!seen_.insert(present).second) continue;
      if ((present & wanted_) == wanted_) return peak;
      leave(present, peak);
    }
    fail("[least_memory] no order computes the outputs");
  }
  std::size_t nodes() const { return runs_.size(); }
  std::size_t states() const { return seen_.size(); }

 private:
  static constexpr int given = -1;
  static constexpr std::int64_t scalar_bytes = 8;
  struct Run {
    std::int64_t bytes, scratch;
    std::uint64_t reads;
  };

  static std::int64_t counted(const Type& type) { return type.bytes() <= scalar_bytes ? 0 : type.bytes(); }

  void reach(std::uint64_t present, std::int64_t peak) {
    if (!seen_.contains(present)) open_[peak].push_back(present);
  }

  void leave(std::uint64_t present, std::int64_t peak) {
    std::int64_t held = pinned_;
    for (std::size_t v = 0; v < runs_.size(); ++v)
      if (present >> v & 1) held += runs_[v].bytes;
    for (std::size_t v = 0; v < runs_.size(); ++v) {
      const Run& run = runs_[v];
      std::uint64_t bit = std::uint64_t{1} << v;
      if (present & bit) {
        if (run.bytes > 0) reach(present & ~bit, peak);
      } else if ((present & run.reads) == run.reads) {
        reach(present | bit, std::max(peak, held + run.bytes + run.scratch));
      }
    }
  }

  std::vector<Run> runs_;
  std::int64_t pinned_ = 0;
  std::uint64_t wanted_ = 0;
  std::map<std::int64_t, std::vector<std::uint64_t>> open_;  // by peak
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace reprise
