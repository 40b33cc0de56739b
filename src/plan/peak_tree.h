// SPDX-License-Identifier: Apache-2.0
// A segment tree over positions: add to a range, ask for the maximum of a range and where the overall maximum is, each
// in logarithmic time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace reprise::plan {

class PeakTree {
 public:
  explicit PeakTree(int count) : count_(count) {
    while (size_ < count) size_ *= 2;
    top_.assign(static_cast<std::size_t>(2 * size_), 0);
    added_.assign(static_cast<std::size_t>(2 * size_), 0);
    for (int i = count; i < size_; ++i) add(i, i, -(std::int64_t{1} << 61));  // never the maximum
  }

  /// Adds to positions first … last, both included; nothing if first > last.
  void add(int first, int last, std::int64_t amount) {
    if (first > last) return;
    int low = first + size_, high = last + size_ + 1;
    for (int l = low, h = high; l < h; l /= 2, h /= 2) {
      if (l & 1) raise(l++, amount);
      if (h & 1) raise(--h, amount);
    }
    renew_above(low);
    renew_above(high - 1);
  }

  std::int64_t max() const { return top_[1]; }

  /// The first position that has the maximum.
  int argmax() const {
    int at = 1;
    while (at < size_) at = top(2 * at) >= top(2 * at + 1) ? 2 * at : 2 * at + 1;
    return at - size_;
  }

  /// Maximum over positions first … last, both included.
  std::int64_t max(int first, int last) const { return first > last ? lowest : max_in(1, 0, size_ - 1, first, last); }

 private:
  static constexpr std::int64_t lowest = -(std::int64_t{1} << 62);

  std::int64_t top(int at) const { return top_[static_cast<std::size_t>(at)]; }

  void raise(int at, std::int64_t amount) {
    top_[static_cast<std::size_t>(at)] += amount;
    added_[static_cast<std::size_t>(at)] += amount;
  }

  void renew_above(int at) {
    for (at /= 2; at >= 1; at /= 2) {
      top_[static_cast<std::size_t>(at)] =
          std::max(top(2 * at), top(2 * at + 1)) + added_[static_cast<std::size_t>(at)];
    }
  }

  std::int64_t max_in(int at, int low, int high, int first, int last) const {
    if (first <= low && high <= last) return top(at);
    int middle = (low + high) / 2;
    std::int64_t best = lowest;
    if (first <= middle) best = max_in(2 * at, low, middle, first, last);
    if (last > middle) best = std::max(best, max_in(2 * at + 1, middle + 1, high, first, last));
    return best + added_[static_cast<std::size_t>(at)];
  }

  int count_;
  int size_ = 1;
  std::vector<std::int64_t> top_, added_;
};

}  // namespace reprise::plan
