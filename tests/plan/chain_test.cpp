// SPDX-License-Identifier: Apache-2.0
// Chains: Revolve's closed form, and a program over sizes and steps that is written independently of the solver.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <tuple>

#include "base/random.h"
#include "plan/chain.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

// State 0 is given; step k makes state k from state k-1, for k < steps; back_k reads state k-1 and the gradient of k+1.
struct TrainingChain {
  std::vector<std::int64_t> state_bytes;     // of states 0 … steps-1
  std::vector<double> step_cost;             // [k]: of making state k; [0] is not used
  std::vector<std::int64_t> gradient_bytes;  // [k]: of what back_k makes, 1 … steps
  bool in_place = false;                     // a step may overwrite the state it reads

  int steps() const { return static_cast<int>(state_bytes.size()); }

  Problem problem() const {
    Problem p;
    std::vector<ValueRef> states{p.add({"x0", state_bytes[0], 0, 0, true})};
    for (std::size_t k = 1; k < state_bytes.size(); ++k) {
      states.push_back(p.add({"x" + std::to_string(k), state_bytes[k], step_cost[k]}, {states.back()}));
      if (in_place && k > 1) p.in_place(states.back(), states[k - 1]);
    }
    ValueRef gradient;
    for (int k = steps(); k >= 1; --k) {
      std::vector<ValueRef> inputs{states[static_cast<std::size_t>(k - 1)]};
      if (k < steps()) inputs.push_back(gradient);
      gradient = p.add({"g" + std::to_string(k), gradient_bytes[static_cast<std::size_t>(k)], 1}, inputs);
    }
    p.output(gradient);
    return p;
  }
};

TrainingChain uniform(int steps) {
  auto n = static_cast<std::size_t>(steps);
  return {std::vector<std::int64_t>(n, 1), std::vector<double>(n, 1), std::vector<std::int64_t>(n + 1, 0), true};
}

TrainingChain heterogeneous(int steps, std::uint64_t seed) {
  Random random(seed);
  TrainingChain chain;
  for (int k = 0; k < steps; ++k) chain.state_bytes.push_back(random.between(1, 9));
  for (int k = 0; k < steps; ++k) chain.step_cost.push_back(static_cast<double>(random.between(1, 9)));
  for (int k = 0; k <= steps; ++k) chain.gradient_bytes.push_back(random.between(0, 9));
  return chain;
}

