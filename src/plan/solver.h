// SPDX-License-Identifier: Apache-2.0
// What a solver gets and returns, and the table of all solvers. One file per solver; nothing else knows its insides.
#pragma once

#include <atomic>
#include <chrono>
#include <string_view>
#include <vector>

#include "reprise/plan.h"

namespace reprise::plan {

/// Says when to stop: the time limit is over or the caller cancelled. Iteration limits are the solver's own business,
/// counted from PlanOptions::iterations, so that plans are the same on every machine when there is no time limit.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(const PlanOptions& options)
      : start_(Clock::now()), limit_(options.time_limit), cancel_(options.cancel) {}
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool is_over() const { return cancel_.stop_requested() || seconds() >= limit_; }

 private:
  Clock::time_point start_;
  double limit_;
  std::stop_token cancel_;
};

/// What a solver gets. `best` is the cheapest schedule within the budget found by the solvers before it; if there is
/// none yet, the one with the lowest peak. It may serve as a seed.
struct Attempt {
  const Problem& problem;
  const PlanOptions& options;
  const Deadline& deadline;
  const Schedule& best;
  const Verdict& best_verdict;                  // the judge's, of `best`
  std::function<void(const Schedule&)> report;  // tells of a better schedule early; judged at once, may be called often
};

/// Returns schedules worth judging, best last, or none. They need not fit the budget: one with a low peak tells which
/// budget would do. They must be valid otherwise; the caller hands each to the judge and an invalid one is our bug.
/// A solver that does not apply to a problem (chain_dp to a non-chain, exact to a large one) returns none.
using Solve = std::vector<Schedule> (*)(const Attempt&);

struct Solver {
  std::string_view name;
  Solve solve;
};

/// All solvers, cheapest first: later ones can start from what earlier ones found.
std::span<const Solver> all_solvers();

std::vector<Schedule> solve_keep_all(const Attempt& attempt);

}  // namespace reprise::plan
