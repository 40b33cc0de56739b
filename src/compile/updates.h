// SPDX-License-Identifier: Apache-2.0
// State that a step changes is written in place, as early as nobody will read the old value again.
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// The graph with every update written over its state by the node that makes it (an `assign` where that node cannot),
/// and each such node moved to right after the last reader of the old value. Inputs and constants come first.
Graph with_updates_in_place(const Graph& graph);

}  // namespace reprise
