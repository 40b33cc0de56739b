// SPDX-License-Identifier: Apache-2.0
// The searches and bounds on random problems: the judge accepts every schedule and no bound is above a cost.
#include <gtest/gtest.h>

#include <algorithm>

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

TEST(PeakTree, FindsTheMaximumOfEveryRange) {
  for (int count : {1, 2, 7, 16, 33}) {
    Random random(static_cast<std::uint64_t>(count));
    PeakTree tree(count);
    std::vector<std::int64_t> plain(static_cast<std::size_t>(count), 0);
    for (int change = 0; change < 60; ++change) {
      auto first = random.below(count), last = random.between(first, count - 1), amount = random.between(-50, 50);
      tree.add(static_cast<int>(first), static_cast<int>(last), amount);
      for (auto i = first; i <= last; ++i) plain[static_cast<std::size_t>(i)] += amount;
      for (int from = 0; from < count; ++from) {
        for (int to = from; to < count; ++to) {
          ASSERT_EQ(tree.max(from, to), *std::max_element(plain.begin() + from, plain.begin() + to + 1));
        }
      }
    }
  }
}

// What is to be dropped is made from something larger that is gone already, and would rather stay at this price.
TEST(Shaver, RunsAgainWhatCouldOnlyStayInstead) {
  Problem p;
  ValueRef source = p.add({"source", 100, 10}), dropped = p.add({"dropped", 50, 1}, {source});
  ValueRef peak = p.add({"peak", 1, 1, 130}, {p.add({"before", 1, 1})});
  p.output(p.add({"reader", 1, 1}, {dropped, peak}));
  Model model = make_model(p);
  Timeline timeline(model);
  Random random(1);
  EXPECT_TRUE(Shaver(timeline, random).repair({.budget = 160, .price = 1e-6}));
  EXPECT_LE(timeline.peak(), 160);
  EXPECT_EQ(timeline.extra_cost(), 11);
}

TEST(Shaver, LeavesAloneWhatIsToStay) {
  int repaired = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Problem p = random_problem(shapes[seed % 4], 16, seed);
    Model model = make_model(p);
    for (int node = 0; node < model.node_count(); node += 3) {
      Timeline timeline(model);
      Random random(seed);
      bool fits = Shaver(timeline, random).repair({.budget = timeline.peak() * 8 / 10, .price = 0.1, .stays = node});
      repaired += fits;
      EXPECT_EQ(timeline.reruns_of(node).size(), 0) << "seed " << seed << " node " << node;
    }
  }
  EXPECT_GT(repaired, 20);
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

// What ruin and recreate finds without a move.
double cost_of_starts(const Problem& p, const PlanOptions& options, const Schedule* refused) {
  Model model = make_model(p);
  Deadline deadline(options);
  Certificate certificate = prove(model, options.budget, [] { return false; });
  Schedule all = keep_all(p);
  Verdict verdict = validate(p, all);
  double cost = forbidden;
  auto judge = [&](const SharedSchedule& found) { cost = std::min(cost, validate(p, *found).cost); };
  Attempt attempt{p, options, deadline, model, certificate, all, verdict, judge, [] { return 0.0; }};
  attempt.refused = refused;
  attempt.round = 1;                                      // layouts fail after the first
  EXPECT_TRUE(solve_ruin_and_recreate(attempt).empty());  // all is told as it is found
  return cost;
}

TEST(RuinAndRecreate, GoesOnFromACheapScheduleThatNoLayoutFitted) {
  int cheaper = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Problem p = random_problem(Shape::training, 40, seed);
    PlanOptions options{.budget = peak(p, keep_all(p)) * 6 / 10, .iterations = 0};
    PlanResult known = solve(p, {.budget = options.budget, .iterations = 2000});
    if (!known) continue;
    double without = cost_of_starts(p, options, nullptr), with = cost_of_starts(p, options, &known.schedule);
    EXPECT_LE(with, known.cost * (1 + 1e-12)) << "seed " << seed;
    cheaper += with < without;
  }
  EXPECT_GE(cheaper, 5);
}

// A value that is read after each of several nodes beside which there is no room for it.
TEST(Solve, AddsUpWhatMomentsInARowForce) {
  Problem p;
  ValueRef kept = p.add({"kept", 50, 7}), last = p.add({"first", 1, 1}, {kept});
  for (int i = 0; i < 3; ++i) {
    last = p.add({fmt::format("peak{}", i), 100, 1, 20}, {last});
    last = p.add({fmt::format("reader{}", i), 1, 1}, {last, kept});
  }
  p.output(last);
  for (int threads : {1, 2}) {
    PlanResult result = solve(p, {.budget = 151, .without = {"exact"}, .iterations = 100, .threads = threads});
    ASSERT_TRUE(result);
    EXPECT_EQ(result.cost, result.base_cost + 3 * 7);
    EXPECT_EQ(result.lower_bound, result.cost);
    EXPECT_EQ(result.lower_bound_any_order, result.cost);
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
