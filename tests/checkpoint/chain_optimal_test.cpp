// SPDX-License-Identifier: Apache-2.0
// The families that claim to be optimal, against brute force on all small cases and the closed form on large ones.
#include <gtest/gtest.h>

#include "base/random.h"
#include "checkpoint/binomial.h"
#include "checkpoint/chain_brute_force.h"
#include "reprise/chain.h"

namespace reprise::chain {
namespace {

double judged_cost(const Schedule& schedule) {
  Verdict verdict = judge(schedule);
  EXPECT_TRUE(verdict.ok) << verdict.why;
  return verdict.measured.cost;
}

TEST(ChainRevolve, EqualsBruteForceOnAllSmallChains) {
  for (std::int64_t steps = 1; steps <= 8; ++steps)
    for (std::int64_t slots = 1; slots <= steps; ++slots) {
      Schedule schedule = revolve(steps, slots);
      EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost())
          << steps << " steps, " << slots << " slots";
    }
}

TEST(ChainRevolve, TenStepsInThreeSlotsTakeFifteenAdvances) {
  EXPECT_EQ(revolve_advances(10, 3), 15);
  EXPECT_EQ(judge(revolve(10, 3)).measured.advances, 15);
}

TEST(ChainRevolve, AMillionStepsInFiftySlotsTakeWhatTheClosedFormSays) {
  // C(54, 4) < 10^6 <= C(55, 5), so r = 5 and t = 5 * 10^6 - C(55, 51) = 5,000,000 - 341,055.
  EXPECT_EQ(revolve_advances(1'000'000, 50), 4'658'945);
  Verdict verdict = judge(revolve(1'000'000, 50));
  EXPECT_TRUE(verdict.ok) << verdict.why;
  EXPECT_EQ(verdict.measured.advances, 4'658'945);
}

// t(n,s) straight from its definition, min over k of k + t(k,s) + t(n-k,s-1), and the fewest saves that go with it.
struct Least {
  std::int64_t advances, saves;
  auto operator<=>(const Least&) const = default;
};
std::vector<std::vector<Least>> least_table(std::int64_t steps, std::int64_t slots) {
  constexpr std::int64_t never = std::int64_t{1} << 40;
  std::vector table(static_cast<std::size_t>(slots + 1),
                    std::vector<Least>(static_cast<std::size_t>(steps + 1), Least{0, 0}));
  for (std::size_t s = 0; s < table.size(); ++s)
    for (std::size_t n = 2; n < table[s].size(); ++n) {
      table[s][n] = {never, never};
      for (std::size_t k = 1; s > 0 && k < n; ++k) {
        const Least &right = table[s - 1][n - k], &left = table[s][k];
        table[s][n] = std::min(table[s][n], {static_cast<std::int64_t>(k) + right.advances + left.advances,
                                             1 + right.saves + left.saves - (k > 1 ? 1 : 0)});
      }
    }
  return table;
}

TEST(ChainRevolve, MakesTheFewestAdvancesAndThenTheFewestSaves) {
  auto table = least_table(150, 12);
  for (std::int64_t slots = 1; slots <= 12; ++slots)
    for (std::int64_t steps = 1; steps <= 150; ++steps) {
      const Least& least = table[static_cast<std::size_t>(slots)][static_cast<std::size_t>(steps)];
      Forecast forecast = revolve(steps, slots).forecast();
      ASSERT_EQ(forecast.advances, least.advances) << steps << " steps, " << slots << " slots";
      ASSERT_EQ(forecast.stores[0].writes, least.saves) << steps << " steps, " << slots << " slots";
    }
}

TEST(ChainRevolve, ClosedFormIsTheTextbooksForLargeRandomChains) {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::int64_t slots = random.between(2, 200), steps = random.between(2, 1'000'000'000);
    std::int64_t r = repetitions(steps, slots);
    ASSERT_GE(beta(slots, r, steps), steps);
    ASSERT_LT(beta(slots, r - 1, steps), steps);
    constexpr std::int64_t limit = std::int64_t{1} << 62;
    EXPECT_EQ(revolve_advances(steps, slots), r * steps - beta(slots + 1, r - 1, limit)) << steps << " " << slots;
  }
}

TEST(ChainWeighted, EqualsBruteForceWhenSizesAreEqualWhateverTheCosts) {
  Random random(3);
  for (int i = 0; i < 150; ++i) {
    auto steps = static_cast<std::size_t>(random.between(1, 7));
    Weighted request{.step_costs = std::vector<double>(steps),
                     .sizes = std::vector<std::int64_t>(steps, 10),
                     .capacity = random.between(1, 5) * 10 + random.between(0, 9)};
    for (double& cost : request.step_costs) cost = static_cast<double>(random.between(0, 20));
    Schedule schedule = weighted(request);
    EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost()) << "case " << i;
  }
}

