// SPDX-License-Identifier: Apache-2.0
// A shuffle that needs no memory: a Feistel network (Luby & Rackoff 1988) whose rounds draw from Philox, applied again
// where it leaves the range (cycle walking, Black & Rogaway 2002). Any position can be asked for on its own.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/philox.h"

namespace reprise::data {

class Permutation {
 public:
  /// Of 0..size, at least 1; another one for every seed and stream.
  Permutation(std::int64_t size, std::uint64_t seed, std::uint64_t stream)
      : size_(static_cast<std::uint64_t>(size)),
        half_bits_(std::max(1, (static_cast<int>(std::bit_width(size_ - 1)) + 1) / 2)),
        key_{low(seed), low(seed >> 32)},
        stream_{low(stream), low(stream >> 32)} {}

  /// Less than four rounds of walking on average: the network's range is less than four times the size.
  std::int64_t operator()(std::int64_t i) const {
    auto x = static_cast<std::uint64_t>(i);
    do x = network(x);
    while (x >= size_);
    return static_cast<std::int64_t>(x);
  }

 private:
  static constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }

  std::uint64_t network(std::uint64_t x) const {
    std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1, left = x >> half_bits_, right = x & mask;
    for (std::uint32_t round = 0; round < 8; ++round) {
      std::uint64_t drawn = kernels::philox({low(right), round, stream_[0], stream_[1]}, key_)[0];
      left = std::exchange(right, left ^ (drawn & mask));
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  int half_bits_;  // of the network's two halves
  std::array<std::uint32_t, 2> key_, stream_;
};

}  // namespace reprise::data
