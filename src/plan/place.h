// SPDX-License-Identifier: Apache-2.0
// Finds the arena of a schedule: offsets for all its lives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reprise/plan.h"

namespace reprise::plan {

struct Placed {
  std::vector<std::int64_t> offsets;      // of the schedule's lives, in their order: a layout in a quarter of the room
  std::int64_t bytes = 0;                 // the arena and what is resident
  std::optional<Schedule> schedule = {};  // that was placed, if not the one given: the same runs in another order
};

struct PlaceOptions {
  std::int64_t alignment = 1;
  std::int64_t budget =
      std::numeric_limits<std::int64_t>::max();  // a layout within it will do; the lowest if unlimited
  double seconds = 0;                            // 0: no clock is read
};

/// A layout of the schedule, whether or not it fits the budget.
Placed place(const Problem& problem, const Schedule& schedule, const PlaceOptions& options);

/// The lives of a schedule, where they lie.
std::vector<Placement> layout_of(const Problem& problem, const Schedule& schedule,
                                 std::span<const std::int64_t> offsets);

}  // namespace reprise::plan
