// SPDX-License-Identifier: Apache-2.0
// Turns runs into schedules: every value is dropped after its last use before it is made again.
#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "plan/replay.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

// For each step, the values to drop right after it. Walks backwards: a value seen for the first time since it was last
// made has its last use there. Drops are listed in the order of the walk, so a step's end where those of the step
// before it begin.
class LastUses {
 public:
  LastUses(const Problem& problem, std::span<const Step> steps)
      : problem_(problem), needed_(problem.values().size(), 0), begin_(steps.size()) {
    for (int v = 0; v < problem.value_count(); ++v) {
      if (problem.value(v).output) need(v);
    }
    for (std::size_t i = steps.size(); i-- > 0;) {
      begin_[i] = static_cast<int>(drops_.size());
      visit(steps[i]);
      put_views_first(drops_.begin() + begin_[i]);
    }
  }
  std::size_t count() const { return drops_.size(); }
  std::span<const int> after(std::size_t step) const {
    std::size_t end = step == 0 ? drops_.size() : at(begin_[step - 1]);
    return std::span(drops_).subspan(at(begin_[step]), end - at(begin_[step]));
  }

 private:
  void need(int value) {
    needed_[at(value)] = 1;
    if (int root = problem_.value(value).view_of; root >= 0) needed_[at(root)] = 1;
  }

  void use(int value) {
    int root = problem_.value(value).view_of;
    if (root >= 0) use(root);
    if (needed_[at(value)]) return;
    needed_[at(value)] = 1;
    bool stays_with_root = root >= 0 && problem_.value(value).never_keep_across < 0;
    bool is_pinned = problem_.node(problem_.value(value).node).pinned;
    if (!stays_with_root && !is_pinned) drops_.push_back(value);
  }

  // A view is gone with its root, and cannot be dropped after it.
  void put_views_first(std::vector<int>::iterator begin) {
    auto is_view = [&](int value) { return problem_.value(value).view_of >= 0; };
    if (std::any_of(begin, drops_.end(), is_view)) std::stable_partition(begin, drops_.end(), is_view);
  }

  void visit(Step step) {
    if (step.kind != Step::Kind::run) return visit_other_form(step);
    const Problem::Node& node = problem_.node(step.id);
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      use(v);
      needed_[at(v)] = 0;
    }
    for (int input : problem_.inputs(node)) use(input);
  }

  // Leaving the plain form ends a life by itself; coming back begins one.
  void visit_other_form(Step step) {
    bool leaves = step.kind == Step::Kind::page_out || step.kind == Step::Kind::compress;
    if (!leaves) use(step.id);
    needed_[at(step.id)] = 1;  // leaving: the plain form until now; coming back: the other form until now
  }

  const Problem& problem_;
  std::vector<char> needed_;
  std::vector<int> drops_;
  std::vector<int> begin_;  // per step, where its drops begin
};

}  // namespace

Schedule with_drops(const Problem& problem, std::span<const Step> steps) {
  LastUses last_uses(problem, steps);
  Schedule schedule;
  schedule.steps.reserve(steps.size() + last_uses.count());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    schedule.steps.push_back(steps[i]);
    for (int value : last_uses.after(i)) schedule.steps.push_back({Step::Kind::drop, value});
  }
  return schedule;
}

Schedule with_drops(const Problem& problem, std::span<const int> nodes) {
  std::vector<Step> steps;
  steps.reserve(nodes.size());
  for (int node : nodes) steps.push_back({Step::Kind::run, node});
  return with_drops(problem, steps);
}

Schedule keep_all(const Problem& problem) {
  Schedule schedule = plan::drop_and_recompute(problem, -1, {});
  auto is_restricted = [](const Problem::Value& value) { return value.never_keep_across >= 0; };
  if (std::ranges::none_of(problem.values(), is_restricted)) return schedule;
  if (Verdict verdict = validate(problem, schedule); !verdict) {
    fail(
        "[plan] no way was found to keep what must not be kept across a node out of memory in this order of nodes, "
        "even if "
        "it is made again: {}. Put nodes into another order, or leave out a never_keep_across",
        verdict.why);
  }
  return schedule;
}

std::string_view to_string(Step::Kind kind) {
  constexpr std::string_view words[] = {"run", "drop", "page_out", "page_in", "compress", "expand"};
  return words[static_cast<std::size_t>(kind)];
}

}  // namespace reprise
