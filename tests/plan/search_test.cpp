// SPDX-License-Identifier: Apache-2.0
// The searches and bounds on random problems: the judge accepts every schedule and no bound is above a cost.
#include <gtest/gtest.h>

#include "plan/annealer.h"
#include "plan/random_problem.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

constexpr Shape shapes[] = {Shape::chain, Shape::layered, Shape::u_shape, Shape::training};

TEST(Timeline, KnowsPeakAndCostAsTheJudgeDoesAfterEveryChange) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Problem p = random_problem(shapes[seed % 4], 12, seed);
    for (int v = 0; v < p.value_count(); v += 2) p.pageable({p.value(v).node, 0}, {1, 2});
    Model model = make_model(p);
    Timeline timeline(model);
    for (int change = 0; change < 40; ++change) {
      int node = static_cast<int>(random.below(model.node_count())),
          stage = static_cast<int>(random.below(timeline.stage_count()));
      Item item = random.chance(0.7) ? timeline.run_of(node) : timeline.page_of(node);
      if (timeline.has(item, stage))
        timeline.remove(item, stage);
      else if (timeline.can_insert(item, stage))
        timeline.insert(item, stage);
      Verdict verdict = validate(p, to_schedule(p, model, timeline.events()));
      ASSERT_TRUE(verdict) << verdict.why << " seed " << seed;
      ASSERT_EQ(verdict.peak, timeline.peak()) << "seed " << seed << " change " << change;
      ASSERT_NEAR(verdict.cost, model.base_cost + timeline.extra_cost(), 1e-9);
    }
    timeline.undo();
    EXPECT_EQ(timeline.peak(), peak(p, keep_all(p)));
    EXPECT_EQ(timeline.item_count(), 0);
  }
}

// Random things brought back, none of which is useless.
void fill_at_random(Timeline& timeline, Random& random, int changes) {
  const Model& model = timeline.model();
  for (int change = 0; change < changes; ++change) {
    int node = static_cast<int>(random.below(model.node_count())),
        stage = static_cast<int>(random.below(timeline.stage_count()));
    Item item = random.chance(0.7) ? timeline.run_of(node) : timeline.page_of(node);
    if (timeline.can_insert(item, stage)) timeline.insert(item, stage);
  }
  timeline.prune();
  timeline.commit();
}

int useless_count(const Timeline& timeline) {
  int count = 0;
  for (int k = 0; k < timeline.item_count(); ++k) {
    Timeline::Return brought = timeline.item(k);
    EXPECT_TRUE(timeline.has(brought.item, brought.stage));
    count += timeline.is_useless(brought.item, brought.stage);
  }
  return count;
}

TEST(Timeline, LeavesNothingUselessWherePruningLooksAtChangesOnly) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Problem p = random_problem(shapes[seed % 4], 14, seed);
    for (int v = 0; v < p.value_count(); v += 2) p.pageable({p.value(v).node, 0}, {1, 2});
    Model model = make_model(p);
    Timeline timeline(model);
    fill_at_random(timeline, random, 60);
    ASSERT_EQ(useless_count(timeline), 0) << "seed " << seed;
    for (int k = 0; k < 3 && timeline.item_count() > 0; ++k) {
      Timeline::Return brought = timeline.item(static_cast<int>(random.below(timeline.item_count())));
      timeline.remove(brought.item, brought.stage);
    }
    timeline.prune_changes(0);
    EXPECT_EQ(useless_count(timeline), 0) << "seed " << seed;
  }
}

TEST(Solve, NeverCostsLessThanItsBoundAndTheJudgeAgrees) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Problem p = random_problem(shapes[seed % 4], 6 + static_cast<int>(seed % 25), seed);
    std::int64_t whole = peak(p, keep_all(p));
    for (int percent : {30, 50, 65, 80, 95}) {
      PlanResult result = solve(p, {.budget = whole * percent / 100, .iterations = 300});
      if (!result) {
        EXPECT_GT(result.min_budget, result.budget);
        EXPECT_LE(result.min_budget_bound, result.min_budget);
        continue;
      }
      Verdict verdict = validate(p, result.schedule, result.budget);
      ASSERT_TRUE(verdict) << verdict.why << " seed " << seed;
      EXPECT_EQ(verdict.cost, result.cost);
      EXPECT_LE(result.lower_bound, result.cost * (1 + 1e-9)) << "seed " << seed;
      EXPECT_LE(result.lower_bound_any_order, result.lower_bound * (1 + 1e-9));
      EXPECT_LE(result.min_budget_bound, result.budget);
    }
  }
}

TEST(Solve, FindsTheSmallestBudgetItNames) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Problem p = random_problem(shapes[seed % 4], 14, seed);
    PlanResult nothing = solve(p, {.budget = 1, .iterations = 300});
    ASSERT_FALSE(nothing);
    EXPECT_TRUE(solve(p, {.budget = nothing.min_budget, .iterations = 300}) ||
                nothing.min_budget_bound < nothing.min_budget)
        << "seed " << seed;
    EXPECT_FALSE(solve(p, {.budget = nothing.min_budget_bound - 1, .iterations = 300}));
  }
}

TEST(Solve, GivesTheSamePlanForTheSameSeedWithOneThreadAndWithTwo) {
  Problem p = random_problem(Shape::training, 40, 5);
  std::int64_t budget = peak(p, keep_all(p)) * 6 / 10;
  PlanResult one = solve(p, {.budget = budget, .iterations = 500}),
             again = solve(p, {.budget = budget, .iterations = 500});
  EXPECT_EQ(one.schedule, again.schedule);
  EXPECT_EQ(one.lower_bound, again.lower_bound);
  PlanResult two = solve(p, {.budget = budget, .iterations = 500, .threads = 2});
  PlanResult two_again = solve(p, {.budget = budget, .iterations = 500, .threads = 2});
  EXPECT_EQ(two.schedule, two_again.schedule);
  EXPECT_EQ(two.lower_bound, two_again.lower_bound);
}

TEST(Solve, StopsWhenCancelledAndTellsOfProgress) {
  Problem p = random_problem(Shape::training, 60, 3);
  std::int64_t budget = peak(p, keep_all(p)) * 9 / 10;
  std::stop_source source;
  int told = 0;
  PlanOptions options{.budget = budget, .iterations = 1'000'000'000};
  options.cancel = source.get_token();
  options.progress = [&](const PlanProgress& progress) {
    ++told;
    if (progress.cost) source.request_stop();
  };
  PlanResult result = solve(p, options);
  EXPECT_GT(told, 0);
  EXPECT_TRUE(result);
}

}  // namespace
}  // namespace reprise::plan
