// SPDX-License-Identifier: Apache-2.0
// What a model gives in double precision: says what rounding did to its f32 results. Node by node and without a limit.
#pragma once

#include <span>
#include <vector>

#include "reprise/models.h"

namespace reprise {

/// Results of a function of the batch in f64, from the parameters' values now.
std::vector<Tensor> run_exactly(const Function& f, std::span<const Tensor> batch);

/// Losses of so many steps on the batch in f64. The model itself stays as it is.
std::vector<double> exact_losses(const BuiltInModel& model, std::span<const Tensor> batch, int steps);

}  // namespace reprise
