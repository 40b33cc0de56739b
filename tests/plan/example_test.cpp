// SPDX-License-Identifier: Apache-2.0
// The numbers in docs/planner.md.
#include <gtest/gtest.h>

#include "plan/moment.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace {

const Problem& ten_nodes() {
  static const Problem problem = load_problem(REPRISE_SOURCE_DIR "/examples/ten_nodes.json");
  return problem;
}

TEST(TenNodes, TakeAndCostWhatTheDocumentationSays) {
  EXPECT_EQ(ten_nodes().node_count(), 10);
  EXPECT_EQ(peak(ten_nodes(), keep_all(ten_nodes())), 310);
  EXPECT_EQ(cost(ten_nodes(), keep_all(ten_nodes())), 20);
  PlanResult nothing = solve(ten_nodes(), {.budget = 100});
  EXPECT_FALSE(nothing);
  EXPECT_EQ(nothing.min_budget, 180);
  EXPECT_EQ(nothing.min_budget_bound, 180);
}

TEST(TenNodes, ArePlannedAsTheDocumentationSays) {
  PlanResult result = solve(ten_nodes(), {.budget = 200});
  ASSERT_TRUE(result);
  EXPECT_EQ(result.cost, 27);
  EXPECT_EQ(result.lower_bound, 27);
  EXPECT_EQ(result.peak, 200);
  EXPECT_EQ(result.recomputed, 2);
  EXPECT_EQ(result.summary(), "budget 200 B | peak 200 B | time x1.35 | 2 of 10 values recomputed | the best possible");
  // f1 f2 f3 f4 f5 b5 f4 b4 b3 b2 f1 b1
  EXPECT_EQ(result.schedule, with_drops(ten_nodes(), std::vector{0, 1, 2, 3, 4, 5, 3, 6, 7, 8, 0, 9}));
}

TEST(TenNodes, CannotKeepOneAndThreeWhileThreeRuns) {
  Schedule tempting = with_drops(ten_nodes(), std::vector{0, 1, 2, 3, 4, 5, 3, 6, 7, 1, 8, 9});
  EXPECT_EQ(cost(ten_nodes(), tempting), 26);
  EXPECT_EQ(peak(ten_nodes(), tempting), 240);
}

TEST(TenNodes, HaveTheMomentsOfTheTable) {
  plan::Model model = plan::make_model(ten_nodes());
  const std::int64_t own[] = {100, 180, 140, 100, 60, 30, 60, 80, 100, 120};
  const double extra[] = {0, 0, 5, 4, 5, 6, 5, 4, 0, 0};
  for (int node = 0; node < 10; ++node) {
    plan::Moment moment(model, node, plan::Scope::this_order);
    plan::MomentBound priced = plan::best_price(moment, 200);
    EXPECT_EQ(moment.own_bytes(), own[node]) << node;
    plan::Branched branched = plan::branch_and_bound(moment, 200, priced, 100, [] { return false; });
    EXPECT_NEAR(branched.extra, extra[node], 1e-9) << node;
    ASSERT_FALSE(branched.cheap.empty()) << node;
    EXPECT_EQ(branched.cheap[0].cost, extra[node]) << node;
    for (std::size_t k = 0; k < branched.cheap.size(); ++k) {
      EXPECT_LE(branched.cheap[k].bytes, 200 - own[node]) << node;
      EXPECT_TRUE(k == 0 || branched.cheap[k - 1].cost < branched.cheap[k].cost) << node;
    }
    if (node == 5) {
      EXPECT_NEAR(priced.extra, 5.5, 1e-9);
    }
  }
}

}  // namespace
}  // namespace reprise
