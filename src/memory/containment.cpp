// SPDX-License-Identifier: Apache-2.0
#include "memory/containment.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace reprise::memory {

ContainedItems::ContainedItems(const Instance& instance, std::span<const double> keys)
    : instance_(instance), keys_(keys), nodes_(2 * std::bit_ceil(instance.items.size())), leaf_(instance.items.size()) {
  std::vector<int> items(instance.items.size());
  std::iota(items.begin(), items.end(), 0);
  if (!items.empty()) build(1, items, true);
}

/// Ties go to the earlier item, so that the result does not depend on the tree.
int ContainedItems::better(int a, int b) const {
  if (a < 0 || b < 0) return std::max(a, b);
  double key_a = keys_[static_cast<std::size_t>(a)], key_b = keys_[static_cast<std::size_t>(b)];
  return key_a != key_b ? (key_a > key_b ? a : b) : std::min(a, b);
}

void ContainedItems::build(std::size_t node, std::span<int> items, bool by_first) {
  auto item = [&](int i) -> const Item& { return instance_.items[static_cast<std::size_t>(i)]; };
  if (items.size() == 1) {
    const Item& a = item(items[0]);
    nodes_[node] = {a.first, a.last, items[0]};
    leaf_[static_cast<std::size_t>(items[0])] = node;
    return;
  }
  std::size_t half = items.size() / 2;
  std::ranges::nth_element(items, items.begin() + static_cast<std::ptrdiff_t>(half), {},
                           [&](int i) { return by_first ? item(i).first : item(i).last; });
  build(2 * node, items.first(half), !by_first);
  build(2 * node + 1, items.subspan(half), !by_first);
  const Node &l = nodes_[2 * node], &r = nodes_[2 * node + 1];
  nodes_[node] = {std::max(l.greatest_first, r.greatest_first), std::min(l.least_last, r.least_last),
                  better(l.best, r.best)};
}

int ContainedItems::best_within(int first, int last, std::int64_t& steps) const {
  int best = -1;
  search(1, first, last, best, steps);
  return best;
}

void ContainedItems::search(std::size_t node, int first, int last, int& best, std::int64_t& steps) const {
  ++steps;
  const Node& n = nodes_[node];
  if (n.best < 0 || n.greatest_first < first || n.least_last > last || better(best, n.best) == best) return;
  const Item& item = instance_.items[static_cast<std::size_t>(n.best)];
  if (item.first >= first && item.last <= last) {
    best = n.best;
    return;
  }
  search(2 * node, first, last, best, steps);
  search(2 * node + 1, first, last, best, steps);
}

void ContainedItems::take(int item) {
  std::size_t node = leaf_[static_cast<std::size_t>(item)];
  nodes_[node].best = -1;
  for (node /= 2; node > 0; node /= 2) nodes_[node].best = better(nodes_[2 * node].best, nodes_[2 * node + 1].best);
}

}  // namespace reprise::memory
