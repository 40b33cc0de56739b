// SPDX-License-Identifier: Apache-2.0
#include "plan/replay.h"
#include "base/index.h"

namespace reprise::plan {
namespace {

class Replay {
 public:
  explicit Replay(const Problem& problem)
      : problem_(problem),
        is_there_(problem.values().size(), 0),
        has_run_(problem.nodes().size(), 0),
        views_(problem.values().size()),
        excluded_(problem.nodes().size()) {
    for (int v = 0; v < problem.value_count(); ++v) {
      const Problem::Value& value = problem.value(v);
      if (value.view_of >= 0) views_[at(value.view_of)].push_back(v);
      if (value.never_keep_across >= 0) excluded_[at(value.never_keep_across)].push_back(v);
    }
  }

  // Runs the node, and before it, deepest first, whatever makes the inputs that are gone.
  void run(int node) {
    for (int v : excluded_[at(node)]) forget(v);
    stack_.push_back(node);
    while (!stack_.empty()) {
      int next = stack_.back();
      if (push_missing_inputs(next)) continue;
      stack_.pop_back();
      if (next != node && has_run_[at(next)] && is_complete(next)) continue;  // made meanwhile for another reader
      run_now(next);
    }
  }

  void drop(int value) {
    if (is_there_[at(value)] && may_drop(value)) forget(value);
  }

  void make_sure_of(int value) {
    if (!is_there_[at(value)]) run(problem_.value(value).node);
  }

  std::vector<int> take_runs() { return std::move(runs_); }

 private:
  bool push_missing_inputs(int node) {
    bool any = false;
    for (int input : problem_.node(node).inputs) {
      if (is_there_[at(input)]) continue;
      stack_.push_back(problem_.value(input).node);
      any = true;
    }
    return any;
  }

  bool is_complete(int node) const {
    const Problem::Node& made_by = problem_.node(node);
    for (int v = made_by.first_value; v < made_by.first_value + made_by.value_count; ++v) {
      if (!is_there_[at(v)]) return false;
    }
    return true;
  }

  void run_now(int node) {
    const Problem::Node& run = problem_.node(node);
    for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
      forget(v);
      is_there_[at(v)] = 1;
    }
    has_run_[at(node)] = 1;
    runs_.push_back(node);
  }

  // Whether the value can be made again from what stays: neither its node nor any other of its values forbids that.
  bool may_drop(int value) const {
    const Problem::Value& dropped = problem_.value(value);
    const Problem::Node& node = problem_.node(dropped.node);
    if (node.never_recompute || dropped.view_of >= 0) return false;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (problem_.value(v).keep) return false;
    }
    for (int view : views_[at(value)]) {
      if (problem_.value(view).keep || problem_.node(problem_.value(view).node).never_recompute) return false;
    }
    return true;
  }

  void forget(int value) {
    is_there_[at(value)] = 0;
    for (int view : views_[at(value)]) is_there_[at(view)] = 0;
  }

  const Problem& problem_;
  std::vector<char> is_there_, has_run_;
  std::vector<std::vector<int>> views_, excluded_;
  std::vector<int> runs_, stack_;
};

}  // namespace

Schedule drop_and_recompute(const Problem& problem, int moment, const std::vector<char>& dropped) {
  Replay replay(problem);
  for (int n = 0; n < problem.node_count(); ++n) {
    replay.run(n);
    if (n != moment) continue;
    for (int v = 0; v < problem.value_count(); ++v) {
      if (dropped[at(v)]) replay.drop(v);
    }
  }
  for (int v = 0; v < problem.value_count(); ++v) {
    if (problem.value(v).output) replay.make_sure_of(v);
  }
  return with_drops(problem, replay.take_runs());
}

void Best::offer(const Schedule& schedule) {
  Verdict verdict = validate(problem_, schedule);
  if (!verdict) return;
  if (!lowest_ || verdict.peak < lowest_verdict_.peak) {
    lowest_ = schedule;
    lowest_verdict_ = verdict;
  }
  if (verdict.peak > budget_ || (cheapest_ && verdict.cost >= cheapest_verdict_.cost)) return;
  cheapest_ = schedule;
  cheapest_verdict_ = verdict;
}

std::vector<Schedule> Best::schedules() const {
  std::vector<Schedule> found;
  if (lowest_) found.push_back(*lowest_);
  if (cheapest_) found.push_back(*cheapest_);
  return found;
}

}  // namespace reprise::plan
