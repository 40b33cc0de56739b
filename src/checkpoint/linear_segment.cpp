// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "checkpoint/refuse.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/recomputable.h"

namespace reprise {
namespace {

std::int64_t product(std::int64_t in, std::int64_t out) {
  if (in < 1 || out < 1)
    refuse<BadRequest>("[linear segment] from {} to {} elements: give at least 1 of each", in, out);
  constexpr std::int64_t most = std::int64_t{1} << 40;  // 4 TiB of weights
  if (in > most / out)
    refuse<BadRequest>("[linear segment] from {} to {} elements: give sizes whose product is at most {}", in, out,
                       most);
  return in * out;
}

void check_length(const char* what, std::int64_t expected, const std::vector<float>& x) {
  if (std::ssize(x) == expected) return;
  throw DimensionMismatch(fmt::format("[linear segment] {} elements as {}: give {}", x.size(), what, expected),
                          expected, std::ssize(x));
}

}  // namespace

LinearSegment::LinearSegment(std::vector<float> weights, std::int64_t in, std::int64_t out)
    : weights_(std::move(weights)), in_(in), out_(out) {
  check_length("weights, which are out times in", product(in, out), weights_);
}

LinearSegment LinearSegment::random_init(std::int64_t in, std::int64_t out, std::uint64_t seed) {
  std::vector<float> weights(static_cast<std::size_t>(product(in, out)));
  auto limit = static_cast<float>(std::sqrt(6.0 / static_cast<double>(in + out)));
  for (float& w : weights) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    float u = static_cast<float>(seed >> 32) / static_cast<float>(0xffffffffu);
    w = u * 2.0f * limit - limit;
  }
  return {std::move(weights), in, out};
}

std::vector<float> LinearSegment::forward(const Input& x) const {
  check_length("input", in_, x);
  std::vector<float> y(static_cast<std::size_t>(out_));
  const float* row = weights_.data();
  for (float& sum : y)
    for (float element : x) sum += *row++ * element;
  return y;
}

std::pair<std::vector<float>, std::vector<float>> LinearSegment::vjp(const Input& x, const Output& dy) const {
  check_length("input", in_, x);
  check_length("output gradient", out_, dy);
  std::vector<float> dx(x.size()), dw;
  dw.reserve(weights_.size());
  const float* row = weights_.data();
  for (float gradient : dy)
    for (std::size_t j = 0; j < x.size(); ++j) {
      dx[j] += *row++ * gradient;
      dw.push_back(gradient * x[j]);
    }
  return {std::move(dx), std::move(dw)};
}

}  // namespace reprise
