// SPDX-License-Identifier: Apache-2.0
// What a recipe names: its data, and a model that suits them.
#pragma once

#include "reprise/trainer.h"

namespace reprise {

/// The samples, in the shape the model takes.
data::Dataset load_data(const Recipe& recipe);

/// The model for these samples, with optimizer, rate and frozen parameters as the recipe says, but no schedule. An
/// Error where the samples are not what it takes.
BuiltInModel model_for(const Recipe& recipe, const data::Dataset& data);

}  // namespace reprise
