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

  /// Maximum over positions first … last, both included. Climbs from both ends; what is on the way in between is added
  /// to what was found below it.
  std::int64_t max(int first, int last) const {
    if (first > last) return lowest;
    int low = first + size_, high = last + size_;
    std::int64_t left = top(low), right = top(high);
    for (; low / 2 != high / 2; low /= 2, high /= 2) {
      if ((low & 1) == 0) left = std::max(left, top(low + 1));
      if ((high & 1) == 1) right = std::max(right, top(high - 1));
      left += added_[static_cast<std::size_t>(low / 2)];
      right += added_[static_cast<std::size_t>(high / 2)];
    }
    std::int64_t best = std::max(left, right);
    for (int at = low / 2; at >= 1; at /= 2) best += added_[static_cast<std::size_t>(at)];
    return best;
  }

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

  int count_;
  int size_ = 1;
  std::vector<std::int64_t> top_, added_;
};

}  // namespace reprise::plan
