// SPDX-License-Identifier: Apache-2.0
// Every solver on every kind of problem.
#include <gtest/gtest.h>

#include "plan/generators.h"
#include "plan/solver.h"
#include "plan/test_factor.h"

namespace reprise::plan {
namespace {

using generators::kinds;
using generators::random_problem;

// Hands every schedule of one solver to the judge; returns the least peak, and the least cost within the budget.
struct Tried {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::optional<double> cost;
};

Tried attempt(const Solver& solver, const Problem& p, const PlanOptions& options, const Model& model,
              const Certificate& certificate) {
  Tried tried;
  Schedule base = keep_all(p);
  Verdict base_verdict = validate(p, base);
  Deadline deadline(options);
  auto judge = [&](const SharedSchedule& schedule) {
    Verdict verdict = validate(p, *schedule);
    EXPECT_TRUE(verdict) << solver.name << ": " << verdict.why;
    tried.lowest = std::min(tried.lowest, verdict.peak);
    if (verdict.peak <= options.budget && (!tried.cost || verdict.cost < *tried.cost)) tried.cost = verdict.cost;
  };
  Attempt attempt{p, options, deadline, model, certificate, base, base_verdict, judge, [] { return 0.0; }};
  for (const Schedule& schedule : solver.solve(attempt)) judge(std::make_shared<const Schedule>(schedule));
  return tried;
}

TEST(EverySolver, PassesTheJudgeAndRespectsTheBound) {
  for (std::uint64_t seed = 1; seed <= problem_count(2000); ++seed) {
    int nodes = 4 + static_cast<int>(seed * 7 % 29);
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = nodes, .with_facts = seed % 4 == 0});
    PlanOptions options{.budget = generators::random_budget(p, seed), .iterations = 100};
    Model model = make_model(p);
    Certificate certificate = prove(model, options.budget, [] { return false; });
    double bound = model.base_cost + certificate.any_order.extra;
    for (const Solver& solver : all_solvers()) {
      Tried tried = attempt(solver, p, options, model, certificate);
      if (tried.cost) {
        EXPECT_GE(*tried.cost * (1 + 1e-9), bound) << solver.name << ", seed " << seed;
      }
      EXPECT_GE(tried.lowest, certificate.least_budget) << solver.name << ", seed " << seed;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(EverySolver, TogetherSolveWhatAnyOfThemSolves) {
  for (std::uint64_t seed = 1; seed <= problem_count(100); ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed, {.nodes = 4 + static_cast<int>(seed % 16)});
    std::int64_t budget = generators::random_budget(p, seed);
    PlanResult together = solve(p, {.budget = budget, .iterations = 200});
    for (std::string_view name : solver_names()) {
      PlanResult alone = solve(p, {.budget = budget, .solvers = {std::string(name)}, .iterations = 200});
      if (!alone.feasible) {
        EXPECT_LE(alone.min_budget_bound, together.min_budget) << name << " rules out what is found, seed " << seed;
        continue;
      }
      ASSERT_TRUE(together.feasible) << name << ", seed " << seed;
      EXPECT_GE(alone.cost * (1 + 1e-9), together.lower_bound_any_order) << name << ", seed " << seed;
    }
  }
}

TEST(EverySolver, NeedsAtLeastTheSmallestBudgetThatIsNamed) {
  for (std::uint64_t seed = 1; seed <= problem_count(12); ++seed) {
    Problem p = random_problem(kinds[seed % 5], seed,
                               {.nodes = 8 + static_cast<int>(seed * 7 % 14), .with_facts = seed % 2 == 0});
    std::int64_t smallest = solve(p, {.budget = 0}).min_budget;
    for (int percent : {100, 110}) {
      for (const char* name : {"", "ruin_and_recreate", "order_search", "exact"}) {
        PlanOptions options{.budget = smallest * percent / 100};
        if (*name) options.solvers = {name};
        PlanResult result = solve(p, options);
        EXPECT_TRUE(result || *name) << "seed " << seed;
        EXPECT_TRUE(!result || result.layout_bytes >= smallest) << name << ", seed " << seed;
      }
    }
  }
}

// As many steps forward and back, of equal sizes and costs.
Problem uniform_chain(int length) {
  Problem p;
  std::vector<ValueRef> made{p.add({"x0", 1, 1})};
  for (int k = 1; k < length; ++k) made.push_back(p.add({"x" + std::to_string(k), 1, 1}, {made.back()}));
  ValueRef gradient = made.back();
  for (int k = length - 1; k-- > 0;)
    gradient = p.add({"g" + std::to_string(k), 0, 1}, {gradient, made[static_cast<std::size_t>(k)]});
  p.output(gradient);
  return p;
}

TEST(Segments, NeedAboutTheSquareRootOfAChain) {
  PlanResult result = solve(uniform_chain(100), {.budget = 24, .solvers = {"segments"}});
  ASSERT_TRUE(result) << result.why();
  EXPECT_LE(result.overhead(), 0.5);
}

// All but the last segment run again if everything inside of them is dropped, however much room there is.
TEST(Segments, KeepWhatThereIsRoomFor) {
  PlanResult result = solve(uniform_chain(6000), {.budget = 5400, .solvers = {"segments"}});
  ASSERT_TRUE(result) << result.why();
  EXPECT_LE(result.overhead(), 0.06);  // a tenth of all steps, one half of which are forward, must run again
}

}  // namespace
}  // namespace reprise::plan
