// SPDX-License-Identifier: Apache-2.0
// Large problems are planned with counted moves alone, and what is said of them holds.
#include <gtest/gtest.h>

#include "reprise/plan.h"

namespace reprise {
namespace {

// Repeated blocks of four and their mirror: the gradient of a node reads what it read.
Problem training_graph(int nodes) {
  Problem p;
  int half = nodes / 2;
  std::vector<ValueRef> forward;
  auto size = [](int i) { return 64 + 32 * (i % 4); };
  auto name = [](char kind, int i) { return kind + std::to_string(i); };
  for (int i = 0; i < half; ++i) {
    std::vector<ValueRef> inputs;
    if (i > 0) inputs.push_back(forward.back());
    if (i >= 4 && i % 4 == 3) inputs.push_back(forward[static_cast<std::size_t>(i - 4)]);  // the block's own skip
    forward.push_back(p.add({name('f', i), size(i), 1.0 + i % 3}, inputs));
  }
  ValueRef gradient = forward.back();
  for (int i = half; i-- > 0;)
    gradient = p.add({name('g', i), size(i), 2}, {gradient, forward[static_cast<std::size_t>(i)]});
  p.output(gradient);
  return p;
}

void expect_honest(const Problem& p, const PlanResult& result) {
  ASSERT_TRUE(result) << result.why();
  Verdict verdict = validate(p, result.schedule, result.budget);
  ASSERT_TRUE(verdict) << verdict.why;
  EXPECT_EQ(verdict.cost, result.cost);
  EXPECT_LE(result.lower_bound, result.cost);
  EXPECT_LE(result.layout_bytes, result.budget);
  EXPECT_LE(result.min_budget_bound, result.budget);
}

std::int64_t share_of_all(const Problem& p, int percent) { return peak(p, keep_all(p)) / 100 * percent; }

TEST(LargeProblem, OfTwoThousandNodesIsPlannedWithoutATimeLimit) {
  int told = 0;
  Problem p = training_graph(2000);
  PlanResult result = solve(p, {.budget = share_of_all(p, 60), .progress = [&](const PlanProgress&) { ++told; }});
  expect_honest(p, result);
  EXPECT_GT(told, 0);
  EXPECT_LT(result.overhead(), 0.5);
}

TEST(LargeProblem, OfALongChainIsRefusedAByteBelowTheSmallestBudget) {
  Problem p = training_graph(4400);
  const double any = std::numeric_limits<double>::infinity();
  PlanResult nothing = solve(p, {.budget = 1, .gap = any});
  ASSERT_FALSE(nothing);
  PlanResult smallest = solve(p, {.budget = nothing.min_budget, .gap = any});
  expect_honest(p, smallest);
  PlanResult less = solve(p, {.budget = nothing.min_budget - 1, .gap = any});
  EXPECT_FALSE(less);
  EXPECT_EQ(less.min_budget, nothing.min_budget);
}

// The limit is far above what it takes: the first plan that is within half of the best possible ends the search.
TEST(LargeProblem, OfFiftyThousandTrainingNodesIsPlanned) {
#ifdef __SANITIZE_ADDRESS__
  Problem p = training_graph(10'000);  // several times slower there
#else
  Problem p = training_graph(50'000);
#endif
  PlanResult result = solve(p, {.budget = share_of_all(p, 60), .time_limit = 60, .gap = 0.5});
  expect_honest(p, result);
  EXPECT_LE(result.gap(), 0.5);
}

}  // namespace
}  // namespace reprise
