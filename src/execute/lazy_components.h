// SPDX-License-Identifier: Apache-2.0
// The cost of bringing back a dropped value includes its dropped neighbours. Sets of neighbours are merged by
// union-find and never split: a member that returns takes its cost with it (Kirisame et al. 2021, the equivalence-class
// heuristic).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reprise {

class Components {
 public:
  std::int32_t add(double cost) {
    parents_.push_back(static_cast<std::int32_t>(parents_.size()));
    costs_.push_back(cost);
    return parents_.back();
  }
  std::int32_t find(std::int32_t i) const {
    while (parent(i) != i) i = parent(i) = parent(parent(i));
    return i;
  }
  void unite(std::int32_t a, std::int32_t b) {
    a = find(a), b = find(b);
    if (a == b) return;
    parent(b) = a;
    costs_[static_cast<std::size_t>(a)] += costs_[static_cast<std::size_t>(b)];
  }
  /// Of the whole set that i, a root, stands for.
  double cost(std::int32_t i) const { return costs_[static_cast<std::size_t>(i)]; }
  std::size_t size() const { return parents_.size(); }
  void subtract(std::int32_t i, double cost) { costs_[static_cast<std::size_t>(find(i))] -= cost; }

 private:
  std::int32_t& parent(std::int32_t i) const { return parents_[static_cast<std::size_t>(i)]; }

  mutable std::vector<std::int32_t> parents_;  // paths are shortened while they are walked
  std::vector<double> costs_;
};

}  // namespace reprise
