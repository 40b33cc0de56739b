// SPDX-License-Identifier: Apache-2.0
// Runs that are moved so that less is in memory at busy moments.
#include "plan/calm.h"

#include <gtest/gtest.h>

#include "generators.h"
#include "plan/place.h"

namespace reprise::plan {
namespace {

TEST(Calm, LowersLayoutsWithoutCostingMoreOrPeakingHigher) {
  std::int64_t given = 0, calmed = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Problem p = generators::Generator(random, {.nodes = 40, .most_bytes = 1000}).make(generators::Kind::layered);
    PlanResult start = solve(p, {.budget = peak(p, keep_all(p)) * 9 / 10, .iterations = 100});
    Schedule schedule = start ? start.schedule : keep_all(p);
    Verdict before = validate(p, schedule);
    Schedule calmer = calm(p, make_model(p), schedule, {.budget = before.peak, .iterations = 10'000, .seed = seed});
    Verdict after = validate(p, calmer);
    ASSERT_TRUE(after) << after.why << ", seed " << seed;
    EXPECT_LE(after.cost, before.cost * (1 + 1e-12)) << "seed " << seed;
    EXPECT_LE(after.peak, before.peak) << "seed " << seed;
    given += place(p, schedule, {}).bytes - before.peak;
    calmed += place(p, calmer, {}).bytes - before.peak;
  }
  EXPECT_LT(calmed, given);
}

}  // namespace
}  // namespace reprise::plan
