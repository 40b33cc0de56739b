// SPDX-License-Identifier: Apache-2.0
// Which checkpoints to keep when there is no room for all.
#include "reprise/activation_checkpointer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "checkpoint/refuse.h"

namespace reprise::detail {
namespace {

using Positions = std::vector<std::int64_t>;

// The fewest candidates that leave no replay longer than `longest`: always jump as far as allowed. Those between two
// kept positions are replayed, and so are those after the last, to the end. Empty-handed: none do.
std::optional<Positions> within(std::span<const std::int64_t> candidates, std::int64_t length, std::int64_t longest) {
  Positions chosen;
  std::int64_t at = -1;  // the input
  while (length - 1 - at > longest) {
    auto next = std::ranges::upper_bound(candidates, at + longest + 1);
    if (next == candidates.begin() || *std::prev(next) <= at) return std::nullopt;
    chosen.push_back(at = *std::prev(next));
  }
  return chosen;
}

// A place that remains free is worth taking: the earliest candidates that were not chosen.
Positions filled_up(Positions chosen, std::span<const std::int64_t> candidates, std::size_t most) {
  Positions result = chosen;
  for (std::int64_t candidate : candidates) {
    if (result.size() == most) break;
    if (!std::ranges::binary_search(chosen, candidate)) result.push_back(candidate);
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace

void check_config(const CheckpointConfig& config) {
  if (config.checkpoint_every_n_layers < 0)
    refuse<BadRequest>("[checkpointer] checkpoint_every_n_layers is {}: it is positive, or 0 for never",
                       config.checkpoint_every_n_layers);
  if (config.max_checkpoints < 1)
    refuse<BadRequest>("[checkpointer] max_checkpoints is {}: it must be at least 1", config.max_checkpoints);
  if (config.precision < Precision::f32 || config.precision > Precision::int8)
    refuse<BadRequest>("[checkpointer] there is no precision number {}: give one of f32, f16, bf16 and int8",
                       static_cast<int>(config.precision));
  if (config.use_mixed_precision && config.precision != Precision::f32 && config.precision != Precision::f16)
    refuse<BadRequest>(
        "[checkpointer] use_mixed_precision stands for f16, and precision asks for {}: give one of the two",
        config.precision == Precision::bf16 ? "bf16" : "int8");
  if (config.int8_block < 1)
    refuse<BadRequest>("[checkpointer] int8_block is {}: a block has at least 1 element", config.int8_block);
}

EncodingOptions encoding_of(const CheckpointConfig& config) {
  auto encoding = [&] {
    switch (config.precision) {
      case Precision::f32: return config.use_mixed_precision ? Encoding::f16 : Encoding::plain;
      case Precision::f16: return Encoding::f16;
      case Precision::bf16: return Encoding::bf16;
      case Precision::int8: return Encoding::int8;
    }
    fail("[internal] no such precision");
  };
  return {.encoding = encoding(), .int8_block = config.int8_block};
}

Positions choose_positions(std::span<const std::int64_t> candidates, std::int64_t length, std::int64_t most) {
  if (std::ssize(candidates) <= most) return {candidates.begin(), candidates.end()};
  std::int64_t low = 0, high = length;  // the longest replay; `high` is always possible
  while (low < high) {
    std::int64_t middle = low + (high - low) / 2;
    auto chosen = within(candidates, length, middle);
    if (chosen && std::ssize(*chosen) <= most)
      high = middle;
    else
      low = middle + 1;
  }
  return filled_up(*within(candidates, length, high), candidates, static_cast<std::size_t>(most));
}

std::int64_t cheapest_to_lose(std::span<const std::int64_t> kept, std::int64_t spared,
                              std::optional<std::int64_t> begin, std::int64_t end) {
  std::int64_t best = kept.front();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = begin ? 0 : 1; i < kept.size(); ++i) {
    if (kept[i] == spared) continue;
    auto before = static_cast<double>(kept[i] - (i == 0 ? *begin : kept[i - 1]));
    auto after = static_cast<double>((i + 1 < kept.size() ? kept[i + 1] : end) - kept[i]);
    if (before * after < least) least = before * after, best = kept[i];
  }
  return best;
}

}  // namespace reprise::detail
