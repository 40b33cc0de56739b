// SPDX-License-Identifier: Apache-2.0
// Maximum flow from a source to a sink (Dinic 1970), built once and solved again with other capacities. Every flow it
// holds is feasible, so its value is a lower bound on the least cut even if capacities are rounded.
#pragma once

#include <vector>

namespace reprise::plan {

class Flow {
 public:
  static constexpr double unlimited = 1e200;

  explicit Flow(int vertex_count);
  /// Adds an edge with its reverse and returns its number.
  int add(int from, int to, double capacity);
  void set_capacity(int edge, double capacity);
  /// Value of a maximum flow, found anew from an empty one.
  double solve(int source, int sink);
  /// After solve: whether the vertex is on the sink's side of the least cut nearest to the sink.
  bool is_sink_side(int vertex) const { return side_[static_cast<std::size_t>(vertex)] != 0; }

 private:
  struct Edge {
    int to;
    double room;  // left in this direction
  };
  void sort_edges();
  bool find_levels(int source, int sink);
  double push(int source, int sink);
  void mark_sink_side(int sink);

  int vertex_count_;
  std::vector<int> from_;          // of each edge and its reverse, as added
  std::vector<Edge> edges_;        // edge e and its reverse e ^ 1
  std::vector<double> capacity_;   // of each added edge (index e / 2)
  std::vector<int> first_, list_;  // edges leaving a vertex: list_[first_[v]] …
  std::vector<int> level_, next_, queue_, path_;
  std::vector<char> side_;
};

}  // namespace reprise::plan
