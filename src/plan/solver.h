// SPDX-License-Identifier: Apache-2.0
// What a solver gets and returns, and the table of all solvers. One file per solver; nothing else knows its insides.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

#include "plan/certificate.h"
#include "plan/model.h"
#include "reprise/plan.h"

namespace reprise::plan {

/// Says when to stop: the time limit is over or the caller cancelled. Iteration limits are the solver's own business,
/// counted from PlanOptions::iterations, so that plans are the same on every machine when there is no time limit.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Deadline(const PlanOptions& options)
      : start_(Clock::now()), limit_(options.time_limit), cancel_(options.cancel) {}
  /// The same with less time: up to a share of the limit.
  Deadline at_share(double share) const {
    Deadline sooner = *this;
    sooner.limit_ *= share;
    return sooner;
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double limit() const { return limit_; }
  bool is_over() const { return cancel_.stop_requested() || seconds() >= limit_; }

 private:
  Clock::time_point start_;
  double limit_;
  std::stop_token cancel_;
};

/// Schedules are held by several at once, and those of long networks are large.
using SharedSchedule = std::shared_ptr<const Schedule>;

/// What a solver gets. `best` is the cheapest schedule within the budget found by the solvers before it; if there is
/// none yet, the one with the lowest peak. It may serve as a seed.
struct Attempt {
  const Problem& problem;
  const PlanOptions& options;
  const Deadline& deadline;
  const Model& model;              // the problem in base order, for solvers that like flat arrays
  const Certificate& certificate;  // bounds, prices and cuts of the moments that bind
  const Schedule& best;
  const Verdict& best_verdict;                 // the judge's, of `best`
  std::function<void(SharedSchedule)> report;  // tells of a better schedule early; judged at once, may be called often
  std::function<double()> enough;              // cost at which to stop: it is proved that less is not possible
  // The budget is too large: a layout within it was not found. Searches for orders stop and are told a smaller one.
  std::function<bool()> is_stale = [] { return false; };
  // A cheaper schedule than the best, a little over the budget: its layout did not fit. Null if there is none.
  const Schedule* refused = nullptr;
  // Seeks a layout, quickly, of a schedule that need not be cheaper than the best. Null if there is no time limit.
  std::function<void(SharedSchedule)> sample = {};
  std::function<double()> placed_cost = [] { return forbidden; };  // of the cheapest that has a layout
  bool is_hasty = false;  // anything within the budget will do, the sooner the better
  int round = 0;          // how often the solver was run before; it should then try something else
  int thread = 0;         // 1: a second search beside the first
  std::function<bool()> has_free_core = [] { return true; };  // no other thread is at work
  // Tells of a proof, for every order: no schedule within the budget costs less; none fits a smaller budget than that.
  std::function<void(double)> prove_cost = [](double) {};
  std::function<void(std::int64_t)> prove_budget = [](std::int64_t) {};

  /// A seed of its own for every round and thread.
  std::uint64_t seed() const { return options.seed + 1000 * static_cast<std::uint64_t>(round + 100 * thread); }
  /// Whether a second thread may search at the same time. Without a time limit plans must not depend on it.
  bool may_search_beside() const;
  /// The same for a search in a second thread: with other random choices, and telling nobody.
  Attempt beside() const;
  SharedSchedule written(std::span<const Event> events) const {
    return std::make_shared<const Schedule>(to_schedule(problem, model, events));
  }
  /// Iterations for a search whose iterations take time in proportion to the number of nodes.
  std::int64_t scaled_iterations() const;
  /// Whether a repair takes seconds, so that few are tried.
  bool is_large() const { return model.node_count() > 5000; }
  /// Extra cost at which a repair is given up: no plan should cost so much, or a far better one is known that costs
  /// `known` extra.
  double too_dear(double known) const;
  double too_dear() const;
  /// How much is over, in [0, 1], of the given share of the time that is left. 0 if there is no time limit.
  std::function<double()> clock(double share) const;
  /// Tells of better schedules as they come, in a small part of the time that passes: writes and reports one only if
  /// ten times as long has passed as the last took.
  std::function<void(const std::function<SharedSchedule()>& write)> seldom_report() const;
};

/// Returns schedules worth judging, best last, or none. They need not fit the budget, but must be valid otherwise; the
/// caller hands each to the judge and an invalid one is our bug.
/// A solver that does not apply to a problem (chain_dp to a non-chain, exact to a large one) returns none.
using Solve = std::vector<Schedule> (*)(const Attempt&);

struct Solver {
  std::string_view name;
  Solve solve;
  bool seeks_lowest_peak = false;  // whatever the budget: its peaks tell which budget would do
  bool searches_on = false;        // finds more when it is run again from what was found
};

/// All solvers, cheapest first: later ones can start from what earlier ones found.
std::span<const Solver> all_solvers();

std::vector<Schedule> solve_keep_all(const Attempt& attempt);
std::vector<Schedule> solve_segments(const Attempt& attempt);
std::vector<Schedule> solve_chain_dp(const Attempt& attempt);
std::vector<Schedule> solve_exact(const Attempt& attempt);
std::vector<Schedule> solve_min_cut(const Attempt& attempt);
std::vector<Schedule> solve_descend(const Attempt& attempt);
std::vector<Schedule> solve_ruin_and_recreate(const Attempt& attempt);
std::vector<Schedule> solve_order_search(const Attempt& attempt);

/// Hands over what least cuts at the moments that bind say, as schedules, until `take` says no.
void each_min_cut(const Attempt& attempt, const std::function<bool(SharedSchedule)>& take);

/// Hands over what the cheapest choices at the most binding moment say, as schedules, until `take` says no; most need
/// repair.
void each_cheap_cut(const Attempt& attempt, const std::function<bool()>& should_stop,
                    const std::function<bool(const Schedule&)>& take);

}  // namespace reprise::plan
