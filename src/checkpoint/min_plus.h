// SPDX-License-Identifier: Apache-2.0
// min over j of p(j) + q(n-j), for n = 2, 3, ... in turn, while p and q grow by one value each time. By definition,
// that is O(n) each, in a loop that runs at memory speed: neither function is convex in the programs that use it (all
// but revolve's own are full of small kinks), so there is nothing to skip by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

namespace reprise::chain {

class MinPlus {
 public:
  /// For n up to `most`; p(1) and q(1).
  MinPlus(std::size_t most, double p, double q) : most_(most), p_{0, p}, q_reversed_(most + 1) {
    q_reversed_[most - 1] = q;
  }

  /// The smallest best j for the next n, which is one more than the number of values known.
  std::size_t best() const {
    std::size_t n = p_.size(), best_block = 1;
    const double* q = q_reversed_.data() + (most_ - n);  // q[j] is q(n-j)
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 1; j < n; j += block) {
      double here = least_of(p_.data() + j, q + j, std::min(block, n - j));
      if (here < least) {
        least = here;
        best_block = j;
      }
    }
    std::size_t j = best_block;
    while (j + 1 < n && p_[j] + q[j] != least) ++j;
    return j;
  }
  double value(std::size_t n, std::size_t j) const { return p_[j] + q_reversed_[most_ - n + j]; }

  void append(double p, double q) {
    q_reversed_[most_ - p_.size()] = q;
    p_.push_back(p);
  }

 private:
  static constexpr std::size_t block = 1024;

  /// In eight lanes, which compilers turn into vector minima.
  static double least_of(const double* p, const double* q, std::size_t count) {
    std::array<double, 8> least;
    least.fill(std::numeric_limits<double>::infinity());
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8)
      for (std::size_t k = 0; k < 8; ++k) least[k] = std::min(least[k], p[i + k] + q[i + k]);
    for (; i < count; ++i) least[0] = std::min(least[0], p[i] + q[i]);
    return *std::min_element(least.begin(), least.end());
  }

  std::size_t most_;
  std::vector<double> p_;           // from index 1
  std::vector<double> q_reversed_;  // q(i) at most - i
};

}  // namespace reprise::chain
