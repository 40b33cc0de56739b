// SPDX-License-Identifier: Apache-2.0
// Moves runs about, none added or left out, until a layout within the budget is found: the schedule gives way to its
// layout. Costs nothing, since the same nodes run as often as before.
#pragma once

#include <functional>
#include <optional>

#include "plan/model.h"
#include "plan/place.h"

namespace reprise::plan {

struct FitLimits {
  std::int64_t budget = 0;
  std::int64_t alignment = 1;  // of all sizes in the model, and so of the offsets
  std::int64_t iterations = 0;
  std::uint64_t seed = 1;
  std::function<bool()> should_stop = {};
};

struct Fitted {
  Schedule schedule = {};
  Placed placed = {};
};

/// Starts from a schedule and a layout of it that does not fit. Nothing if none was found within the limits, or if the
/// problem has more than plain values: views, pinned ones, memory that is taken over, compressed or paged.
std::optional<Fitted> fit(const Problem& problem, const Model& model, const Schedule& schedule, const Placed& placed,
                          const FitLimits& limits);

}  // namespace reprise::plan
