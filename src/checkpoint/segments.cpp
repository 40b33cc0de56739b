// SPDX-License-Identifier: Apache-2.0
// Keep all, every n, uniform, sqrt: segments whose first states are kept and whose inside is run again, once, and kept
// whole when its turn to be reversed comes. Keeping all is one segment.
#include <algorithm>
#include <cmath>

#include "checkpoint/walker.h"

namespace reprise::chain {
namespace {

struct Segments {
  static constexpr bool needs_data = false;
  std::int64_t steps, interval;
  std::int64_t count;  // the last one ends with the chain, whatever its length

  std::int64_t begin(std::int64_t segment) const { return segment == count ? steps : segment * interval; }
  std::int64_t segment_of(std::int64_t step) const { return std::min(step / interval, count - 1); }

  Move move(const View& view) const {
    std::int64_t next = begin(segment_of(view.at) + 1);
    return {0, next < view.end ? next : view.at + 1};
  }
  bool release(const View&) const { return false; }

  /// While segment i is reversed the slots hold the i + 1 first states and the inside but its last state, which is in
  /// hand.
  std::int64_t slots() const {
    std::int64_t most = 0;
    for (std::int64_t i : {std::int64_t{0}, count - 2, count - 1}) {
      if (i < 0) continue;
      std::int64_t inside = begin(i + 1) - begin(i);
      most = std::max(most, inside >= 2 ? i + inside - 1 : i);
    }
    return most;
  }
};

Schedule segmented(std::int64_t steps, std::int64_t interval, std::int64_t count) {
  Segments policy{steps, interval, count};
  std::int64_t slots = steps == 0 ? 0 : policy.slots();
  return walk({.steps = steps, .stores = {{.name = "memory", .capacity = slots}}}, policy);
}

}  // namespace

Schedule keep_all(std::int64_t steps) {
  check_steps("keep_all", steps);
  return segmented(steps, std::max<std::int64_t>(steps, 1), 1);
}

Schedule every(std::int64_t steps, std::int64_t interval) {
  check_steps("every", steps);
  if (interval <= 0) refuse<BadRequest>("[chain] every: an interval of {}: give at least 1", interval);
  return segmented(steps, interval, std::max<std::int64_t>(steps / interval + (steps % interval != 0), 1));
}

Schedule uniform(std::int64_t steps, std::int64_t segments) {
  check_steps("uniform", steps);
  if (segments <= 0) refuse<BadRequest>("[chain] uniform: {} segments: give at least 1", segments);
  std::int64_t count = std::clamp<std::int64_t>(segments, 1, std::max<std::int64_t>(steps, 1));
  return segmented(steps, std::max<std::int64_t>(steps / count, 1), count);
}

Schedule sqrt(std::int64_t steps) {
  check_steps("sqrt", steps);
  return every(steps, std::max<std::int64_t>(std::llround(std::sqrt(static_cast<double>(steps))), 1));
}

}  // namespace reprise::chain