TEST(ChainWeighted, EqualsBruteForceOverPersistentSchedulesWhenSizesDiffer) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    auto steps = static_cast<std::size_t>(random.between(2, 7));
    Weighted request{.step_costs = std::vector<double>(steps), .sizes = std::vector<std::int64_t>(steps)};
    for (double& cost : request.step_costs) cost = static_cast<double>(random.between(0, 20));
    for (std::int64_t& size : request.sizes) size = random.between(0, 9);
    request.capacity = request.sizes[0] + random.between(0, 15);
    Schedule schedule = weighted(request);
    EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain(), true).least_cost()) << "case " << i;
  }
}

TEST(ChainWeighted, IsNotTheLeastOfAllWhenGivingAStateUpEarlyPays) {
  // The documented limit: here a schedule that drops a state and saves it again later costs 38.
  Weighted request{.step_costs = {2, 4, 9, 4, 4, 5}, .sizes = {2, 2, 3, 5, 1, 1}, .capacity = 5};
  Schedule schedule = weighted(request);
  EXPECT_EQ(judged_cost(schedule), 40);
  EXPECT_EQ(BruteForce(schedule.chain()).least_cost(), 38);
}

TEST(ChainWeighted, RoundsSizesUpPastItsLevelsAndStaysWithinCapacity) {
  Random random(8);
  for (int i = 0; i < 50; ++i) {
    auto steps = static_cast<std::size_t>(random.between(2, 30));
    Weighted request{.step_costs = std::vector<double>(steps, 1),
                     .sizes = std::vector<std::int64_t>(steps),
                     .capacity = 1'000'000'007,
                     .levels = 64};
    for (std::int64_t& size : request.sizes) size = random.between(1, 300'000'000);
    Schedule schedule = weighted(request);
    EXPECT_GE(judged_cost(schedule), static_cast<double>(steps - 1)) << "case " << i;
    request.levels = 1024;
    EXPECT_LE(weighted(request).forecast().cost, schedule.forecast().cost) << "case " << i;
  }
}

TEST(ChainWeighted, EqualsRevolveWhenAllIsEqual) {
  for (std::int64_t slots = 1; slots <= 6; ++slots) {
    Weighted request{
        .step_costs = std::vector<double>(40, 1), .sizes = std::vector<std::int64_t>(40, 8), .capacity = 8 * slots};
    EXPECT_EQ(weighted(request).forecast().advances, revolve_advances(40, slots));
  }
}

TEST(ChainMixed, EqualsBruteForceOnAllSmallChainsAndSizes) {
  for (std::int64_t steps = 1; steps <= 6; ++steps)
    for (std::int64_t state = 1; state <= 3; ++state)
      for (std::int64_t data = 1; data <= 3; ++data)
        for (std::int64_t capacity = state; capacity <= 8; ++capacity) {
          Schedule schedule = mixed({.steps = steps, .capacity = capacity, .state_size = state, .data_size = data});
          EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost())
              << steps << " steps, capacity " << capacity << ", sizes " << state << " and " << data;
        }
}

