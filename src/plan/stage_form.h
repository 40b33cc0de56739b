// SPDX-License-Identifier: Apache-2.0
// Schedules as timelines hold them: what is brought back in which stage.
#pragma once

#include <optional>

#include "plan/timeline.h"
#include "reprise/plan.h"

namespace reprise::plan {

/// What a schedule brings back, if its first runs are in the model's order. What is made twice in a stage is made once.
std::optional<Items> items_of(const Model& model, const Schedule& schedule);

/// Brings back all of that, but for what cannot be, and leaves nothing to undo.
void fill(Timeline& timeline, const Items& items);

}  // namespace reprise::plan
