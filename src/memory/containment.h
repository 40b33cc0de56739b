// SPDX-License-Identifier: Apache-2.0
// Answers "which item with the largest key lies within sections [first, last)?" while items are taken away: a k-d tree
// over (first, last), each node knowing the largest key below it.
#pragma once

#include <span>
#include <vector>

#include "memory/instance.h"

namespace reprise::memory {

class ContainedItems {
 public:
  ContainedItems(const Instance& instance, std::span<const double> keys);

  /// The item, or -1 if none lies within.
  int best_within(int first, int last, std::int64_t& steps) const;
  void take(int item);

 private:
  struct Node {
    int greatest_first = 0, least_last = 0;
    int best = -1;  // item of the largest key below
  };
  void build(std::size_t node, std::span<int> items, bool by_first);
  void search(std::size_t node, int first, int last, int& best, std::int64_t& steps) const;
  int better(int a, int b) const;

  const Instance& instance_;
  std::span<const double> keys_;
  std::vector<Node> nodes_;        // a heap: children of k are 2k and 2k+1
  std::vector<std::size_t> leaf_;  // of each item
};

}  // namespace reprise::memory
