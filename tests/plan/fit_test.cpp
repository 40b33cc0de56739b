// SPDX-License-Identifier: Apache-2.0
// Runs that are moved so that a layout fits.
#include "plan/fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "generators.h"
#include "plan/messages.h"

namespace reprise::plan {
namespace {

std::vector<int> runs_in(const Schedule& schedule) {
  std::vector<int> runs;
  for (Step step : schedule.steps) {
    if (step.kind == Step::Kind::run) runs.push_back(step.id);
  }
  std::sort(runs.begin(), runs.end());
  return runs;
}

struct Trial {
  Problem problem;
  Schedule schedule;
  Placed placed;
  std::int64_t peak = 0;

  std::optional<Fitted> fit(std::int64_t budget) const {
    return plan::fit(problem, make_model(problem), schedule, placed, {.budget = budget, .iterations = 20'000});
  }
};

// A schedule that makes some values again, with the worst of layouts: no two lives share a byte.
Trial trial(std::uint64_t seed) {
  Random random(seed);
  Problem p = generators::Generator(random, {.nodes = 40, .most_bytes = 1000}).make(generators::Kind::layered);
  std::int64_t whole = peak(p, keep_all(p));
  PlanResult result = solve(p, {.budget = whole * 9 / 10, .without = {"order_search"}, .iterations = 100});
  Schedule schedule = result ? result.schedule : keep_all(p);
  Placed placed{.offsets = {}, .bytes = p.resident_bytes()};
  for (const Placement& row : lives(p, schedule)) {
    placed.offsets.push_back(placed.bytes);
    placed.bytes += row.bytes;
  }
  std::int64_t top = peak(p, schedule);
  return {std::move(p), std::move(schedule), std::move(placed), top};
}

TEST(Fit, RefusesALayoutOfAnotherSchedule) {
  Trial t = trial(1), other = trial(1);
  other.schedule = keep_all(t.problem);
  ASSERT_NE(other.schedule, t.schedule);
  EXPECT_SAYS(other.fit(t.peak), "the offsets are those of another schedule");
}

TEST(Fit, MovesRunsUntilALayoutIsAboutAsLowAsThePeak) {
  int found = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Trial t = trial(seed);
    std::int64_t budget = t.peak + t.peak / 100;
    std::optional<Fitted> fitted = t.fit(budget);
    if (!fitted) continue;
    ++found;
    moved += fitted->schedule != t.schedule;
    Verdict verdict =
        validate(t.problem, fitted->schedule, layout_of(t.problem, fitted->schedule, fitted->placed.offsets), budget);
    EXPECT_TRUE(verdict) << verdict.why << ", seed " << seed;
    EXPECT_EQ(verdict.peak, fitted->placed.bytes);
    EXPECT_EQ(runs_in(fitted->schedule), runs_in(t.schedule)) << "seed " << seed;
  }
  EXPECT_GE(found, 8);
  EXPECT_GE(moved, 8);
}

TEST(Fit, FindsNothingBelowWhatANodeNeeds) {
  Trial t = trial(1);
  std::int64_t largest = 0;
  for (const Problem::Value& value : t.problem.values()) largest = std::max(largest, value.bytes);
  EXPECT_FALSE(t.fit(largest - 1));
  EXPECT_FALSE(t.fit(0));
}

TEST(Fit, LeavesAloneWhatHasMoreThanPlainValues) {
  Problem p;
  ValueRef a = p.add({"a", 8, 1.0}), b = p.add({"b", 8, 1.0}, {a});
  p.in_place(b, a);
  p.output(b);
  Schedule schedule = keep_all(p);
  EXPECT_FALSE(fit(p, make_model(p), schedule, place(p, schedule, {}), {.budget = 100, .iterations = 100}));
}

}  // namespace
}  // namespace reprise::plan
