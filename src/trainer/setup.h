// SPDX-License-Identifier: Apache-2.0
// What a recipe names: its data, and a model that suits them.
#pragma once

#include <span>

#include "reprise/onnx.h"
#include "reprise/trainer.h"

namespace reprise {

/// Samples. Where a model takes several tensors beside the last, x is all of these one after another, as bytes.
struct Samples : data::Dataset {
  std::vector<std::pair<std::string, Type>> parts = {};  // of x, by the model's names; none: x is one tensor
};
/// Copies sample i's x, as such bytes, to its places in the tensors of a batch.
void place_parts(const void* x, std::span<const Tensor> batch, std::int64_t i);

/// The bytes of a budget, which an ONNX file is read within; the usual ones where it is a share of what is not known
/// yet.
std::int64_t known_bytes(const TrainerOptions& options);

/// The samples, in the shape the model takes.
Samples load_data(const Recipe& recipe, std::int64_t budget);

/// The model for these samples, with optimizer, rate and frozen parameters as the recipe says, but no schedule. An
/// Error where the samples are not what it takes.
BuiltInModel model_for(const Recipe& recipe, const Samples& data, std::int64_t budget);

/// What is held beside the step's arena: an ONNX file's masks, bounds and the like, and literals of another program.
std::int64_t constant_bytes(const BuiltInModel& model, const TrainStep& step, const Graph& other = {});

/// Notes which ONNX file the recipe means; an Error where it is not the one noted before.
void check_fingerprint(Recipe& recipe);

/// How to search for a plan, in so many seconds at most where it goes by time.
PlanOptions planning_of(const TrainerOptions& options, double most_seconds);

}  // namespace reprise
