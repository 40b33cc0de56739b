// SPDX-License-Identifier: Apache-2.0
// Runs the algorithms on one group of lifetimes and keeps the lowest placement.
#pragma once

#include <string>

#include "memory/instance.h"
#include "memory/work.h"

namespace reprise::memory {

struct Goal {
  std::int64_t height = 0;   // stop at or below it
  bool is_capacity = false;  // nothing lower is of interest
};

struct GroupResult {
  Placement placement;  // of the group's rows
  std::int64_t height = 0;
  std::string algorithm;
  std::int64_t refuted = -1;  // no placement of this height or lower exists
};

GroupResult solve_group(std::span<const Lifetime> lifetimes, std::span<const Row> rows, const Instance& instance,
                        const Goal& goal, std::uint64_t seed, Work& work);

}  // namespace reprise::memory
