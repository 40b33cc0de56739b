// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// The same computation in double precision: every f32 becomes an f64, inputs and constants included. Says what
/// rounding did to a result.
Graph in_double_precision(const Graph& graph);

}  // namespace reprise
