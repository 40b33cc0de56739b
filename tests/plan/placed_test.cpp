// SPDX-License-Identifier: Apache-2.0
// A plan is feasible only with its layout.
#include <gtest/gtest.h>

#include "plan/generators.h"
#include "plan/messages.h"
#include "plan/test_factor.h"

namespace reprise {
namespace {

using generators::kinds;
using generators::random_problem;

void expect_placed(const Problem& p, const PlanResult& result, std::int64_t alignment) {
  ASSERT_LE(result.layout_bytes, result.budget);
  Verdict verdict = validate(p, result.schedule, result.layout, result.budget);
  ASSERT_TRUE(verdict) << verdict.why;
  EXPECT_EQ(verdict.peak, result.layout_bytes);
  EXPECT_EQ(peak(p, result.schedule), result.peak);
  EXPECT_LE(result.lower_bound, result.cost);
  for (const Placement& row : result.layout) ASSERT_EQ(row.offset % alignment, 0);
}

struct Case {
  std::uint64_t seed;
  std::int64_t alignment;
  Problem p = random_problem(
      kinds[seed % 5], seed,
      {.nodes = 5 + static_cast<int>(seed % 14), .most_bytes = 3 * alignment + 20, .with_facts = seed % 3 == 0});
  PlanOptions at(std::int64_t budget) const { return {.budget = budget, .alignment = alignment, .iterations = 200}; }
};

template <class Claim>
void for_random_cases(std::uint64_t count, const Claim& claim) {
  for (std::uint64_t seed = 1; seed <= problem_count(count); ++seed) {
    for (std::int64_t alignment : {1, 64}) {
      claim(Case{seed, alignment});
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ", alignment " << alignment;
    }
  }
}

TEST(Solve, FindsALayoutWithinTheBudgetOrDoesNotCallThatFeasible) {
  std::uint64_t feasible = 0;
  for_random_cases(300, [&](const Case& c) {
    PlanResult result = solve(c.p, c.at(generators::random_budget(c.p, c.seed, 0.4)));
    feasible += result.feasible;
    if (result)
      expect_placed(c.p, result, c.alignment);
    else
      EXPECT_GT(result.min_budget, result.budget);
  });
  EXPECT_GT(feasible, problem_count(150));
}

TEST(Solve, SucceedsWithTheSmallestBudgetItNamesAndNotWithAByteLess) {
  for_random_cases(25, [&](const Case& c) {
    PlanResult nothing = solve(c.p, c.at(0));
    if (nothing) return;  // nothing needs memory
    PlanResult smallest = solve(c.p, c.at(nothing.min_budget));
    ASSERT_TRUE(smallest) << smallest.why();
    expect_placed(c.p, smallest, c.alignment);
    EXPECT_FALSE(solve(c.p, c.at(nothing.min_budget - 1))) << nothing.min_budget;
    EXPECT_FALSE(solve(c.p, c.at(std::max<std::int64_t>(0, nothing.min_budget_bound - 1))));
    EXPECT_LE(smallest.min_budget_bound, smallest.min_budget);
  });
}

TEST(Solve, SucceedsWithTheSmallestBudgetAFeasiblePlanNames) {
  for_random_cases(150, [&](const Case& c) {
    PlanResult result = solve(c.p, c.at(generators::random_budget(c.p, c.seed, 0.5)));
    if (!result) return;
    EXPECT_TRUE(solve(c.p, c.at(result.min_budget)));
    EXPECT_FALSE(result.min_budget_bound > 0 && solve(c.p, c.at(result.min_budget_bound - 1)));
  });
}

TEST(Solve, PlacesWhatIsKeptWhenNothingIsLimited) {
  for_random_cases(60, [&](const Case& c) {
    PlanResult result = solve(c.p, {.alignment = c.alignment});
    ASSERT_TRUE(result);
    EXPECT_EQ(result.schedule, keep_all(c.p));
    expect_placed(c.p, result, c.alignment);
  });
}

// Lives of such graphs are not nested, so that layouts lose some of the budget.
TEST(Solve, FindsAPlanForLayeredGraphsWhereverTheSmallestBudgetFits) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Problem p = random_problem(generators::Kind::layered, seed, {.nodes = 40, .most_bytes = 1000});
    PlanOptions options{.iterations = 500};
    std::int64_t smallest = solve(p, options).min_budget, whole = peak(p, keep_all(p));
    options.budget = 0;
    smallest = std::min(smallest, solve(p, options).min_budget);
    for (int tenths : {0, 3, 9}) {
      options.budget = smallest + (whole - smallest) * tenths / 10;
      PlanResult result = solve(p, options);
      ASSERT_TRUE(result) << result.why() << ", seed " << seed << ", " << tenths << " tenths above the smallest";
      expect_placed(p, result, 1);
    }
  }
}

TEST(Solve, LaysLayeredGraphsOutWithinAHundredthOfTheirPeak) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Problem p = random_problem(generators::Kind::layered, seed, {.nodes = 60, .most_bytes = 1000});
    PlanResult result = solve(p, {.budget = peak(p, keep_all(p)) * 9 / 10, .iterations = 2000});
    ASSERT_TRUE(result) << result.why() << ", seed " << seed;
    EXPECT_LE(result.layout_bytes, result.peak + result.peak / 100) << "seed " << seed;
    expect_placed(p, result, 1);
  }
}

// The clock decides what is found, not whether it is valid.
TEST(Solve, SearchesInTwoThreadsForLayoutsThatAreValid) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Problem p = random_problem(generators::Kind::layered, seed, {.nodes = 120, .most_bytes = 1000});
    for (int percent : {97, 85}) {
      PlanOptions options{.budget = peak(p, keep_all(p)) * percent / 100, .seed = seed, .threads = 2};
      options.time_limit = 0.5;
      PlanResult result = solve(p, options);
      if (result) expect_placed(p, result, 1);
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", " << percent << " %";
    }
  }
}

TEST(Sweep, GivesEveryPointItsLayout) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = 14});
    for (const PlanResult& point : sweep(p, 5, {.alignment = 16, .iterations = 100})) {
      ASSERT_TRUE(point) << "seed " << seed;
      expect_placed(p, point, 16);
    }
    PlanResult smallest = smallest_budget(p, 0.2, {.alignment = 16, .iterations = 100});
    EXPECT_EQ(smallest.budget, smallest.layout_bytes);
    expect_placed(p, smallest, 16);
  }
}

TEST(Solve, RefusesAlignmentsThatAreNoPowersOfTwo) {
  Problem p = random_problem(kinds[0], 1);
  EXPECT_SAYS(solve(p, {.alignment = 48}), "an alignment of 48: give a power of two");
  EXPECT_SAYS(solve(p, {.alignment = 0}), "an alignment of 0");
}

}  // namespace
}  // namespace reprise
