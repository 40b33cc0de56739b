// SPDX-License-Identifier: Apache-2.0
// How little a stream of actions holds, and that what it forgets it makes again.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "checkpoint/replay_stack.h"
#include "reprise/chain.h"

namespace reprise::chain {
namespace {

std::int64_t largest_state(Schedule schedule) {
  std::int64_t most = 0;
  for (; !schedule.done(); schedule.next()) most = std::max(most, schedule.state_bytes());
  return most;
}

// Two to three blocks of 16 frames for each power of 16 in the depth, in a vector that doubles.
std::int64_t logarithmic(std::int64_t depth) {
  std::int64_t powers = 1;
  for (; depth >= 16; depth /= 16) ++powers;
  return 200 + 2 * powers * 32 * 48;
}

TEST(ChainState, GrowsWithTheLogarithmOfTheSlots) {
  for (std::int64_t slots : {8, 64, 512, 4'096, 32'768, 262'144}) {
    EXPECT_LE(largest_state(keep_all(slots + 1)), logarithmic(slots)) << slots;
    EXPECT_LE(largest_state(revolve(3 * slots, slots)), logarithmic(slots)) << slots;
    EXPECT_LE(largest_state(every(2 * slots, 2)), logarithmic(slots)) << slots;
    EXPECT_LE(largest_state(periodic({.steps = 4 * slots, .slots = 3, .period = 4})), logarithmic(slots)) << slots;
    EXPECT_LE(largest_state(multistage(2 * slots, {{"memory", slots / 2}, {"disk", slots / 2}})), logarithmic(slots))
        << slots;
  }
}

TEST(ChainState, OfAMillionStepsIsKilobytesWhateverTheSlots) {
  EXPECT_LE(largest_state(revolve(1'000'000, 50)), 4'000);
  EXPECT_LE(largest_state(revolve(1'000'000, 1'000)), 8'000);
  EXPECT_LE(largest_state(revolve(1'000'000, 500'000)), 16'000);
}

TEST(ChainState, OfFamiliesWithTablesIsLogarithmicToo) {
  constexpr std::int64_t steps = 600;
  EXPECT_LE(largest_state(mixed({.steps = steps, .capacity = 500})), logarithmic(500));
  EXPECT_LE(largest_state(disk_revolve(steps, 500, 2, 1)), logarithmic(500));
  EXPECT_LE(largest_state(hierarchical(steps, {{"memory", 400}, {"disk", 100, 2, 1}})), logarithmic(500));
  Weighted request{.step_costs = std::vector<double>(200, 1), .sizes = std::vector<std::int64_t>(200, 1)};
  request.capacity = 190;
  EXPECT_LE(largest_state(weighted(request)), logarithmic(190));
}

TEST(ChainState, OfARunOfUnknownLengthIsWordsForEachSlotAndNothingForAPeriod) {
  Schedule levels = online(100), periods = online_two_level(4, 3);
  for (int i = 0; i < 20'000; ++i) levels.next(), periods.next();
  EXPECT_LE(levels.state_bytes(), 500 + 200 * 24);
  EXPECT_LE(periods.state_bytes(), 500);
  while (!std::holds_alternative<Advance>(periods.next())) continue;
  periods.finish();
  EXPECT_LE(largest_state(periods), 500 + logarithmic(5'000));
}

TEST(ChainState, IsEnoughForDeepStacksOfEveryFamily) {
  auto expect_good = [](const Schedule& schedule) {
    Verdict verdict = judge(schedule);
    EXPECT_TRUE(verdict.ok) << verdict.why;
  };
  expect_good(keep_all(70'000));
  expect_good(every(60'000, 2));
  expect_good(uniform(50'000, 3));
  expect_good(revolve(30'000, 9'000));
  expect_good(revolve(100'000, 300));
  expect_good(periodic({.steps = 40'000, .slots = 2, .period = 3}));
  expect_good(periodic({.steps = 40'000, .slots = 700, .period = 1'500}));
  expect_good(multistage(20'000, {{"memory", 1'000}, {"ssd", 2'000}, {"disk", 3'000}}));
  expect_good(mixed({.steps = 600, .capacity = 1'200, .state_size = 2, .data_size = 3}));
  expect_good(disk_revolve(1'500, 300, 2, 1));
  expect_good(disk_revolve(1'500, 2, 0.5, 0.25));
  expect_good(hierarchical(600, {{"memory", 60}, {"ssd", 90, 1, 1}, {"disk", 90, 2, 2}}));
  EXPECT_TRUE(judge(online(1'000), 30'000).ok);
  EXPECT_TRUE(judge(online_two_level(3, 2), 30'001).ok);
  EXPECT_TRUE(judge(online_two_level(1'000, 70), 3'400).ok);
}

TEST(ChainState, MakesADeepRevolveCostWhatTheClosedFormSays) {
  for (std::int64_t slots : {100, 1'000, 10'000}) {
    Forecast forecast = revolve(40'000, slots).forecast();
    Verdict verdict = judge(revolve(40'000, slots));
    EXPECT_TRUE(verdict.ok) << verdict.why;
    EXPECT_EQ(verdict.measured.advances, forecast.advances);
  }
}

// Each frame is made from the one below and from how often its depth was pushed, which a shadow remembers.
TEST(ReplayStack, IsAStack) {
  Random random(21);
  ReplayStack<std::int64_t> stack;
  std::vector<std::int64_t> shadow;
  std::int64_t made = 0, operations = 0;
  auto above = [&](std::int64_t below, std::int64_t depth) {
    ++made;
    return below % 1'000'003 * 31 + depth;
  };
  for (int phase = 0; phase < 400; ++phase) {
    bool grows = phase % 2 == 0;
    for (std::int64_t i = random.between(0, grows ? 900 : 800); i > 0 && (grows || !shadow.empty());
         --i, ++operations) {
      std::int64_t* top = stack.top(above);
      ASSERT_EQ(top == nullptr, shadow.empty());
      if (top) {
        ASSERT_EQ(*top, shadow.back());
      }
      if (grows) {
        shadow.push_back(shadow.empty() ? 1 : shadow.back() % 1'000'003 * 31 + stack.depth());
        stack.push(shadow.back());
      } else {
        shadow.pop_back();
        stack.pop();
      }
    }
    ASSERT_EQ(stack.depth(), std::ssize(shadow));
    ASSERT_LE(stack.bytes(), 2 * 4 * 3 * 16 * 16u);
  }
  EXPECT_LE(made, 4 * operations);
}

TEST(ReplayStack, KeepsAllThatItWasTold) {
  ReplayStack<int> stack;
  for (int i = 0; i < 1'000; ++i) {
    stack.push(i);
    stack.fix();
  }
  auto never_asked = [](int, std::int64_t) -> int { throw Error("made again"); };
  for (int i = 999; i >= 0; --i) {
    EXPECT_EQ(*stack.top(never_asked), i);
    stack.pop();
  }
  EXPECT_EQ(stack.top(never_asked), nullptr);
}

}  // namespace
}  // namespace reprise::chain
