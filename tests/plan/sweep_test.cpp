// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/random_problem.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

TEST(Sweep, IsMonotoneInCostAndBound) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Problem p = random_problem(seed % 2 ? Shape::training : Shape::layered, 20, seed);
    std::vector<PlanResult> curve = sweep(p, 8, {.iterations = 200});
    ASSERT_EQ(curve.size(), 8u);
    EXPECT_TRUE(curve.front()) << "seed " << seed << ": the smallest budget named is one that fits";
    EXPECT_EQ(curve.back().cost, curve.back().base_cost);
    for (std::size_t i = 0; i < curve.size(); ++i) {
      ASSERT_TRUE(validate(p, curve[i].schedule, curve[i].budget)) << "seed " << seed;
      EXPECT_LE(curve[i].lower_bound, curve[i].cost * (1 + 1e-9));
      if (i == 0) continue;
      EXPECT_LE(curve[i].cost, curve[i - 1].cost);
      EXPECT_LE(curve[i].lower_bound_any_order, curve[i - 1].lower_bound_any_order);
    }
  }
}

TEST(Sweep, AnswersTheInverseQuestion) {
  Problem p = random_problem(Shape::training, 24, 4);
  PlanResult free_of_charge = smallest_budget(p, 0, {.iterations = 200});
  PlanResult tenth = smallest_budget(p, 0.1, {.iterations = 200});
  PlanResult half = smallest_budget(p, 0.5, {.iterations = 200});
  EXPECT_EQ(free_of_charge.overhead(), 0);
  EXPECT_LE(tenth.overhead(), 0.1);
  EXPECT_LE(tenth.budget, free_of_charge.budget);
  EXPECT_LE(half.budget, tenth.budget);
  EXPECT_TRUE(validate(p, tenth.schedule, tenth.budget));
}

TEST(Sweep, RefusesWhatCannotBe) {
  Problem p = random_problem(Shape::chain, 4, 1);
  EXPECT_THROW(sweep(p, 1), Error);
  EXPECT_THROW(smallest_budget(p, -0.1), Error);
  EXPECT_THROW(solve(p, {.start = Schedule{}}), Error);
}

}  // namespace
}  // namespace reprise