TEST(ChainMixed, FollowsMaddisonsRecursionForEqualSizes) {
  // One slot: n(n+1)/2 - 1 runs; n - 1 slots or more: n.
  for (std::int64_t steps = 2; steps <= 60; ++steps) {
    EXPECT_EQ(mixed({.steps = steps, .capacity = 1}).forecast().cost, static_cast<double>(steps * (steps + 1) / 2 - 1));
    EXPECT_EQ(mixed({.steps = steps, .capacity = steps - 1}).forecast().cost, static_cast<double>(steps));
    EXPECT_LE(mixed({.steps = steps, .capacity = 5}).forecast().cost,
              static_cast<double>(revolve_advances(steps, 5) + steps));
  }
}

TEST(ChainHierarchical, EqualsBruteForceWhenTheFirstStoreIsFree) {
  Random random(5);
  for (int i = 0; i < 120; ++i) {
    std::vector<Store> stores = {{.name = "memory", .capacity = random.between(1, 3)}};
    for (std::int64_t k = random.between(1, 2); k > 0; --k)
      stores.push_back({.name = "disk",
                        .capacity = random.between(0, 7),
                        .write_cost = stores.back().write_cost + static_cast<double>(random.between(0, 4)),
                        .read_cost = stores.back().read_cost + static_cast<double>(random.between(0, 4))});
    Schedule schedule = hierarchical(random.between(1, stores.size() == 2 ? 7 : 5), stores);
    EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost()) << "case " << i;
  }
}

TEST(ChainHierarchical, EqualsBruteForceForOneStoreOfAnyCost) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    Store store{.name = "disk",
                .capacity = random.between(1, 7),
                .write_cost = static_cast<double>(random.between(0, 5)),
                .read_cost = static_cast<double>(random.between(0, 5))};
    Schedule schedule = hierarchical(random.between(1, 7), {store});
    EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost()) << "case " << i;
  }
}

TEST(ChainHierarchical, EqualsBruteForceForTwoStoresThatBothCost) {
  Random random(9);
  for (int i = 0; i < 100; ++i) {
    Store fast{.name = "memory",
               .capacity = random.between(1, 3),
               .write_cost = static_cast<double>(random.between(0, 2)),
               .read_cost = static_cast<double>(random.between(0, 2))};
    Store slow{.name = "disk",
               .capacity = random.between(0, 7),
               .write_cost = fast.write_cost + static_cast<double>(random.between(0, 4)),
               .read_cost = fast.read_cost + static_cast<double>(random.between(0, 4))};
    Schedule schedule = hierarchical(random.between(1, 7), {fast, slow});
    EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost()) << "case " << i;
  }
}

TEST(ChainDiskRevolve, IsNeverDearerThanPeriodicOrMultistageWithTheSameStores) {
  for (std::int64_t steps : {10, 57, 300}) {
    double least = judged_cost(disk_revolve(steps, 4, 3, 2));
    EXPECT_LE(least, judged_cost(periodic({.steps = steps, .slots = 4, .write_cost = 3, .read_cost = 2})));
    EXPECT_LE(least, judged_cost(multistage(steps, {{"memory", 4}, {"disk", 10, 3, 2}})));
    EXPECT_LE(least, static_cast<double>(revolve_advances(steps, 4)));
  }
}

TEST(ChainDiskRevolve, EqualsBruteForceOnAllSmallChains) {
  for (std::int64_t steps = 1; steps <= 7; ++steps)
    for (std::int64_t slots = 1; slots <= 3; ++slots)
      for (double cost : {0.0, 1.0, 2.0, 3.0, 5.0}) {
        Schedule schedule = disk_revolve(steps, slots, cost, cost / 2);
        EXPECT_EQ(judged_cost(schedule), BruteForce(schedule.chain()).least_cost())
            << steps << " " << slots << " " << cost;
      }
}

}  // namespace
}  // namespace reprise::chain
