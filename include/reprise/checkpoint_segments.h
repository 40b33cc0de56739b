// SPDX-License-Identifier: Apache-2.0
// Which nodes of a recorded tape are dropped and recomputed, by ranges of node ids. These names have a namespace of
// their own, since the checkpointer of activations has a CheckpointConfig too.
#pragma once

#include <cstdint>
#include <vector>

#include "reprise/export.h"

namespace reprise::tape {

/// Nodes whose values are dropped and recomputed; both ends belong to it.
struct CheckpointSegment {
  std::int64_t start_node = 0;
  std::int64_t end_node = 0;

  friend bool operator==(const CheckpointSegment&, const CheckpointSegment&) = default;
};

struct REPRISE_API CheckpointConfig {
  std::vector<CheckpointSegment> segments;

  /// `count` segments of ⌊nodes/count⌋ nodes, the last with the rest; one per node where count > nodes; none where
  /// either is 0.
  static CheckpointConfig uniform(std::int64_t nodes, std::int64_t count);
  /// Whether a node is inside a segment. Throws where a segment starts after its end or before node 0.
  bool should_checkpoint(std::int64_t node) const;

  friend bool operator==(const CheckpointConfig&, const CheckpointConfig&) = default;
};

/// For each of `nodes` nodes, whether it is recomputed. Throws where a segment is not within them, or starts after its
/// end.
REPRISE_API std::vector<bool> plan_recomputation(std::int64_t nodes, const CheckpointConfig& config);

}  // namespace reprise::tape
