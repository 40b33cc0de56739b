// SPDX-License-Identifier: Apache-2.0
// Joins the parts: the portfolio searches, the bound proves, the result tells.
#pragma once

#include <algorithm>
#include <atomic>

#include "plan/portfolio.h"

namespace reprise::plan {

// The cost below which nothing can be found, as far as is known while the search runs. Written by one thread and read
// by another.
class SharedBound {
 public:
  void raise_to(double cost) {
    if (cost > cost_.load()) cost_.store(cost);
  }
  double cost() const { return cost_.load(); }

 private:
  std::atomic<double> cost_ = 0;
};

/// One search for a budget, with the proof that goes with it.
class Solving {
 public:
  /// The search goes on from `start`, if it is not null.
  Solving(const Problem& problem, PlanOptions options, SharedSchedule start, Placer placer);

  void run();
  /// The same plan without a proof of how good it is, which takes most of the time of short searches.
  void run_without_raising();
  /// The proof alone; nothing is searched for.
  void prove_first_bound();
  /// More of it, which takes longer.
  void raise_bound();
  /// The search alone, after the proof.
  void search();
  /// What every schedule within the budget costs at least, in whatever order, as far as is proved.
  double least_cost() const { return std::max(proved_.cost(), portfolio_.proved_cost()); }
  /// Whether the bound says that other orders than the base order do with much less.
  bool is_decided_by_order() const;
  /// The cheapest plan found whose layout fits.
  const std::optional<Planned>& best() const { return portfolio_.best(); }
  /// The same, when the search is over; there is none afterwards.
  std::optional<Planned> take_best() { return portfolio_.take_best(); }
  const Judged& lowest() const { return portfolio_.lowest(); }
  bool has_refused_a_layout() const { return portfolio_.has_refused_a_layout(); }
  /// All there is to say but for the layout, with this plan, which fits the budget, or with none if it is null.
  PlanResult result(const Planned* plan) const;

 private:
  double enough() const { return proved_.cost() * (1 + options_.gap) * (1 + 1e-12); }
  void tell(std::string_view solver) const;
  void raise_then_search(bool is_hopeless);
  void search_beside_raising();
  void raise_bound_until(double seconds);
  void tell_bounds(const Schedule& schedule, PlanResult& result) const;

  const Problem& problem_;
  SharedSchedule start_;  // until the search begins
  PlanOptions options_;
  Deadline deadline_;
  Model model_;
  Portfolio portfolio_;
  Certificate certificate_, raised_;
  SharedBound proved_;
  std::atomic<bool> is_done_ = false, is_raised_ = false;  // the search, the bound
};

/// Whether the first runs of the schedule are in base order.
bool is_base_order(const Problem& problem, const Schedule& schedule);

}  // namespace reprise::plan
