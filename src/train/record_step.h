// SPDX-License-Identifier: Apache-2.0
// A training step as one graph: loss, gradients and updates.
#pragma once

#include "reprise/train.h"

namespace reprise {

/// A parameter with what the optimizer keeps for it.
struct Trained {
  std::string name;
  nn::Parameter parameter;
  std::vector<nn::Parameter> states;
};

/// What a step is made of besides the batch.
struct StepParts {
  Function loss;
  optim::Rule rule;
  std::vector<Trained> trained;
  nn::Parameter rate{Type{DType::f64, {}}, 0, false};
  nn::Parameter steps{Type{DType::i64, {}}, 0, false};
};

/// The graph of one step on a batch of these types in `parts` parts; its output is the loss, its updates change
/// parameters and state.
Graph record_step(const StepParts& step, const StepOptions& options, int parts, std::span<const Type> batch);

}  // namespace reprise
