// SPDX-License-Identifier: Apache-2.0
// From a graph to a planning problem: sizes, costs, edges, and what may share memory.
#pragma once

#include <functional>

#include "compile/disk.h"
#include "reprise/graph.h"
#include "reprise/plan.h"

namespace reprise {

/// Offsets in the arena are multiples of this, and so are all sizes in the problem.
constexpr std::int64_t arena_alignment = 64;

/// What one run of a node takes: seconds, by a model of the machine or by measurement, and scratch memory.
struct NodeFacts {
  double seconds = 0;
  std::int64_t scratch_bytes = 0;
};
using FactsOf = std::function<NodeFacts(std::int32_t node)>;

/// Node i of the graph is node i of the problem, and its outputs are that node's values. Inputs and constants are
/// pinned. Updates must be in place already (with_updates_in_place). Values hinted to be recomputed are not kept
/// from the forward to the backward part, which output 0, the loss, parts. Where there is a disk, values may move
/// there, but for those hinted to be kept or recomputed.
Problem problem_of(const Graph& graph, const FactsOf& facts, const std::optional<DiskTimes>& disk = {});

}  // namespace reprise
