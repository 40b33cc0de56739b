// SPDX-License-Identifier: Apache-2.0
// Runs the chosen solvers one after the other and keeps the best schedule, by the judge's word, whose layout fits. When
// a layout does not fit although its schedule does, the searches go on with as much less as is lost between lives.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "plan/place.h"
#include "plan/solver.h"

namespace reprise::plan {

/// Copies share the schedule.
struct Judged {
  SharedSchedule schedule;
  Verdict verdict;
  std::string solver;
};

struct Planned {
  Judged judged;
  Placed placed;
};

/// Gives a plan the layout, and the order that goes with it.
void move_to(const Problem& problem, Placed placed, Planned& plan);

/// Finds the layout of a schedule, or of one with the same runs in another order; up to `budget` it fits.
struct Placer {
  std::function<Placed(const Schedule& schedule)> place;
  std::function<Placed(const Schedule& schedule)> place_quickly;
  std::int64_t budget = 0;
};

class Portfolio {
 public:
  Portfolio(const Problem& problem, const PlanOptions& options, Placer placer, const Deadline& deadline);
  /// Runs every chosen solver, or until the deadline is over or the best costs no more than `enough()`. If the budget
  /// is proved too small, only those that seek the lowest peak. They go on from `start`, if there is one.
  void run(const Model& model, const Certificate& certificate, SharedSchedule start,
           const std::function<double()>& enough);
  /// Whether a second thread has nothing else to do by now.
  std::function<bool()> has_free_core = [] { return true; };
  /// Called whenever something better is found.
  std::function<void(std::string_view solver)> improved;
  /// What solvers have proved, for every order: the least cost within the budget, and the least budget that does.
  double proved_cost() const { return proved_cost_; }
  std::int64_t proved_budget() const { return proved_budget_; }
  /// The cheapest that fits with its layout, if any does.
  const std::optional<Planned>& best() const { return best_; }
  std::optional<Planned> take_best() { return std::exchange(best_, std::nullopt); }
  const Judged& lowest() const { return lowest_; }
  /// Whether some schedule within the budget had no layout that was.
  bool has_refused_a_layout() const { return failed_peak_ != none; }
  const Judged& base() const { return base_; }
  /// Judges a schedule and keeps it if it is better than the candidate so far.
  void offer(const Solver& solver, SharedSchedule schedule);

 private:
  struct Round {
    const Model& model;
    const Certificate& certificate;
    const std::function<double()>& enough;
    const Deadline& deadline;
    int number;
    bool is_hasty = false;
  };
  void take_start(SharedSchedule start);
  void run_round(const Round& round);
  void find_first(const Round& round);
  void run_solver(const Solver& solver, const Round& round);
  void settle();
  void sample(const Solver& solver, SharedSchedule schedule);
  void adopt(const Judged& judged, Placed placed);
  void lower_target(std::int64_t lost);
  void raise_target();
  bool is_timed() const;
  bool is_chosen(const Solver& solver) const;
  bool may_settle_early() const {
    return is_timed() && !(is_decisive_ && best_) && deadline_.seconds() >= next_settling_;
  }
  // Where orders decide, a layout that does not fit is sought again, after other random choices.
  bool is_tried_again() const { return is_decisive_ && failures_ % 3 != 0; }
  bool is_stale() const { return target_ < aim_; }
  double placed_cost() const { return best_ ? best_->judged.verdict.cost : forbidden; }
  bool fits_aim() const { return candidate_.verdict.peak <= aim_; }
  bool is_enough(double enough) const { return best_ && best_->judged.verdict.cost <= std::max(enough, proved_cost_); }

  static constexpr std::int64_t none = -1;
  const Problem& problem_;
  const PlanOptions& options_;
  PlanOptions told_;  // to the solver that runs: the same for another budget
  Placer placer_;
  const Deadline& deadline_;
  bool is_decisive_ = false;         // orders decide, and there is a time limit
  std::int64_t target_;              // the budget that the next solver is told
  std::int64_t aim_;                 // and the one that the solver that runs was told
  std::int64_t failed_peak_ = none;  // of the last schedule whose layout did not fit
  int failures_ = 0;                 // of layouts, since the last that fitted
  double next_settling_ = 0;         // seconds
  Judged base_, candidate_, lowest_;
  Judged placed_;            // the candidate that became the best, in the order it had
  bool is_settled_ = false;  // a layout of the candidate was sought
  std::optional<Planned> best_;
  std::optional<Planned> nearest_;  // of the samples whose layouts did not fit, the one with the lowest
  SharedSchedule refused_;          // the last whose layout did not fit
  double proved_cost_ = 0;
  std::int64_t proved_budget_ = 0;
};

}  // namespace reprise::plan
