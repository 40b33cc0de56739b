// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "checkpoint/refuse.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/checkpoint_strategy.h"

namespace reprise {
namespace {

std::int64_t integer_sqrt(std::int64_t n) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (root > 0 && root > n / root) --root;
  while (root + 1 <= n / (root + 1)) ++root;
  return root;
}

}  // namespace

CheckpointBudget::CheckpointBudget(std::int64_t max_bytes) : max_bytes_(max_bytes) {
  if (max_bytes < 0) refuse<BadRequest>("[budget] {} bytes: a budget is not negative", max_bytes);
}

double CheckpointBudget::utilization() const {
  return max_bytes_ == 0 ? 0 : static_cast<double>(used_bytes_) / static_cast<double>(max_bytes_);
}

void CheckpointBudget::allocate(std::int64_t bytes) {
  if (bytes < 0) refuse<BadRequest>("[budget] cannot allocate {} bytes: sizes are not negative", bytes);
  if (!can_allocate(bytes)) throw BudgetExceeded(bytes, remaining());
  used_bytes_ += bytes;
}

void CheckpointBudget::free(std::int64_t bytes) {
  if (bytes < 0) refuse<BadRequest>("[budget] cannot free {} bytes: sizes are not negative", bytes);
  used_bytes_ = std::max<std::int64_t>(0, used_bytes_ - bytes);
}

CheckpointStrategy CheckpointStrategy::every_nth(std::int64_t n) {
  if (n < 0) refuse<BadRequest>("[strategy] every {}th layer: the interval is positive, or 0 for never", n);
  return {Kind::nth, n};
}

std::vector<std::int64_t> CheckpointStrategy::select_layers(std::int64_t total) const {
  if (total < 0) refuse<BadRequest>("[strategy] {} layers: a count is not negative", total);
  std::int64_t most = kind_ == Kind::sqrt ? std::max<std::int64_t>(1, integer_sqrt(total)) : total;
  std::int64_t step = kind_ == Kind::sqrt ? total / most : n_;
  std::vector<std::int64_t> layers;
  if (step == 0) return layers;
  for (std::int64_t i = 0; i < most && i <= (total - 1) / step; ++i) layers.push_back(i * step);
  return layers;
}

}  // namespace reprise
