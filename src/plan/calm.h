// SPDX-License-Identifier: Apache-2.0
// Moves runs about so that less is in memory at busy moments: what is less tight is easier to place.
#pragma once

#include <limits>

#include "plan/model.h"
#include "reprise/plan.h"

namespace reprise::plan {

struct CalmLimits {
  std::int64_t budget = 0;  // moments are busy when nearly so much is in memory
  std::int64_t iterations = std::numeric_limits<std::int64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 1;
};

/// A schedule that costs no more and peaks no higher than the one given, which consists of runs and drops alone.
Schedule calm(const Problem& problem, const Model& model, const Schedule& schedule, const CalmLimits& limits);

}  // namespace reprise::plan
