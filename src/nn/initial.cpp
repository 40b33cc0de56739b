// SPDX-License-Identifier: Apache-2.0
#include "nn/initial.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"

namespace reprise::nn {
namespace {

thread_local Seed upcoming_seed = 1;

}  // namespace

// Far apart, so that a layer can derive further seeds from its own by adding to it.
Seed next_seed() { return upcoming_seed += 1'000; }
void set_seed(Seed seed) { upcoming_seed = seed; }

Tensor uniform(const Shape& shape, double limit, Seed seed) {
  Random random(seed);
  Tensor t = Tensor::empty({DType::f32, shape});
  for (float& x : t.span<float>()) x = static_cast<float>(random.uniform(-limit, limit));
  return t;
}

Tensor normal(const Shape& shape, double deviation, Seed seed) {
  Tensor t = Tensor::empty({DType::f32, shape});
  fill_normal(t, deviation, seed);
  return t;
}

// Box & Muller 1958.
void fill_normal(const Tensor& place, double deviation, Seed seed) {
  Random random(seed);
  for (float& x : place.span<float>())
    x = static_cast<float>(deviation * std::sqrt(-2 * std::log(1 - random.uniform(0, 1))) *
                           std::cos(2 * std::numbers::pi * random.uniform(0, 1)));
}

void expect_positive(std::string_view who, std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t size : sizes)
    if (size <= 0) fail("[{}] a size is {}: all sizes must be positive", who, size);
}

}  // namespace reprise::nn
