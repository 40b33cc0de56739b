// SPDX-License-Identifier: Apache-2.0
// What the constructive solvers share: dropping a set of values at one moment of the base order, and keeping the best
// of many schedules.
#pragma once

#include <optional>

#include "plan/solver.h"

namespace reprise::plan {

/// The base order, in which the values marked in `dropped` are dropped right after node `moment` first ran (none if
/// that is -1). A dropped value is made again, with whatever of its inputs is gone, when it is next read, or while
/// what it is made from is still to be had. Values that cannot be made again at all are kept.
Schedule drop_and_recompute(const Problem& problem, int moment, const std::vector<char>& dropped);

/// The cheapest schedule within the budget and the one with the lowest peak.
class Best {
 public:
  explicit Best(const Attempt& attempt) : problem_(attempt.problem), budget_(attempt.options.budget) {}
  /// A schedule that is not valid is left out: builders of schedules may try what the problem's facts forbid.
  void offer(Schedule schedule);
  /// The lowest, then the cheapest, each if there is one; both are gone then.
  std::vector<Schedule> take();

 private:
  const Problem& problem_;
  std::int64_t budget_;
  std::optional<Schedule> lowest_, cheapest_;
  Verdict lowest_verdict_, cheapest_verdict_;
};

}  // namespace reprise::plan
