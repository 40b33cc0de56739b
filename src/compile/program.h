// SPDX-License-Identifier: Apache-2.0
// A program: a planned and laid-out graph as a flat list of instructions over offsets in one arena. Plain data.
#pragma once

#include "reprise/graph.h"
#include "reprise/plan.h"

namespace reprise {

/// What values in the file that they move to begin and end at multiples of.
constexpr std::int64_t page_size = 4096;

/// There are tens of thousands, so each takes little room.
struct Instruction {
  enum class Kind : std::uint32_t { run, drop, page_out, page_in };
  Kind kind : 2 = Kind::run;
  bool again : 1 = false;          // a recomputation; of a page_out, the file holds the value already
  bool has_scratch : 1 = false;    // a run that needs some
  std::uint32_t outputs : 28 = 0;  // 1 for a drop, page_out or page_in: the memory that is free or filled then
  std::int32_t node = -1;          // of the graph: what runs, or whose value is dropped or moved
  std::int32_t first = 0;          // of its offsets: inputs, outputs, then that of its scratch or that in the file
  std::int32_t inputs = 0;
  std::int64_t bytes = 0;  // of new memory that a run or page_in fills, or that a drop or page_out frees
};

struct Program {
  Graph graph;
  std::int64_t arena_bytes = 0;
  std::int64_t pinned_bytes = 0;
  std::int64_t page_bytes = 0;  // of the file that values move to
  std::vector<Instruction> instructions;
  std::vector<std::int64_t> offsets;  // of all instructions
  std::vector<std::int64_t> pinned;   // offset of each input and constant of the graph, by node; -1 for other nodes
  std::vector<std::int64_t> scratch_bytes;  // by node
  std::vector<std::int64_t> outputs;        // offsets of the graph's outputs

  std::span<const std::int64_t> inputs_of(const Instruction& i) const {
    return {offsets.data() + i.first, static_cast<std::size_t>(i.inputs)};
  }
  std::span<const std::int64_t> outputs_of(const Instruction& i) const {
    return {offsets.data() + i.first + i.inputs, i.outputs};
  }
  std::int64_t scratch_of(const Instruction& i) const { return i.has_scratch ? after_outputs(i) : 0; }
  /// The offset in the file, of a page_out or page_in.
  std::int64_t page_of(const Instruction& i) const { return after_outputs(i); }

 private:
  std::int64_t after_outputs(const Instruction& i) const {
    return offsets[static_cast<std::size_t>(i.first + i.inputs) + i.outputs];
  }
};

/// Node i of the problem must be node i of the graph (problem_of), and the layout that of the schedule.
Program link(Graph graph, const Problem& problem, const Schedule& schedule, std::span<const Placement> layout);

}  // namespace reprise
