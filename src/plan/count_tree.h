// SPDX-License-Identifier: Apache-2.0
// Counts by position (Fenwick 1994): change one, find the position of the k-th of all that are counted, each in
// logarithmic time.
#pragma once

#include <vector>

namespace reprise::plan {

class CountTree {
 public:
  explicit CountTree(int positions) {
    while (size_ < positions) size_ *= 2;
    sums_.assign(static_cast<std::size_t>(size_) + 1, 0);
  }

  void add(int position, int count) {
    for (int i = position + 1; i <= size_; i += i & -i) sums_[static_cast<std::size_t>(i)] += count;
  }

  struct Place {
    int position;
    int rest;  // how many at that position come before it
  };
  /// Where the k-th is, counted from 0; k must be below the number of all.
  Place find(int k) const {
    int position = 0;
    for (int width = size_; width > 0; width /= 2) {
      if (position + width > size_ || sums_[static_cast<std::size_t>(position + width)] > k) continue;
      position += width;
      k -= sums_[static_cast<std::size_t>(position)];
    }
    return {position, k};
  }

 private:
  int size_ = 1;  // a power of two
  std::vector<int> sums_;
};

}  // namespace reprise::plan
