// SPDX-License-Identifier: Apache-2.0
// Convolutions.
#include <cmath>

#include "base/error.h"
#include "nn/initial.h"
#include "reprise/nn.h"

namespace reprise::nn {
namespace {

struct Initial {
  Parameter weight, bias;
};

// A weight of [first, second, kernel...]; PyTorch counts second · kernel elements as the inputs of an element.
Initial initial(std::string_view who, std::int64_t first, std::int64_t second, std::int64_t out,
                const std::vector<std::int64_t>& kernel, Seed seed) {
  expect_positive(who, {first, second, out});
  Shape shape{first, second};
  for (std::int64_t size : kernel) {
    expect_positive(who, {size});
    shape.push_back(size);
  }
  double limit = std::sqrt(static_cast<double>(first) / static_cast<double>(shape.elements()));
  return {Parameter(uniform(shape, limit, seed)), Parameter(uniform({out}, limit, seed + 1))};
}

void expect_groups(std::string_view who, std::int64_t in, std::int64_t out, std::int64_t groups) {
  if (groups <= 0 || in % groups != 0 || out % groups != 0)
    fail("[{}] {} channels in and {} out cannot be parted into {} groups", who, in, out, groups);
}

}  // namespace

Conv::Conv(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel, ConvOptions how, bool with_bias,
           Seed seed)
    : options(std::move(how)), has_bias(with_bias) {
  expect_groups("Conv", in, out, options.groups);
  Initial start = initial("Conv", out, in / options.groups, out, kernel, seed);
  weight = start.weight;
  if (has_bias) bias = start.bias;
}

Value Conv::operator()(const Value& x) const {
  return has_bias ? conv(x, weight.in(x), bias.in(x), options) : conv(x, weight.in(x), options);
}

Fields Conv::fields() {
  return has_bias ? reprise::fields("weight", weight, "bias", bias) : reprise::fields("weight", weight);
}

ConvTranspose::ConvTranspose(std::int64_t in, std::int64_t out, const std::vector<std::int64_t>& kernel,
                             ConvTransposeOptions how, bool with_bias, Seed seed)
    : options(std::move(how)), has_bias(with_bias) {
  expect_groups("ConvTranspose", in, out, options.groups);
  Initial start = initial("ConvTranspose", in, out / options.groups, out, kernel, seed);
  weight = start.weight;
  if (has_bias) bias = start.bias;
}

Value ConvTranspose::operator()(const Value& x) const {
  return has_bias ? conv_transpose(x, weight.in(x), bias.in(x), options) : conv_transpose(x, weight.in(x), options);
}

Fields ConvTranspose::fields() {
  return has_bias ? reprise::fields("weight", weight, "bias", bias) : reprise::fields("weight", weight);
}

}  // namespace reprise::nn
