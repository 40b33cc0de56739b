// SPDX-License-Identifier: Apache-2.0
// A stack in O(log depth) memory, for frames that can be made again from the frame below. Reading such a stack from its
// top is itself the reversal of a chain, with steps of nanoseconds, and is done the same way: near the top all frames
// are kept, below that every 16th, below that every 256th, ...; what is missing is made again, from the nearest one
// kept, when the stack has shrunk to it. That happens to a block of 16^k frames once in at least 16^k pops, so that a
// push and a pop make O(log depth) frames on average.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

namespace reprise::chain {

template <class Frame>
class ReplayStack {
 public:
  std::int64_t depth() const { return depth_; }

  void push(const Frame& frame) { keep(depth_++, frame); }
  /// The frame on top, null if there is none; `above(frame, depth)` makes the frame at `depth` from the one below it.
  template <class Above>
  Frame* top(const Above& above) {
    if (depth_ == 0) return nullptr;
    while (kept_.back().depth + 1 < depth_) {
      std::int64_t depth = kept_.back().depth + 1;
      keep(depth, above(kept_.back().frame, depth));
    }
    return &kept_.back().frame;
  }
  /// Takes the frame away that `top` has given.
  void pop() {
    assert(kept_.back().depth == depth_ - 1);
    kept_.pop_back();
    given_ = std::min(given_, --depth_);
  }
  /// What is on the stack now cannot be made again.
  void fix() { given_ = depth_; }

  std::size_t bytes() const { return kept_.capacity() * sizeof(Kept); }

 private:
  static constexpr std::int64_t base = 16;
  struct Kept {
    std::int64_t depth;
    Frame frame;
  };

  /// Of each size of block, the one that is being filled and the one before it stay whole.
  void keep(std::int64_t depth, const Frame& frame) {
    for (std::int64_t block = base; depth % block == 0 && depth >= 2 * block; block *= base)
      thin(depth - 2 * block, depth - block);
    kept_.push_back({depth, frame});
  }
  /// Leaves the first frame of a block.
  void thin(std::int64_t first, std::int64_t last) {
    auto begin = std::ranges::upper_bound(kept_, std::max(first, given_ - 1), {}, &Kept::depth);
    auto end = std::ranges::lower_bound(kept_, last, {}, &Kept::depth);
    if (begin < end) kept_.erase(begin, end);
  }

  std::vector<Kept> kept_;  // by depth; the first frame is always there
  std::int64_t depth_ = 0;
  std::int64_t given_ = 0;  // frames below this depth are never thinned
};

}  // namespace reprise::chain
