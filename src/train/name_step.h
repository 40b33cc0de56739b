// SPDX-License-Identifier: Apache-2.0
// Names for what a step records, so that plans and reports speak of layers: "blocks.3.mlp.up" and its ".grad", not
// "linear.57".
#pragma once

#include "train/record_step.h"

namespace reprise {

/// Names parameters as the model does, a node that reads one after its layer, and every other node after its op.
void name_forward(Graph& graph, const StepParts& step);
/// The nodes from `first` on make or use gradients: those without a name get one that ends with ".grad".
void name_backward(Graph& graph, std::int32_t first);
/// Names the batch ("batch.0") and what the optimizer keeps ("optimizer.NAME.0").
void name_states(Graph& graph, const StepParts& step);

}  // namespace reprise
