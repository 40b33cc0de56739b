// SPDX-License-Identifier: Apache-2.0
#include "reprise/checkpoint_strategy.h"

#include <gtest/gtest.h>

#include "checkpoint/messages.h"
#include "reprise/checkpoint_errors.h"

namespace reprise {
namespace {

using Layers = std::vector<std::int64_t>;

TEST(CheckpointBudget, CountsWhatIsAllocatedAndFreed) {
  CheckpointBudget budget(1024);
  EXPECT_EQ(budget.used_bytes(), 0);
  budget.allocate(256);
  EXPECT_EQ(budget.used_bytes(), 256);
  EXPECT_EQ(budget.remaining(), 768);
  budget.allocate(512);
  EXPECT_EQ(budget.used_bytes(), 768);
  budget.free(512);
  EXPECT_EQ(budget.used_bytes(), 256);
  EXPECT_TRUE(budget.can_allocate(768));
  EXPECT_FALSE(budget.can_allocate(769));
}

TEST(CheckpointBudget, OneHundredAskedForTwoHundredFailsAndStaysUnused) {
  CheckpointBudget budget(100);
  try {
    budget.allocate(200);
    FAIL();
  } catch (const BudgetExceeded& e) {
    EXPECT_EQ(e.need, 200);
    EXPECT_EQ(e.available, 100);
    EXPECT_STREQ(e.what(),
                 "[budget] exceeded: need 200 bytes, 100 are available: keep fewer checkpoints or raise the budget");
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(CheckpointBudget, UtilizationIsTheUsedShareAndZeroOfNothing) {
  CheckpointBudget budget(1000);
  budget.allocate(250);
  EXPECT_EQ(budget.utilization(), 0.25);
  EXPECT_EQ(CheckpointBudget(0).utilization(), 0);
}

TEST(CheckpointBudget, FreeStopsAtNothingUsed) {
  CheckpointBudget budget(10);
  budget.allocate(5);
  budget.free(50);
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(CheckpointBudget, RefusesNegativeSizesAndNeverOverflows) {
  EXPECT_EQ(message([] { CheckpointBudget(-1); }), "[budget] -1 bytes: a budget is not negative");
  CheckpointBudget budget(10);
  EXPECT_EQ(message([&] { budget.allocate(-1); }), "[budget] cannot allocate -1 bytes: sizes are not negative");
  EXPECT_EQ(message([&] { budget.free(-1); }), "[budget] cannot free -1 bytes: sizes are not negative");
  EXPECT_FALSE(budget.can_allocate(-1));
  EXPECT_FALSE(CheckpointBudget().can_allocate(INT64_MIN));
  EXPECT_TRUE(budget.can_allocate(0));
  budget.allocate(10);
  EXPECT_THROW(budget.allocate(INT64_MAX), BudgetExceeded);
}

TEST(CheckpointStrategy, EveryKeepsAllLayers) {
  EXPECT_EQ(CheckpointStrategy::every().select_layers(5), (Layers{0, 1, 2, 3, 4}));
}

TEST(CheckpointStrategy, EveryNthStartsAtZero) {
  EXPECT_EQ(CheckpointStrategy::every_nth(2).select_layers(6), (Layers{0, 2, 4}));
  EXPECT_EQ(CheckpointStrategy::every_nth(4).select_layers(9), (Layers{0, 4, 8}));
  EXPECT_EQ(CheckpointStrategy::every_nth(INT64_MAX).select_layers(9), Layers{0});
}

TEST(CheckpointStrategy, SqrtSpreadsAboutRootManyLayers) {
  auto sqrt = CheckpointStrategy::sqrt();
  EXPECT_EQ(sqrt.select_layers(0), Layers{});
  EXPECT_EQ(sqrt.select_layers(1), Layers{0});
  EXPECT_EQ(sqrt.select_layers(2), Layers{0});
  EXPECT_EQ(sqrt.select_layers(3), Layers{0});
  EXPECT_EQ(sqrt.select_layers(5), (Layers{0, 2}));
  EXPECT_EQ(sqrt.select_layers(10), (Layers{0, 3, 6}));
  EXPECT_EQ(sqrt.select_layers(16), (Layers{0, 4, 8, 12}));
  EXPECT_EQ(sqrt.select_layers(100), (Layers{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}));
}

TEST(CheckpointStrategy, NoneAndIntervalZeroKeepNothing) {
  EXPECT_EQ(CheckpointStrategy::none().select_layers(7), Layers{});
  EXPECT_EQ(CheckpointStrategy::every_nth(0).select_layers(7), Layers{});
}

TEST(CheckpointStrategy, RefusesNegativeCounts) {
  EXPECT_EQ(message([] { CheckpointStrategy::every_nth(-2); }),
            "[strategy] every -2th layer: the interval is positive, or 0 for never");
  EXPECT_EQ(message([] { CheckpointStrategy::every().select_layers(-1); }),
            "[strategy] -1 layers: a count is not negative");
}

}  // namespace
}  // namespace reprise
