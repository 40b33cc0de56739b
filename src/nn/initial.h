// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters.
#pragma once

#include "reprise/parameter.h"

namespace reprise::nn {

/// Uniform in [-limit, limit].
Tensor uniform(const Shape& shape, double limit, Seed seed);
/// Normal with mean 0.
Tensor normal(const Shape& shape, double deviation, Seed seed);
/// The same into an f32 tensor that is there.
void fill_normal(const Tensor& place, double deviation, Seed seed);

/// Throws Error unless every size is positive.
void expect_positive(std::string_view who, std::initializer_list<std::int64_t> sizes);

}  // namespace reprise::nn
