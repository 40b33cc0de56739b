// SPDX-License-Identifier: Apache-2.0
// A program: a planned and laid-out graph as a flat list of instructions over offsets in one arena. Plain data.
#pragma once

#include "reprise/graph.h"
#include "reprise/plan.h"

namespace reprise {

/// Some of a program's offsets, one after another.
struct OffsetRange {
  std::int32_t first = 0, count = 0;
};

/// What values in the file that they move to begin and end at multiples of.
constexpr std::int64_t page_size = 4096;

struct Instruction {
  enum class Kind : std::uint8_t { run, drop, page_out, page_in };
  Kind kind = Kind::run;
  bool again = false;      // a recomputation; of a page_out, the file holds the value already
  std::int32_t node = -1;  // of the graph: what runs, or whose value is dropped or moved
  OffsetRange inputs;
  OffsetRange outputs;       // for a drop or page_out, that of the memory that is free now
  std::int64_t scratch = 0;  // offset
  std::int64_t scratch_bytes = 0;
  std::int64_t bytes = 0;  // of new memory that a run or page_in fills, or that a drop or page_out frees
  std::int64_t page = -1;  // offset in the file
};

struct Program {
  Graph graph;
  std::int64_t arena_bytes = 0;
  std::int64_t pinned_bytes = 0;
  std::int64_t page_bytes = 0;  // of the file that values move to
  std::vector<Instruction> instructions;
  std::vector<std::int64_t> offsets;  // of all instructions; there are tens of thousands, so they share one vector
  std::vector<std::int64_t> pinned;   // offset of each input and constant of the graph, by node; -1 for other nodes
  std::vector<std::int64_t> outputs;  // offsets of the graph's outputs

  std::span<const std::int64_t> at(OffsetRange r) const {
    return {offsets.data() + r.first, static_cast<std::size_t>(r.count)};
  }
};

/// Node i of the problem must be node i of the graph (problem_of), and the layout that of the schedule.
Program link(Graph graph, const Problem& problem, const Schedule& schedule, std::span<const Placement> layout);

}  // namespace reprise
