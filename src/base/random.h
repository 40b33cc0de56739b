// SPDX-License-Identifier: Apache-2.0
// A small, fast generator for searches and tests: splitmix64 (Steele, Lea & Flood 2014). The same seed gives the same
// numbers on every machine, unlike the standard library's distributions.
#pragma once

#include <cstdint>

namespace reprise {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, 1).
  constexpr double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  constexpr double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// Uniform in [0, count); count > 0.
  constexpr std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((static_cast<Wide>(bits()) * static_cast<std::uint64_t>(count)) >> 64);
  }
  /// Uniform in [low, high], both included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  constexpr bool chance(double probability) { return unit() < probability; }

 private:
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t state_;
};

}  // namespace reprise
