// SPDX-License-Identifier: Apache-2.0
#include "plan/replay.h"

#include <algorithm>
#include <numeric>
#include <utility>

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
        excluded_(problem.nodes().size()),
        most_runs_(1000 + 10 * problem.nodes().size()) {
    for (int v = 0; v < problem.value_count(); ++v) {
      const Problem::Value& value = problem.value(v);
      if (value.view_of >= 0) views_[at(value.view_of)].push_back(v);
      if (value.never_keep_across >= 0) excluded_[at(value.never_keep_across)].push_back(v);
    }
    runs_.reserve(problem.nodes().size());
  }

  // Runs the node, and before it, deepest first, whatever makes the inputs that are gone.
  void run(int node) {
    if (is_something_gone_) make_what_needs(lost_by(node));
    run_with_inputs(node);
  }

  void drop(int value) {
    if (is_there_[at(value)] && may_drop(value)) forget(value);
  }

  void make_sure_of(int value) {
    if (!is_there_[at(value)]) run_with_inputs(problem_.value(value).node);
  }

  std::vector<int> take_runs() { return std::move(runs_); }

 private:
  // Facts can contradict each other so that values that are read together never are in memory together: it ends then,
  // with what is no schedule.
  void run_with_inputs(int node) {
    stack_.push_back(node);
    while (!stack_.empty() && runs_.size() < most_runs_) {
      int next = stack_.back();
      bool was_made_meanwhile = next != node && has_run_[at(next)] && is_complete(next);  // for another reader
      if (!was_made_meanwhile && push_missing_inputs(next)) continue;
      stack_.pop_back();
      if (!was_made_meanwhile) run_now(next);
    }
    stack_.clear();
  }

  // The last first: what is made for an earlier one does not run nodes that come later, so it lets the later one be.
  bool push_missing_inputs(int node) {
    auto first = static_cast<std::ptrdiff_t>(stack_.size());
    for (int input : problem_.inputs(node)) {
      if (!is_there_[at(input)]) stack_.push_back(problem_.value(input).node);
    }
    std::sort(stack_.begin() + first, stack_.end());
    return first < static_cast<std::ptrdiff_t>(stack_.size());
  }

  bool is_complete(int node) const {
    const Problem::Node& made_by = problem_.node(node);
    for (int v = made_by.first_value; v < made_by.first_value + made_by.value_count; ++v) {
      if (!is_there_[at(v)]) return false;
    }
    return true;
  }

  void run_now(int node) {
    for (int v : excluded_[at(node)]) forget(v);
    const Problem::Node& run = problem_.node(node);
    for (int v = run.first_value; v < run.first_value + run.value_count; ++v) {
      forget(v);
      is_there_[at(v)] = 1;
    }
    has_run_[at(node)] = 1;
    runs_.push_back(node);
  }

  // What is gone for good once the node ran: what it overwrites, with views of that, and what must not be kept while it
  // runs and cannot be made again.
  std::vector<int> lost_by(int node) const {
    std::vector<int> lost;
    if (int old = problem_.node(node).updates; old >= 0) {
      lost = views_[at(old)];
      lost.push_back(old);
    }
    for (int v : excluded_[at(node)]) {
      if (is_there_[at(v)] && !may_run_again(problem_.value(v).node)) lost.push_back(v);
    }
    return lost;
  }

  bool may_run_again(int node) const {
    auto is_overwritten = [&](int value) {
      int root = problem_.value(value).view_of, by = problem_.value(root < 0 ? value : root).updated_by;
      return by >= 0 && has_run_[at(by)];
    };
    return !runs_once(node) && std::ranges::none_of(problem_.inputs(node), is_overwritten);
  }

  bool runs_once(int index) const {
    const Problem::Node& node = problem_.node(index);
    auto values = problem_.values().subspan(at(node.first_value), at(node.value_count));
    return node.never_recompute || std::ranges::any_of(values, &Problem::Value::keep);
  }

  // Values that are gone, needed later, and made from one of these: they come back now.
  void make_what_needs(const std::vector<int>& sources) {
    if (!sources.empty() && readers_.items.empty()) find_readers();
    for (int source : sources) {
      for (int reader : readers_[source]) {
        const Problem::Node& node = problem_.node(reader);
        if (!has_run_[at(reader)]) continue;
        for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
          if (!is_there_[at(v)] && is_needed_later(v)) make_sure_of(v);
        }
      }
    }
  }

  // By a node that has not run, an output, or whatever is made again for one of these.
  bool is_needed_later(int value) const {
    std::vector<int> values{value};
    std::vector<char> is_seen(problem_.values().size(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (problem_.value(values[i]).output) return true;
      for (int reader : readers_[values[i]]) {
        if (!has_run_[at(reader)]) return true;
        const Problem::Node& node = problem_.node(reader);
        for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
          if (!stays(v) && !std::exchange(is_seen[at(v)], 1)) values.push_back(v);
        }
      }
    }
    return false;
  }

  // Whether a value is there, and no node that has not run makes it go.
  bool stays(int value) const {
    int root = problem_.value(value).view_of;
    for (int v : {value, root < 0 ? value : root}) {
      int across = problem_.value(v).never_keep_across;
      if (across >= 0 && !has_run_[at(across)]) return false;
    }
    return is_there_[at(value)];
  }

  void find_readers() {
    std::vector<int>& begin = readers_.begin;
    begin.assign(problem_.values().size() + 1, 0);
    for (int n = 0; n < problem_.node_count(); ++n) {
      for (int input : problem_.inputs(n)) ++begin[at(input) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    readers_.items.resize(at(begin.back()));
    std::vector<int> next = begin;
    for (int n = 0; n < problem_.node_count(); ++n) {
      for (int input : problem_.inputs(n)) readers_.items[at(next[at(input)]++)] = n;
    }
  }

  // Whether the value can be made again from what stays: neither its node nor any other of its values forbids that.
  bool may_drop(int value) const {
    const Problem::Value& dropped = problem_.value(value);
    if (dropped.view_of >= 0 || runs_once(dropped.node)) return false;
    for (int view : views_[at(value)]) {
      if (problem_.value(view).keep || problem_.node(problem_.value(view).node).never_recompute) return false;
    }
    return true;
  }

  void forget(int value) {
    is_something_gone_ |= is_there_[at(value)] != 0;
    is_there_[at(value)] = 0;
    for (int view : views_[at(value)]) is_there_[at(view)] = 0;
  }

  const Problem& problem_;
  std::vector<char> is_there_, has_run_;
  std::vector<std::vector<int>> views_, excluded_;
  Lists readers_;  // of each value; none before they are asked for
  bool is_something_gone_ = false;
  std::size_t most_runs_;
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

void Best::offer(Schedule schedule) {
  Verdict verdict = validate(problem_, schedule);
  if (!verdict) return;
  if (!lowest_ || verdict.peak < lowest_verdict_.peak) {
    lowest_ = schedule;
    lowest_verdict_ = verdict;
  }
  if (verdict.peak > budget_ || (cheapest_ && verdict.cost >= cheapest_verdict_.cost)) return;
  cheapest_ = std::move(schedule);
  cheapest_verdict_ = verdict;
}

std::vector<Schedule> Best::take() {
  std::vector<Schedule> found;
  for (std::optional<Schedule>* each : {&lowest_, &cheapest_})
    if (*each) found.push_back(std::move(**each));
  return found;
}

}  // namespace reprise::plan
