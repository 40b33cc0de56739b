// SPDX-License-Identifier: Apache-2.0
// From a saved plan back to a result.
#include <algorithm>

#include "base/error.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace {

int recomputed_values(const Problem& problem, const Schedule& schedule) {
  std::vector<int> runs(problem.nodes().size(), 0);
  int count = 0;
  for (Step step : schedule.steps) {
    bool is_second = step.kind == Step::Kind::run && ++runs[static_cast<std::size_t>(step.id)] == 2;
    if (is_second) count += problem.node(step.id).value_count;
  }
  return count;
}

}  // namespace

SavedPlan saved(const PlanResult& plan) {
  if (!plan || !plan.problem) fail("[plan] there is nothing to save: no schedule was found");
  return {*plan.problem, plan.schedule, plan.layout, plan.budget, plan.peak, plan.cost, plan.lower_bound};
}

PlanResult result_of(const SavedPlan& plan) {
  Verdict verdict = validate(plan.problem, plan.schedule);
  if (!verdict) fail("[plan] the saved schedule is not one of its problem: {}", verdict.why);
  PlanResult result;
  result.feasible = true;
  result.problem = std::make_shared<const Problem>(plan.problem);
  result.schedule = plan.schedule;
  result.layout = plan.layout;
  result.budget = plan.budget_bytes;
  result.peak = result.layout_bytes = verdict.peak;
  for (const Placement& p : plan.layout)
    result.layout_bytes = std::max(result.layout_bytes, plan.problem.resident_bytes() + p.offset + p.bytes);
  result.keep_all_peak = peak(plan.problem, keep_all(plan.problem));
  result.cost = verdict.cost;
  for (const Problem::Node& node : plan.problem.nodes()) result.base_cost += node.cost;
  result.lower_bound = std::max(result.base_cost, plan.lower_bound);
  result.recomputed = recomputed_values(plan.problem, plan.schedule);
  result.value_count = plan.problem.value_count();
  return result;
}

}  // namespace reprise
