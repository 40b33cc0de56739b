// SPDX-License-Identifier: Apache-2.0
// Segments: once the program has left one, its values go, but for those that something outside reads. In the backward
// pass a segment's values come back together, and go again when the pass has left it.
#include <algorithm>

#include "base/error.h"
#include "execute/tape_state.h"

namespace reprise {

void TapeState::set_segments(const tape::CheckpointConfig& config) {
  auto wanted = config.segments;  // refused ones leave the tape as it was
  for (const auto& s : wanted)
    if (s.start_node > s.end_node || s.start_node < 0)
      throw TapeError(
          fmt::format("[tape] a segment from node {} to {}: it must start at 0 or later, and not after its end",
                      s.start_node, s.end_node));
  std::ranges::sort(wanted, {}, &tape::CheckpointSegment::start_node);
  for (std::size_t i = 1; i < wanted.size(); ++i)
    if (wanted[i].start_node <= wanted[i - 1].end_node)
      throw TapeError(fmt::format("[tape] segments {}..{} and {}..{} overlap", wanted[i - 1].start_node,
                                  wanted[i - 1].end_node, wanted[i].start_node, wanted[i].end_node));
  segments = std::move(wanted);
  leaves_segment.clear();
  if (segments.empty()) return;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(infos.size()); ++i) note_crossings(i);
  restart_segments();
}

// The first segment whose end has not been passed.
void TapeState::restart_segments() {
  auto is_passed = [&](const auto& s) { return s.end_node < static_cast<std::int64_t>(infos.size()) - 1; };
  open_segment = static_cast<std::size_t>(std::ranges::partition_point(segments, is_passed) - segments.begin());
}

const tape::CheckpointSegment* TapeState::segment_of(std::int32_t node) const {
  auto at = std::ranges::lower_bound(segments, node, {}, &tape::CheckpointSegment::end_node);
  return at != segments.end() && at->start_node <= node ? &*at : nullptr;
}

void TapeState::note_crossings(std::int32_t node) {
  leaves_segment.resize(std::max(leaves_segment.size(), static_cast<std::size_t>(node) + 1), false);
  const auto* own = segment_of(node);
  for (Ref r : graph->node(node).inputs) {
    std::int32_t read = table->cell(r.node).root.node;
    const auto* segment = segment_of(read);
    if (segment && segment != own) leaves_segment[static_cast<std::size_t>(read)] = true;
  }
}

void TapeState::drop_segment(const tape::CheckpointSegment& segment) {
  std::int64_t end = std::min<std::int64_t>(segment.end_node, static_cast<std::int64_t>(leaves_segment.size()) - 1);
  for (std::int64_t i = segment.start_node; i <= end; ++i)
    if (!leaves_segment[static_cast<std::size_t>(i)]) store.drop(table->cell(static_cast<std::int32_t>(i)));
}

// After a node has run: segments that it left behind, and those that it made come back.
void TapeState::leave_segments(std::int32_t node) {
  for (Ref r : graph->node(node).inputs)
    if (const auto* s = segment_of(table->cell(r.node).root.node); s && s->end_node + 1 < node) drop_segment(*s);
  while (open_segment < segments.size() && segments[open_segment].end_node < node)
    drop_segment(segments[open_segment++]);
}

void TapeState::run_segmented(Ref target) {
  if (segments.empty()) return backward(target, Tensor::full(graph->type(target), 1));
  for (const auto& s : segments)
    if (s.end_node >= graph->size())
      throw TapeError(fmt::format("[tape] a segment from node {} to {}: the tape has {} nodes", s.start_node,
                                  s.end_node, graph->size()));
  leaves_segment[static_cast<std::size_t>(table->root(target).node)] = true;  // the caller asks for it
  for (const auto& s : segments) drop_segment(s);
  backward(target, Tensor::full(graph->type(target), 1));
}

}  // namespace reprise
