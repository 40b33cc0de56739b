// SPDX-License-Identifier: Apache-2.0
// The whole trade-off curve, and its inverse. A plan for a smaller budget is a plan for a larger one, and a bound for a
// larger budget is a bound for a smaller one, so both curves are made monotone without loss.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

// The plan of a smaller budget in place of a dearer one.
void adopt(PlanResult& result, const PlanResult& smaller) {
  bool is_better = smaller.feasible && (!result.feasible || smaller.cost < result.cost);
  if (!is_better) return;
  PlanResult adopted = smaller;
  adopted.budget = result.budget;
  adopted.lower_bound = std::max(result.lower_bound_any_order, result.base_cost);  // whatever order it is in
  adopted.lower_bound_any_order = adopted.lower_bound;
  adopted.seconds = result.seconds;
  if (result.binding.any_order || result.binding.node < 0) adopted.binding = result.binding;
  result = std::move(adopted);
}

PlanOptions options_for(const PlanOptions& options, std::int64_t budget, const PlanResult* known) {
  PlanOptions at = options;
  at.budget = budget;
  if (known && known->feasible) at.start = known->schedule;
  return at;
}

}  // namespace

std::vector<PlanResult> sweep(const Problem& problem, std::span<const std::int64_t> budgets,
                              const PlanOptions& options) {
  std::vector<std::int64_t> ascending(budgets.begin(), budgets.end());
  std::sort(ascending.begin(), ascending.end());
  std::vector<PlanResult> curve;
  for (std::int64_t budget : ascending) {
    const PlanResult* smaller = curve.empty() ? nullptr : &curve.back();
    PlanResult result = solve(problem, options_for(options, budget, smaller));
    if (smaller) {
      result.problem = smaller->problem;  // one for all
      adopt(result, *smaller);
    }
    curve.push_back(std::move(result));
  }
  for (std::size_t i = curve.size(); i-- > 1;) {
    PlanResult& smaller = curve[i - 1];
    smaller.lower_bound_any_order = std::max(smaller.lower_bound_any_order, curve[i].lower_bound_any_order);
    smaller.lower_bound = std::max(smaller.lower_bound, smaller.lower_bound_any_order);
  }
  return curve;
}

std::vector<PlanResult> sweep(const Problem& problem, int points, const PlanOptions& options) {
  if (points < 2) fail("[plan] a sweep of {} points: give at least 2", points);
  std::int64_t low = solve(problem, options_for(options, 0, nullptr)).min_budget;
  PlanResult largest = solve(problem, options_for(options, std::numeric_limits<std::int64_t>::max(), nullptr));
  std::int64_t high = std::max(low, largest.layout_bytes);
  std::vector<std::int64_t> budgets;
  for (int k = 0; k < points; ++k) {
    double share = static_cast<double>(k) / (points - 1);
    budgets.push_back(low + static_cast<std::int64_t>(std::llround(share * static_cast<double>(high - low))));
  }
  return sweep(problem, budgets, options);
}

PlanResult smallest_budget(const Problem& problem, double overhead, const PlanOptions& options) {
  if (!(overhead >= 0)) fail("[plan] an overhead of {}: give a share >= 0, such as 0.1 for 10 %", overhead);
  PlanResult best = solve(problem, options_for(options, std::numeric_limits<std::int64_t>::max(), nullptr));
  double most = best.base_cost * (1 + overhead) * (1 + 1e-12);
  best.budget = best.layout_bytes;
  std::int64_t low = problem.resident_bytes() - 1, high = best.layout_bytes;  // low is too small
  while (high - low > std::max<std::int64_t>(1, high / 1000) && !options.cancel.stop_requested()) {
    std::int64_t middle = low + (high - low) / 2;
    PlanResult result = solve(problem, options_for(options, middle, nullptr));
    if (result.feasible && result.cost <= most) {
      best = std::move(result);
      best.budget = high = best.layout_bytes;
    } else {
      low = std::max(middle, std::min(result.min_budget_bound - 1, high - 1));
    }
  }
  return best;
}

}  // namespace reprise
