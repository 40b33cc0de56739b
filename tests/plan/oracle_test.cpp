// SPDX-License-Identifier: Apache-2.0
// The judge and the exact solver against slow twins that share nothing with them.
#include <gtest/gtest.h>

#include "plan/generators.h"
#include "plan/oracle.h"
#include "plan/test_factor.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace {

using generators::kinds;
using generators::random_problem;

TEST(Validate, AgreesWithASimulatorOfLifetimes) {
  for (std::uint64_t seed = 1; seed <= problem_count(4000); ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = 3 + static_cast<int>(seed % 12)});
    Random random(seed);
    std::vector<int> runs = generators::random_runs(p, random);
    oracle::Simulated expected = oracle::simulate(p, runs);
    // A value that was dropped and is not made again before it is read makes the sequence no schedule; here none is.
    Verdict verdict = validate(p, with_drops(p, runs));
    ASSERT_TRUE(verdict) << verdict.why << ", seed " << seed;
    ASSERT_EQ(verdict.peak, expected.peak) << "seed " << seed;
    ASSERT_DOUBLE_EQ(verdict.cost, expected.cost) << "seed " << seed;
  }
}

// Every sequence of up to `longest` runs whose first runs come after their inputs': least cost for each budget.
class AllSequences {
 public:
  AllSequences(const Problem& p, std::size_t longest) : p_(p), longest_(longest) { extend(0); }

  std::optional<double> least_cost(std::int64_t budget) const {
    std::optional<double> least;
    for (const auto& [peak, cost] : found_) {
      if (peak <= budget && (!least || cost < *least)) least = cost;
    }
    return least;
  }

 private:
  void extend(unsigned ran) {
    if (ran + 1 == 1u << p_.node_count()) {
      oracle::Simulated result = oracle::simulate(p_, runs_);
      auto [known, is_new] = found_.try_emplace(result.peak, result.cost);
      if (!is_new) known->second = std::min(known->second, result.cost);
    }
    if (runs_.size() == longest_) return;
    for (int n = 0; n < p_.node_count(); ++n) {
      bool has_inputs = true;
      for (int input : p_.inputs(n)) has_inputs &= (ran >> p_.value(input).node) & 1;
      if (!has_inputs) continue;
      runs_.push_back(n);
      extend(ran | 1u << n);
      runs_.pop_back();
    }
  }

  const Problem& p_;
  std::size_t longest_;
  std::vector<int> runs_;
  std::map<std::int64_t, double> found_;
};

TEST(Exact, EqualsTheBestOfAllSequences) {
  for (std::uint64_t seed = 1; seed <= problem_count(250); ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = 3 + static_cast<int>(seed % 2)});
    std::size_t longest = 7;
    AllSequences all(p, longest);
    for (int percent : {40, 60, 75, 90, 100}) {
      std::int64_t budget = peak(p, keep_all(p)) * percent / 100;
      PlanResult exact = solve(p, {.budget = budget, .solvers = {"exact"}});
      std::optional<double> expected = all.least_cost(budget);
      if (expected) {
        ASSERT_TRUE(exact.feasible) << "seed " << seed << " " << percent << " %";
      }
      if (expected) {
        ASSERT_LE(exact.cost, *expected) << "seed " << seed << " " << percent << " %";
      }
      auto is_run = [](Step step) { return step.kind == Step::Kind::run; };
      bool is_short = std::count_if(exact.schedule.steps.begin(), exact.schedule.steps.end(), is_run) <=
                      static_cast<std::ptrdiff_t>(longest);
      if (exact.feasible && is_short) {
        ASSERT_EQ(exact.cost, expected.value()) << "seed " << seed;
      }
    }
  }
}

TEST(Exact, EqualsTheShortestPathOverAllSteps) {
  std::uint64_t feasible = 0;
  for (std::uint64_t seed = 1; seed <= problem_count(2000); ++seed) {
    int nodes = 4 + static_cast<int>(seed % 4);
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = nodes, .with_facts = seed % 3 == 0 && nodes < 6});
    std::int64_t budget = generators::random_budget(p, seed, 0.55);
    std::optional<double> expected = oracle::least_cost(p, budget);
    PlanResult exact = solve(p, {.budget = budget, .solvers = {"exact"}});
    ASSERT_EQ(exact.feasible, expected.has_value()) << "seed " << seed << ": " << exact.why();
    if (expected) {
      ASSERT_EQ(exact.cost, *expected) << "seed " << seed;
    }
    feasible += exact.feasible;
  }
  EXPECT_GT(feasible, problem_count(500));
}

