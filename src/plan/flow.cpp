// SPDX-License-Identifier: Apache-2.0
#include "plan/flow.h"

#include <algorithm>
#include <cstddef>

#include "base/index.h"

namespace reprise::plan {

Flow::Flow(int vertex_count) : vertex_count_(vertex_count) {}

int Flow::add(int from, int to, double capacity) {
  int edge = static_cast<int>(edges_.size());
  from_.push_back(from);
  from_.push_back(to);
  edges_.push_back({to, 0});
  edges_.push_back({from, 0});
  capacity_.push_back(capacity);
  first_.clear();
  return edge;
}

void Flow::set_capacity(int edge, double capacity) { capacity_[at(edge / 2)] = capacity; }

void Flow::sort_edges() {
  first_.assign(at(vertex_count_) + 1, 0);
  for (int from : from_) ++first_[at(from) + 1];
  for (std::size_t v = 0; v < at(vertex_count_); ++v) first_[v + 1] += first_[v];
  list_.resize(edges_.size());
  std::vector<int> place(first_.begin(), first_.end() - 1);
  for (std::size_t e = 0; e < edges_.size(); ++e) list_[at(place[at(from_[e])]++)] = static_cast<int>(e);
  level_.resize(at(vertex_count_));
  next_.resize(at(vertex_count_));
  queue_.reserve(at(vertex_count_));
}

// Distances to the sink in the residual graph, by breadth-first search from the sink; stops at the source's level.
bool Flow::find_levels(int source, int sink) {
  std::fill(level_.begin(), level_.end(), -1);
  queue_.assign(1, sink);
  level_[at(sink)] = 0;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    int v = queue_[head];
    if (level_[at(source)] >= 0 && level_[at(v)] >= level_[at(source)]) break;
    for (int k = first_[at(v)]; k < first_[at(v) + 1]; ++k) {
      int e = list_[at(k)], u = edges_[at(e)].to;
      if (level_[at(u)] >= 0 || edges_[at(e ^ 1)].room <= 0) continue;
      level_[at(u)] = level_[at(v)] + 1;
      queue_.push_back(u);
    }
  }
  return level_[at(source)] >= 0;
}

// A blocking flow along shortest paths, depth first without recursion.
double Flow::push(int source, int sink) {
  std::copy(first_.begin(), first_.end() - 1, next_.begin());
  path_.clear();
  double total = 0;
  for (int v = source;;) {
    if (v == sink) {
      double amount = unlimited;
      for (int e : path_) amount = std::min(amount, edges_[at(e)].room);
      total += amount;
      std::size_t retreat_to = path_.size();
      for (std::size_t i = path_.size(); i-- > 0;) {
        Edge& edge = edges_[at(path_[i])];
        if (edge.room < unlimited) edge.room -= amount;
        edges_[at(path_[i] ^ 1)].room += amount;
        if (edge.room <= 0) retreat_to = i;
      }
      v = from_[at(path_[retreat_to])];
      path_.resize(retreat_to);
      continue;
    }
    bool advanced = false;
    for (int& k = next_[at(v)]; k < first_[at(v) + 1]; ++k) {
      int e = list_[at(k)];
      if (edges_[at(e)].room <= 0 || level_[at(edges_[at(e)].to)] != level_[at(v)] - 1) continue;
      path_.push_back(e);
      v = edges_[at(e)].to;
      advanced = true;
      break;
    }
    if (advanced) continue;
    if (path_.empty()) return total;
    v = from_[at(path_.back())];
    path_.pop_back();
    ++next_[at(v)];
  }
}

void Flow::mark_sink_side(int sink) {
  side_.assign(at(vertex_count_), 0);
  queue_.assign(1, sink);
  side_[at(sink)] = 1;
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    int v = queue_[head];
    for (int k = first_[at(v)]; k < first_[at(v) + 1]; ++k) {
      int e = list_[at(k)], u = edges_[at(e)].to;
      if (side_[at(u)] || edges_[at(e ^ 1)].room <= 0) continue;
      side_[at(u)] = 1;
      queue_.push_back(u);
    }
  }
}

double Flow::solve(int source, int sink) {
  if (first_.empty()) sort_edges();
  for (std::size_t e = 0; e < edges_.size(); e += 2) {
    edges_[e].room = capacity_[e / 2];
    edges_[e + 1].room = 0;
  }
  double total = 0;
  while (find_levels(source, sink)) total += push(source, sink);
  mark_sink_side(sink);
  return total;
}

}  // namespace reprise::plan
