// SPDX-License-Identifier: Apache-2.0
// Every period-th state in the second store, revolve inside each segment: for runs of known and of unknown length.
#pragma once

#include "checkpoint/revolve.h"

namespace reprise::chain {

struct TwoLevel {
  static constexpr bool needs_data = false;
  std::int64_t period, slots;

  Move move(const View& view) const {
    if (view.at % period == 0 && view.length() > period) return {1, view.at + period};
    return revolve_move(view, slots);
  }
  /// The first state of a segment moves to the first store, where revolve reads it as often as it needs.
  bool release(const View& view) const { return view.top->store == 1; }
  std::int64_t slot(std::int64_t, const Saved& saved) const { return saved.filled - 1; }
};

Chain two_level_chain(std::int64_t steps, const TwoLevel& policy, double write_cost, double read_cost);

}  // namespace reprise::chain