std::int64_t binomial(std::int64_t n, std::int64_t k) {
  std::int64_t value = 1;
  for (std::int64_t i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return value;
}

// Steps that Revolve takes to reverse l steps with s snapshots, the given state among them (Griewank & Walther 2000).
std::int64_t revolve(std::int64_t l, std::int64_t s) {
  std::int64_t r = 0;
  while (binomial(s + r, s) < l) ++r;
  return r * l - binomial(s + r, s + 1);
}

TEST(Chain, EqualsRevolveOnUniformChains) {
  for (int steps : {2, 3, 5, 8, 12, 20, 33, 50}) {
    Problem p = uniform(steps).problem();
    for (int snapshots = 1; snapshots < steps && snapshots <= 12; ++snapshots) {
      // In memory: the snapshots, the state being advanced, and no gradients, which are of size 0.
      PlanResult result = solve(p, {.budget = snapshots + 1, .solvers = {"chain_dp"}});
      ASSERT_TRUE(result.feasible) << steps << " steps, " << snapshots << " snapshots: " << result.why();
      double advances = result.cost - steps;  // each backward step costs 1
      EXPECT_EQ(advances, static_cast<double>(revolve(steps, snapshots))) << steps << ", " << snapshots;
    }
  }
}

// Blocks that are alike share their fronts, so that none has to be left out.
TEST(Chain, EqualsRevolveOnAUniformChainOf512Blocks) {
  const int steps = 512;
  Problem p = uniform(steps).problem();
  for (int snapshots : {2, 3, 5, 9, 20}) {
    PlanResult result =
        solve(p, {.budget = snapshots + 1, .solvers = {"chain_dp"}, .gap = std::numeric_limits<double>::infinity()});
    ASSERT_TRUE(result.feasible) << snapshots << " snapshots: " << result.why();
    EXPECT_EQ(result.cost - steps, static_cast<double>(revolve(steps, snapshots))) << snapshots;
  }
}

// Opt(m, i, j): cost of reversing the steps after state i up to state j with m bytes, state i and the gradient that
// comes in among them, over all splits. O(M L³) in the worst case.
class SizeProgram {
 public:
  explicit SizeProgram(const TrainingChain& chain) : chain_(chain) {}

  double least_cost(std::int64_t budget) {
    double backward = chain_.steps();
    return solve(budget - chain_.state_bytes[0], 0, chain_.steps()) + backward;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  std::int64_t state(int i) const { return i == 0 ? 0 : chain_.state_bytes[static_cast<std::size_t>(i)]; }
  std::int64_t gradient(int k) const {
    return k > chain_.steps() ? 0 : chain_.gradient_bytes[static_cast<std::size_t>(k)];
  }

  double solve(std::int64_t m, int i, int j) {
    if (m < 0) return never;
    auto key = std::tuple(m, i, j);
    if (auto known = known_.find(key); known != known_.end()) return known->second;
    double best = never;
    if (j == i + 1) {
      best = m >= state(i) + gradient(j + 1) + gradient(j) ? 0 : never;
    } else {
      double advance = 0;
      for (int s = i + 1; s < j; ++s) {
        std::int64_t before = s - 1 == i ? 0 : state(s - 1);
        if (state(i) + before + state(s) + gradient(j + 1) > m) break;  // cannot come this far, nor farther
        advance += chain_.step_cost[static_cast<std::size_t>(s)];
        best = std::min(best, advance + solve(m - state(i), s, j) + solve(m, i, s));
      }
    }
    return known_[key] = best;
  }

  const TrainingChain& chain_;
  std::map<std::tuple<std::int64_t, int, int>, double> known_;
};

TEST(Chain, EqualsTheSizeProgramOnHeterogeneousChains) {
  int feasible = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    TrainingChain chain = heterogeneous(2 + static_cast<int>(seed % 13), seed);
    Problem p = chain.problem();
    SizeProgram program(chain);
    std::int64_t whole = peak(p, keep_all(p));
    for (std::int64_t budget = whole / 5; budget <= whole; budget += std::max<std::int64_t>(1, whole / 12)) {
      double expected = program.least_cost(budget);
      PlanResult result = solve(p, {.budget = budget, .solvers = {"chain_dp"}});
      ++compared;
      ASSERT_EQ(result.feasible, expected < 1e18) << "seed " << seed << " budget " << budget << " of " << whole;
      if (!result.feasible) continue;
      ++feasible;
      ASSERT_EQ(result.cost, expected) << "seed " << seed << " budget " << budget << " of " << whole;
    }
  }
  EXPECT_GT(feasible, compared / 3);
}

TEST(Chain, FindsABlockForEveryStep) {
  Problem p = heterogeneous(20, 1).problem();
  EXPECT_EQ(plan::find_chain(p, 96).blocks.size(), 20u);
  EXPECT_EQ(plan::find_chain(p, 7).blocks.size(), 7u);
}

// Each is nothing beside the peak, all of them together are most of it.
TEST(Chain, DoesNotHoldSmallValuesThatAreMany) {
  Problem p;
  constexpr int steps = 120;
  std::vector<ValueRef> states{p.add({"x0", 2000, 0, 0, true})}, small;
  ValueRef sum = p.add({"start", 1, 1});
  for (int k = 1; k <= steps; ++k) {
    small.push_back(p.add({"small" + std::to_string(k), 10, 1}, {states.back()}));
    states.push_back(p.add({"x" + std::to_string(k), 100, 1}, {states.back(), small.back()}));
  }
  p.add({"large", 40'000, 1}, {sum});
  ValueRef gradient = states.back();
  for (int k = steps; k >= 1; --k)
    gradient = p.add({"g" + std::to_string(k), 10, 1},
                     {gradient, states[static_cast<std::size_t>(k - 1)], small[static_cast<std::size_t>(k - 1)]});
  p.output(gradient);
  PlanResult result = solve(p, {.budget = 0, .solvers = {"chain_dp"}});
  EXPECT_LE(result.min_budget, 2000 + 40'000 + 400) << result.why();
}

TEST(Chain, IsNotSeenWhereThereIsNone) {
  Problem p;
  std::vector<ValueRef> inputs;
  for (int i = 0; i < 5; ++i) inputs.push_back(p.add({"n" + std::to_string(i), 10, 1}));
  p.output(p.add({"sum", 1, 1}, inputs));
  EXPECT_LT(plan::find_chain(p, 96).blocks.size(), 2u);
  EXPECT_FALSE(solve(p, {.budget = 40, .solvers = {"chain_dp"}}));
}

}  // namespace
}  // namespace reprise