// A search that ends early, even in the middle of the ways from a state, must not call its result proved.
TEST(Exact, ProvesNothingThatItDidNotSearchThrough) {
  std::uint64_t feasible = 0;
  for (std::uint64_t seed = 1; seed <= problem_count(600); ++seed) {
    int nodes = 4 + static_cast<int>(seed % 4);
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = nodes, .with_facts = seed % 3 == 0 && nodes < 6});
    std::int64_t budget = generators::random_budget(p, seed, 0.55);
    std::optional<double> expected = oracle::least_cost(p, budget);
    for (std::int64_t iterations : {0, 1, 2, 3, 4, 6, 8, 12, 20}) {
      PlanResult exact = solve(p, {.budget = budget, .solvers = {"exact"}, .iterations = iterations});
      ASSERT_TRUE(!expected || exact.min_budget_bound <= budget) << "seed " << seed;
      if (expected && exact.feasible) {
        ASSERT_LE(exact.lower_bound_any_order, *expected * (1 + 1e-9)) << "seed " << seed;
      }
    }
    feasible += expected.has_value();
  }
  EXPECT_GT(feasible, problem_count(100));
}

// Its base is needed as long as it is, whatever may run again.
TEST(Exact, CountsTheBaseOfAViewThatRunsOnce) {
  Problem p;
  ValueRef base = p.add({"base", 10, 1}), view = p.add({"view", 10, 1}, {base});
  p.view(view, base);
  p.never_recompute(view);
  p.output(view);
  p.add({"large", 10, 1});
  PlanResult nothing = solve(p, {.budget = 1, .solvers = {"exact"}});
  EXPECT_EQ(nothing.min_budget, 10);  // the large one first
  PlanResult result = solve(p, {.budget = 10, .solvers = {"exact"}});
  ASSERT_TRUE(result) << result.why();
  EXPECT_EQ(result.cost, 3);
}

TEST(Exact, FindsTheSmallestBudgetToTheByte) {
  for (std::uint64_t seed = 1; seed <= problem_count(300); ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = 5});
    PlanResult nothing = solve(p, {.budget = 0, .solvers = {"exact"}});
    if (nothing.feasible) continue;
    EXPECT_TRUE(oracle::least_cost(p, nothing.min_budget)) << "seed " << seed;
    EXPECT_FALSE(oracle::least_cost(p, nothing.min_budget - 1)) << "seed " << seed;
  }
}

// Fourteen nodes of which one can be paged out, some have several outputs and one is a view: more states than a search
// gets through that does not see what must still run.
TEST(Exact, SettlesWhatNoOtherSearchFinds) {
  Problem p = problem_from_json(R"({"nodes": [
    {"name": "n0", "cost": 2.5, "bytes": 67, "inputs": []},
    {"name": "n1", "cost": 0, "bytes": 57, "inputs": ["n0"], "paging": {"out_cost": 0.3, "in_cost": 0.3}},
    {"name": "n2", "cost": 0, "bytes": 26, "inputs": ["n1", "n0"]},
    {"name": "n3", "cost": 0, "bytes": [18, 5], "inputs": ["n0"]},
    {"name": "n4", "cost": 2.5, "bytes": [100, 22], "inputs": ["n3:1"]},
    {"name": "n5", "cost": 1, "bytes": 71, "inputs": ["n4:1", "n3"]},
    {"name": "n6", "cost": 7, "bytes": 97, "inputs": ["n0", "n3", "n4:1"]},
    {"name": "n7", "cost": 0, "bytes": [78, 47], "inputs": ["n3", "n1", "n4:1"], "scratch": 31},
    {"name": "n8", "cost": 0, "bytes": 19, "inputs": ["n2"], "view_of": "n2"},
    {"name": "n9", "cost": 1, "bytes": 52, "inputs": ["n4:1"]},
    {"name": "n10", "cost": 0, "bytes": 93, "inputs": ["n1", "n9", "n4:1"], "never_recompute": true},
    {"name": "n11", "cost": 1, "bytes": [34, 67], "inputs": ["n0"], "scratch": 10},
    {"name": "n12", "cost": 0, "bytes": 60, "inputs": ["n5"]},
    {"name": "n13", "cost": 7, "bytes": 72, "inputs": ["n7:1", "n4", "n11"], "never_recompute": true}],
    "outputs": ["n6"], "resident_bytes": 13})");
  PlanResult nothing = solve(p, {.budget = 1});
  EXPECT_EQ(nothing.min_budget, 266);
  EXPECT_EQ(nothing.min_budget_bound, 266);
  PlanResult result = solve(p, {.budget = 279});
  ASSERT_TRUE(result) << result.why();
  EXPECT_EQ(result.cost, 32);
  EXPECT_EQ(result.lower_bound, 32);
}

}  // namespace
}  // namespace reprise
