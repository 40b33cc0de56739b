// SPDX-License-Identifier: Apache-2.0
// Joins the parts: the portfolio searches, the bound proves, the result tells.
#include <algorithm>

#include "base/error.h"
#include "plan/portfolio.h"

namespace reprise {
namespace {

using plan::Deadline;
using plan::Judged;
using plan::Portfolio;

void check(const PlanOptions& options) {
  if (options.budget < 0) fail("[plan] the budget is {} bytes: give one >= 0", options.budget);
  if (options.iterations < 0) fail("[plan] {} iterations: give a number >= 0", options.iterations);
  if (!(options.time_limit >= 0)) fail("[plan] the time limit is {} seconds: give one >= 0", options.time_limit);
  if (options.threads < 1) fail("[plan] {} threads: give at least 1", options.threads);
}

int recomputed_values(const Problem& problem, const Schedule& schedule) {
  std::vector<int> runs(problem.nodes().size(), 0);
  for (Step step : schedule.steps) {
    if (step.kind == Step::Kind::run) ++runs[static_cast<std::size_t>(step.id)];
  }
  int count = 0;
  for (int n = 0; n < problem.node_count(); ++n) {
    if (runs[static_cast<std::size_t>(n)] > 1) count += problem.node(n).value_count;
  }
  return count;
}

// Name of the node that runs at the peak, and what it needs, in words.
void describe_peak(const Problem& problem, const Judged& judged, PlanResult& result) {
  const Step& step = judged.schedule.steps[static_cast<std::size_t>(judged.verdict.peak_step)];
  int index = step.kind == Step::Kind::run ? step.id : problem.value(step.id).node;
  const Problem::Node& node = problem.node(index);
  std::int64_t inputs = 0, outputs = 0;
  for (int v : node.inputs) inputs += problem.value(v).bytes;
  for (int k = 0; k < node.value_count; ++k) outputs += problem.value(node.first_value + k).bytes;
  result.where = node.name;
  result.split = fmt::format("inputs {}, outputs {}, scratch {}", format_bytes(inputs), format_bytes(outputs),
                             format_bytes(node.scratch));
}

}  // namespace

PlanResult solve(const Problem& problem, const PlanOptions& options) {
  check(options);
  Deadline deadline(options);
  PlanResult result;
  result.budget = options.budget;
  for (const Problem::Node& node : problem.nodes()) result.base_cost += node.cost;
  result.lower_bound = result.base_cost;
  if (problem.node_count() == 0) {
    result.peak = result.keep_all_peak = result.min_budget = result.min_budget_bound = problem.resident_bytes();
    result.feasible = result.peak <= options.budget;
    result.seconds = deadline.seconds();
    return result;
  }
  Portfolio portfolio(problem, options, deadline);
  result.keep_all_peak = portfolio.best().verdict.peak;
  portfolio.run([&](double cost) { return cost <= result.lower_bound * (1 + options.gap); });

  const Judged& best = portfolio.best();
  result.feasible = portfolio.is_feasible();
  result.min_budget = portfolio.lowest().verdict.peak;
  describe_peak(problem, result.feasible ? best : portfolio.lowest(), result);
  if (result.feasible) {
    result.schedule = best.schedule;
    result.peak = best.verdict.peak;
    result.cost = best.verdict.cost;
    result.solver = best.solver;
    result.recomputed = recomputed_values(problem, best.schedule);
  }
  result.seconds = deadline.seconds();
  return result;
}

}  // namespace reprise
