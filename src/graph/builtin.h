// SPDX-License-Identifier: Apache-2.0
// The two ops that every graph has: inputs and constants. Neither runs: whoever evaluates provides their tensors.
#pragma once

#include "reprise/graph.h"

namespace reprise {

extern const Op input_op;     // attributes: shape, dtype
extern const Op constant_op;  // attribute: value (a tensor)

/// What a Recorder is told in place of a node where an op mixes values of its graph with those of another.
inline constexpr std::int32_t foreign_value = -1;

/// Whether a node is one of them: there from the start, never run.
inline bool is_given(const Node& node) { return node.op == &input_op || node.op == &constant_op; }

/// What a value's memory belongs to: views lead to what they show.
inline Ref owner(const Graph& graph, Ref r) {
  while (graph.node(r.node).op->view_of >= 0)
    r = graph.node(r.node).inputs[static_cast<std::size_t>(graph.node(r.node).op->view_of)];
  return r;
}

}  // namespace reprise
