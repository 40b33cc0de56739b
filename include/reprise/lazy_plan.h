// SPDX-License-Identifier: Apache-2.0
// What evaluating a whole graph takes, known from its types before anything runs: levels of nodes that do not depend on
// each other, what can be freed after each, and the peak. run() does exactly that, and its measured peak is the planned
// one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reprise/graph.h"

namespace reprise {

struct NodeEstimate {
  std::int64_t bytes = 0;          // of its outputs; 0 for views
  std::int64_t scratch_bytes = 0;  // while it runs
  double flops = 0;
};

struct REPRISE_API EvaluationPlan {
  std::shared_ptr<const Graph> graph;
  std::vector<std::vector<std::int32_t>> levels;  // nodes that run, by the length of the longest way to them
  std::vector<std::vector<std::int32_t>>
      freeable;                         // after each level: nodes, inputs among them, that nobody reads later
  std::vector<NodeEstimate> estimates;  // per node of the graph
  std::int64_t input_bytes = 0;         // inputs and constants, held to the end
  std::int64_t peak_bytes = 0;          // the most held at once, inputs included
  double total_flops = 0;

  /// Outputs are never freeable, and inputs are counted though they are the caller's.
  bool can_fit_in_memory(std::int64_t bytes) const { return peak_bytes <= bytes; }
  std::string summary() const;
};

REPRISE_API EvaluationPlan plan_evaluation(const Graph& graph);

/// Runs the plan; nodes of a level on several threads where that pays. The bits do not depend on `threads`.
REPRISE_API std::vector<Tensor> run(const EvaluationPlan& plan, std::span<const Tensor> inputs, int threads = 1);

}  // namespace reprise
