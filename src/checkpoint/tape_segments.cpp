// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checkpoint/refuse.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/checkpoint_segments.h"

namespace reprise::tape {
namespace {

void check(const CheckpointSegment& segment) {
  if (segment.start_node < 0 || segment.start_node > segment.end_node)
    refuse<BadRequest>(
        "[segments] {} to {} is no range of nodes: it starts at 0 or later and ends where it starts or later",
        segment.start_node, segment.end_node);
}

}  // namespace

CheckpointConfig CheckpointConfig::uniform(std::int64_t nodes, std::int64_t count) {
  if (nodes < 0 || count < 0)
    refuse<BadRequest>("[segments] {} segments of {} nodes: counts are not negative", count, nodes);
  count = std::min(count, nodes);
  CheckpointConfig config;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t size = nodes / count;
    config.segments.push_back({i * size, i + 1 < count ? (i + 1) * size - 1 : nodes - 1});
  }
  return config;
}

bool CheckpointConfig::should_checkpoint(std::int64_t node) const {
  std::ranges::for_each(segments, check);
  return std::ranges::any_of(segments, [&](const auto& s) { return s.start_node <= node && node <= s.end_node; });
}

std::vector<bool> plan_recomputation(std::int64_t nodes, const CheckpointConfig& config) {
  if (nodes < 0) refuse<BadRequest>("[segments] {} nodes: a count is not negative", nodes);
  std::vector<bool> recomputed(static_cast<std::size_t>(nodes));
  for (const CheckpointSegment& segment : config.segments) {
    check(segment);
    if (segment.end_node >= nodes) throw IndexOutOfBounds("segments", segment.end_node, nodes);
    std::fill(recomputed.begin() + segment.start_node, recomputed.begin() + segment.end_node + 1, true);
  }
  return recomputed;
}

}  // namespace reprise::tape
