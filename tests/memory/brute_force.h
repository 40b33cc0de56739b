// SPDX-License-Identifier: Apache-2.0
// The least height of tiny problems, by trying every offset of every buffer.
#pragma once

#include <algorithm>
#include <vector>

#include "reprise/memory.h"

namespace reprise::memory {

inline bool fits_by_brute_force(std::span<const Buffer> buffers, std::int64_t height, std::vector<std::int64_t>& at) {
  std::size_t i = at.size();
  if (i == buffers.size()) return true;
  const Buffer& b = buffers[i];
  for (std::int64_t offset = 0; offset + b.size <= height; offset += b.alignment) {
    if (b.takes_over && offset != at[*b.takes_over]) continue;
    bool is_free = true;
    for (std::size_t j = 0; j < i && is_free; ++j)
      is_free = buffers[j].upper <= b.lower || b.upper <= buffers[j].lower || at[j] + buffers[j].size <= offset ||
                offset + b.size <= at[j];
    if (!is_free) continue;
    at.push_back(offset);
    if (fits_by_brute_force(buffers, height, at)) return true;
    at.pop_back();
  }
  return false;
}

inline std::int64_t least_height_by_brute_force(std::span<const Buffer> buffers) {
  for (std::int64_t height = largest_live_sum(buffers);; ++height) {
    std::vector<std::int64_t> at;
    if (fits_by_brute_force(buffers, height, at)) return height;
  }
}

}  // namespace reprise::memory
