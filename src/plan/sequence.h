// SPDX-License-Identifier: Apache-2.0
// A schedule as a plain sequence of runs in any order, for searches that move runs about. Evaluating it takes one
// backward pass: a value is in memory from its last use back to where it is made. What is in memory before each run is
// remembered, so that a change is evaluated from the last run it moves back to where nothing differs any more.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/model.h"

namespace reprise::plan {

/// What a sequence of runs costs and needs.
struct Load {
  double extra_cost = 0;  // beyond running every node once
  std::int64_t peak = 0;
  int peak_at = 0;  // position of the peak
  double over = 0;  // sum over all positions of the bytes above the budget
};

class Sequence {
 public:
  Sequence(const Problem& problem, const Model& model);

  const Model& model() const { return model_; }
  const std::vector<int>& runs() const { return runs_; }
  /// Replaces the sequence; its first runs must be in a topological order. Pinned nodes are put first.
  void set(std::vector<int> runs, std::int64_t budget);
  const Load& load() const { return load_; }
  int pinned_count() const { return pinned_count_; }
  /// What the sequence would be if `runs` replaced it: the same with runs moved, inserted or removed.
  Load load_of(const std::vector<int>& runs);
  /// Makes the sequence that `load_of` was last asked for the current one.
  void accept(const std::vector<int>& runs);

  int length() const { return static_cast<int>(runs_.size()); }
  int first(int node) const { return first_[static_cast<std::size_t>(node)]; }
  bool is_first(int position) const { return first(runs_[static_cast<std::size_t>(position)]) == position; }
  bool may_run_again(int node) const {
    return model_.node(node).rerun_cost() < forbidden && !model_.node(node).excludes;
  }
  /// Positions, between runs, to which the run at `position` can be moved: before the run now at p, for p in [low,
  /// high].
  struct Range {
    int low, high;
  };
  Range range(int position) const;
  /// The first position from which on nobody reads what the node overwrites; 0 if it overwrites nothing.
  int readers_done(int node) const;
  /// The position at which something that the node reads is first overwritten; the length if nothing is.
  int overwritten_at(int node) const;
  /// The first position after `position` at which a value of the node is read before it is made again, or -1.
  int next_read(int node, int position) const;

 private:
  // Of a part of the sequence.
  struct Peak {
    std::int64_t bytes = 0;
    int at = 0;
    double over = 0;
    friend bool operator==(const Peak&, const Peak&) = default;
  };
  // What is needed before each run and after the last, going backward. Row by row, a bit for each value.
  struct States {
    std::vector<std::uint64_t> needed;
    std::vector<std::int64_t> now, during;
  };
  void index_runs();
  void sum_up(int from, int to);
  Peak peak_at(int position) const;
  Peak joined(const Peak& first, const Peak& second) const;
  std::int64_t step_back(int node, std::uint64_t* needed, std::int64_t& now) const;
  void scan_back(const std::vector<int>& runs, int position);
  bool is_as_before(int position) const;

  const Model& model_;
  std::vector<char> is_pinned_;
  int pinned_count_ = 0;
  std::int64_t budget_ = 0;
  std::vector<int> runs_, first_, second_,
      last_;                                // positions of each node's first, second and last run; second may be -1
  std::vector<std::vector<int>> updaters_;  // of each node: updates of what it reads
  std::vector<std::vector<int>> readers_before_;  // of each update: nodes that must not run after it
  std::vector<std::vector<int>> excluded_;        // values that must not be in memory while a node runs
  std::size_t words_;                             // of a row of needed values
  States states_, tried_;
  std::vector<Peak> before_, after_;  // of the runs before a position, and of those from it on
  Load load_, tried_load_;
  int tried_from_ = 0, tried_to_ = 0;  // positions of the runs that were evaluated
};

}  // namespace reprise::plan
