// SPDX-License-Identifier: Apache-2.0
// Runs the chosen solvers one after the other and keeps the best schedule by the judge's word.
#pragma once

#include <optional>
#include <string>

#include "plan/solver.h"

namespace reprise::plan {

struct Judged {
  Schedule schedule;
  Verdict verdict;
  std::string solver;
};

class Portfolio {
 public:
  Portfolio(const Problem& problem, const PlanOptions& options, const Deadline& deadline);
  /// Runs every chosen solver, or until the deadline is over or the best costs no more than `enough()`. If the budget
  /// is proved too small, only those that seek the lowest peak.
  void run(const Model& model, const Certificate& certificate, const std::function<double()>& enough);
  /// Called whenever the best changes.
  std::function<void(std::string_view solver)> improved;
  /// What solvers have proved, for every order: the least cost within the budget, and the least budget that does.
  double proved_cost() const { return proved_cost_; }
  std::int64_t proved_budget() const { return proved_budget_; }
  /// The cheapest within the budget; if nothing fits, the one with the lowest peak.
  const Judged& best() const { return best_; }
  const Judged& lowest() const { return lowest_; }
  bool is_feasible() const { return best_.verdict.peak <= options_.budget; }
  /// Judges a schedule and keeps it if it is better than the best so far.
  void offer(const Solver& solver, const Schedule& schedule);

 private:
  void take_start(const Schedule& start);

  const Problem& problem_;
  const PlanOptions& options_;
  const Deadline& deadline_;
  Judged best_, lowest_;
  double proved_cost_ = 0;
  std::int64_t proved_budget_ = 0;
};

}  // namespace reprise::plan
