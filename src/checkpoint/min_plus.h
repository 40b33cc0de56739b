// SPDX-License-Identifier: Apache-2.0
// min over j of p(j) + q(n-j), for n = 2, 3, ... in turn, while p and q grow by one value each time. As long as both
// are convex the best j moves by at most one from n to n+1, so n costs O(1); once one is not, O(n). Exact either way.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace reprise::chain {

class MinPlus {
 public:
  /// p(1) and q(1).
  MinPlus(double p, double q) : p_{0, p}, q_{0, q} {}

  /// The best j for the next n, which is one more than the number of values known.
  std::size_t best() {
    std::size_t n = p_.size();
    if (!is_convex_) return scan(n);
    if (best_ + 1 < n && value(n, best_ + 1) <= value(n, best_)) ++best_;
    return best_;
  }
  double value(std::size_t n, std::size_t j) const { return p_[j] + q_[n - j]; }

  void append(double p, double q) {
    p_.push_back(p);
    q_.push_back(q);
    is_convex_ = is_convex_ && bends_up(p_) && bends_up(q_);
  }

 private:
  /// Infinity, for what is out of reach, may follow anything.
  static bool bends_up(const std::vector<double>& f) {
    std::size_t n = f.size() - 1;
    return n < 3 || std::isinf(f[n]) || f[n] - f[n - 1] >= f[n - 1] - f[n - 2];
  }
  std::size_t scan(std::size_t n) const {
    std::size_t best = 1;
    for (std::size_t j = 2; j < n; ++j)
      if (value(n, j) <= value(n, best)) best = j;
    return best;
  }

  std::vector<double> p_, q_;  // from index 1
  std::size_t best_ = 1;
  bool is_convex_ = true;
};

}  // namespace reprise::chain
