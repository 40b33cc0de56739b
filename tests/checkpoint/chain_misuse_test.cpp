// SPDX-License-Identifier: Apache-2.0
// What is refused, and the sentence that says so.
#include <gtest/gtest.h>

#include <limits>

#include "checkpoint/messages.h"
#include "reprise/chain.h"

namespace reprise::chain {
namespace {

TEST(ChainMisuse, NoSlotsAreRefused) {
  EXPECT_THROW(revolve(10, 0), BadRequest);
  EXPECT_EQ(message([] { revolve(10, 0); }), "[chain] revolve: 0 slots: the first state needs one, so give at least 1");
  EXPECT_EQ(message([] { online(-3); }), "[chain] online: -3 slots: the first state needs one, so give at least 1");
  EXPECT_EQ(message([] { hierarchical(10, {}); }),
            "[chain] hierarchical: 0 slots: the first state needs one, so give at least 1");
  EXPECT_EQ(message([] {
              multistage(10, {{"memory", 0}, {"disk", 0}});
            }),
            "[chain] multistage: 0 slots: the first state needs one, so give at least 1");
  EXPECT_THROW(periodic({.steps = 10, .period = 2}), BadRequest);
  EXPECT_THROW(disk_revolve(10, 0, 1, 1), BadRequest);
  EXPECT_THROW(revolve_advances(10, 0), BadRequest);
}

TEST(ChainMisuse, NegativeAndAbsurdNumbersAreRefused) {
  EXPECT_EQ(message([] { revolve(-1, 3); }), "[chain] revolve: -1 steps: give a number of steps that is not negative");
  EXPECT_EQ(message([] { keep_all(std::numeric_limits<std::int64_t>::max()); }),
            "[chain] keep_all: 9223372036854775807 steps: schedules end at 1099511627776, so make one step of several");
  EXPECT_EQ(message([] { every(10, 0); }), "[chain] every: an interval of 0: give at least 1");
  EXPECT_EQ(message([] { uniform(10, 0); }), "[chain] uniform: 0 segments: give at least 1");
  EXPECT_EQ(message([] { periodic({.steps = 10, .slots = 2, .period = -2}); }),
            "[chain] periodic: a period of -2: give 0 or more");
  EXPECT_EQ(message([] { online_two_level(0, 2); }), "[chain] online_two_level: a period of 0: give at least 1");
  EXPECT_EQ(message([] { disk_revolve(10, 2, -1, 0); }),
            "[chain] disk_revolve: a store's write cost is -1: costs are finite and not negative");
  EXPECT_EQ(message([] {
              hierarchical(10, {{"disk", -4}});
            }),
            "[chain] hierarchical: store 'disk' has a capacity of -4: give one that is not negative");
  EXPECT_EQ(message([] { revolve_advances(std::int64_t{1} << 40, 1); }),
            "[chain] revolve_advances: 1099511627776 steps in 1 slots take more advances than an integer holds: give "
            "more slots");
}

TEST(ChainMisuse, StoresThatAreNotInOrderAreRefused) {
  EXPECT_EQ(message([] {
              hierarchical(10, {{"disk", 9, 5, 5}, {"memory", 3}});
            }),
            "[chain] hierarchical: store 'memory' costs less than 'disk' before it: give the fastest first");
  EXPECT_THROW(multistage(10, {{"disk", 9, 5, 5}, {"ssd", 3, 5, 4}}), BadRequest);
}

TEST(ChainMisuse, NegativeSizesAreRefused) {
  EXPECT_EQ(message([] {
              weighted({.step_costs = {1, 1}, .sizes = {4, -4}, .capacity = 8});
            }),
            "[chain] weighted: x_1 has size -4: sizes are not negative");
  EXPECT_EQ(message([] {
              weighted({.step_costs = {1, 1}, .sizes = {4}, .capacity = 8});
            }),
            "[chain] weighted: 2 step costs and 1 sizes: give one of each for every step");
  EXPECT_EQ(message([] { weighted({.step_costs = {1}, .sizes = {4}, .capacity = -8}); }),
            "[chain] weighted: a capacity of -8: give one that is not negative");
  EXPECT_EQ(message([] { weighted({.step_costs = {1}, .sizes = {4}, .capacity = 8, .levels = 0}); }),
            "[chain] weighted: 0 levels: give at least 1");
  EXPECT_EQ(message([] { mixed({.steps = 3, .capacity = 5, .state_size = -1}); }),
            "[chain] mixed: sizes of -1 for a state and 1 for a step's data: give sizes above 0");
  EXPECT_EQ(message([] { mixed({.steps = 3, .capacity = -5}); }),
            "[chain] mixed: a capacity of -5: give one that is not negative");
}

TEST(ChainMisuse, FiniteStepCostsWhoseSumIsNotAreRefused) {
  auto costs = [](std::size_t n, double each) {
    return Weighted{std::vector<double>(n, each), std::vector<std::int64_t>(n, 1), 1};
  };
  EXPECT_THROW(weighted(costs(3, 1e308)), BadRequest);
  EXPECT_EQ(
      message([&] { weighted(costs(3, 1e308)); }),
      "[chain] weighted: the costs of 3 steps sum to 3e+308, and when steps run again to more than a number holds: "
      "give costs in a larger unit");
  EXPECT_THROW(weighted(costs(10, 1e307)), BadRequest);  // once each 1e308; in one slot, 4.5e308
  EXPECT_EQ(judge(weighted(costs(10, 1e306))).why, "");
  EXPECT_EQ(judge(weighted(costs(1, 1e308))).why, "");
}

TEST(ChainMisuse, FiniteWriteAndReadCostsWhoseSumIsNotAreRefused) {
  constexpr double huge = 1e308;
  const std::string words =
      " a write and a read cost 2e+308 together, and for 10 steps that sums to more than a number holds: give costs in "
      "a "
      "larger unit";
  std::vector<Store> stores{{"memory", 2}, {"disk", 9, huge, huge}};
  EXPECT_EQ(message([&] { hierarchical(10, stores); }), "[chain] hierarchical:" + words);
  EXPECT_EQ(message([&] { multistage(10, stores); }), "[chain] multistage:" + words);
  EXPECT_EQ(message([&] { periodic({.steps = 10, .slots = 2, .write_cost = huge, .read_cost = huge}); }),
            "[chain] periodic:" + words);
  EXPECT_THROW(disk_revolve(10, 2, huge, huge), BadRequest);
  EXPECT_THROW(hierarchical(10, {{"disk", 3, 0, 1e307}}), BadRequest);
  EXPECT_THROW(online_two_level(3, 2, huge, 0), BadRequest);
  EXPECT_THROW(online_two_level(3, 2, 1e300, 0), BadRequest);  // how long the run will be nobody knows
}

TEST(ChainMisuse, CostsJustBelowThatMakeFiniteSchedules) {
  constexpr double large = 1e300;
  for (const Schedule& schedule :
       {hierarchical(40, {{"disk", 3, large, large}}), disk_revolve(40, 2, large, large),
        multistage(40, {{"memory", 2}, {"disk", 9, large, large}}),
        periodic({.steps = 40, .slots = 2, .period = 5, .write_cost = large, .read_cost = large})})
    EXPECT_EQ(judge(schedule).why, "");
  EXPECT_EQ(judge(online_two_level(3, 2, 1e290, 1e290), 40).why, "");
  EXPECT_EQ(judge(disk_revolve(1, 2, 1e308, 1e308)).why, "");  // one step is never written
}

TEST(ChainMisuse, CapacitiesThatHoldTooLittleAreRefused) {
  EXPECT_THROW(weighted({.step_costs = {1, 1}, .sizes = {9, 1}, .capacity = 8}), DoesNotFit);
  EXPECT_EQ(message([] {
              weighted({.step_costs = {1, 1}, .sizes = {9, 1}, .capacity = 8});
            }),
            "[chain] weighted: x_0 has size 9 and the capacity is 8: x_0 has to be kept, so give at least its size");
  EXPECT_THROW(mixed({.steps = 4, .capacity = 2, .state_size = 5}), DoesNotFit);
  EXPECT_EQ(
      message([] { mixed({.steps = 4, .capacity = 2, .state_size = 5}); }),
      "[chain] mixed: a capacity of 2 holds neither x_0 (size 5) nor the data of all steps but the last (3 of size 1): "
      "give at least the smaller");
}

TEST(ChainMisuse, TablesThatWouldNotFitInMemoryAreRefused) {
  auto many = [](std::size_t n) {
    return Weighted{std::vector<double>(n, 1), std::vector<std::int64_t>(n, 1), 1000, 1000};
  };
  EXPECT_NE(message([&] { weighted(many(1000)); }).find("give fewer levels or join steps"), std::string::npos);
  EXPECT_NE(message([] { mixed({.steps = 1 << 20, .capacity = 100}); }).find("in a coarser unit"), std::string::npos);
  EXPECT_NE(message([] {
              hierarchical(1 << 20, {{"memory", 9}, {"disk", 100, 1, 1}});
            }).find("use chain::multistage"),
            std::string::npos);
}

TEST(ChainMisuse, ActionsAfterTheEndAreRefused) {
  Schedule schedule = keep_all(2);
  while (!schedule.done()) schedule.next();
  EXPECT_THROW(schedule.next(), OutOfTurn);
  EXPECT_EQ(message([&] { schedule.next(); }), "[chain] next: all 2 steps have been reversed: make a new schedule");
}

TEST(ChainMisuse, EndsThatAreNotTheSchedulesAreRefused) {
  EXPECT_EQ(message([] { revolve(10, 3).finish(); }),
            "[chain] finish: this schedule was made for 10 steps and ends by itself: use chain::online");
  EXPECT_EQ(message([] { revolve(10, 3).forecast_at(3); }),
            "[chain] forecast_at: this schedule was made for 10 steps: use forecast");
  Schedule run = online(3);
  EXPECT_EQ(message([&] { (void)run.forecast(); }),
            "[chain] forecast: the number of steps is not known yet: use forecast_at, or finish the run first");
  run.next();
  EXPECT_EQ(message([&] { run.finish(); }),
            "[chain] finish: step 0 is about to run: finish between steps, after an Advance");
  run.next();
  run.finish();
  EXPECT_EQ(message([&] { run.finish(); }),
            "[chain] finish: the run has already ended after 1 steps: make a new schedule");
}

}  // namespace
}  // namespace reprise::chain
