// SPDX-License-Identifier: Apache-2.0
// The lowest free place among blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/instance.h"

namespace reprise::memory {

struct Block {
  std::int64_t bottom, top;
};

/// The lowest offset in none of the open intervals (bottom, top): a block [b, t) forbids (b - h, t) to what is h high.
inline std::int64_t lowest_gap(std::vector<Block>& forbidden, std::int64_t alignment) {
  std::ranges::sort(forbidden, {}, &Block::bottom);
  std::int64_t offset = 0;
  for (const Block& block : forbidden) {
    if (offset <= block.bottom) break;
    if (offset < block.top) offset = align_up(block.top, alignment);
  }
  return offset;
}

}  // namespace reprise::memory
