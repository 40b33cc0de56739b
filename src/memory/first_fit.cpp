// SPDX-License-Identifier: Apache-2.0
// Places items in a given order, each in the lowest gap between those already placed that live at the same time.
#include <algorithm>
#include <bit>
#include <numeric>

#include "memory/gaps.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

/// Parts in order of their first sections, under a tree of the latest section by which a placed one ends: an interval
/// tree that holds a few bytes per part, however long the parts live.
class Placed {
 public:
  explicit Placed(const Instance& instance)
      : parts_(instance.parts), order_(parts_.size()), rank_(parts_.size()), bottom_(parts_.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, {}, [&](int p) { return parts_[index(p)].first; });
    for (std::size_t k = 0; k < order_.size(); ++k) rank_[index(order_[k])] = static_cast<int>(k);
    leaves_ = std::bit_ceil(std::max<std::size_t>(1, parts_.size()));
    latest_.assign(2 * leaves_, 0);
  }

  void add(int part, std::int64_t bottom) {
    std::size_t k = index(rank_[index(part)]);
    bottom_[k] = bottom;
    for (std::size_t node = leaves_ + k; node > 0; node /= 2)
      latest_[node] = std::max(latest_[node], parts_[index(part)].last);
  }
  /// Appends the blocks of all placed parts that share a section with [first, last).
  void collect(int first, int last, std::vector<Block>& blocks) const {
    auto starts_before = [&](int p) { return parts_[index(p)].first < last; };
    auto end = std::ranges::partition_point(order_, starts_before) - order_.begin();
    collect(1, 0, leaves_, first, static_cast<std::size_t>(end), blocks);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // Of the parts [from, to) below a node those before `end` that are not over by section `first`.
  void collect(std::size_t node, std::size_t from, std::size_t to, int first, std::size_t end,
               std::vector<Block>& blocks) const {
    if (from >= end || latest_[node] <= first) return;
    if (to - from == 1) {
      blocks.push_back({bottom_[from], bottom_[from] + parts_[index(order_[from])].size});
      return;
    }
    std::size_t middle = (from + to) / 2;
    collect(2 * node, from, middle, first, end, blocks);
    collect(2 * node + 1, middle, to, first, end, blocks);
  }

  std::span<const Part> parts_;
  std::vector<int> order_, rank_;     // the parts by first section, and each part's place there
  std::vector<std::int64_t> bottom_;  // in that order
  std::size_t leaves_;
  std::vector<int> latest_;  // of the placed parts below a node, the latest last section; 0 if there are none
};

class FirstFit {
 public:
  explicit FirstFit(const Instance& instance) : in_(instance), placed_(instance) {}

  void put(const Item& item, std::int64_t offset) {
    for (int part = item.first_part; part < item.last_part; ++part) placed_.add(part, offset);
  }
  std::int64_t lowest_gap_for(const Item& item, Work& work) {
    forbidden_.clear();
    for (const Part& part : in_.parts_of(item)) {
      std::size_t before = forbidden_.size();
      placed_.collect(part.first, part.last, forbidden_);
      for (std::size_t k = before; k < forbidden_.size(); ++k) forbidden_[k].bottom -= part.size;
    }
    work.spend(static_cast<std::int64_t>(forbidden_.size()) + 1);
    return lowest_gap(forbidden_, item.alignment);
  }

 private:
  const Instance& in_;
  Placed placed_;
  std::vector<Block> forbidden_;
};

}  // namespace

Placement first_fit(const Instance& instance, std::span<const int> sequence, Work& work) {
  Placement placement(instance.items.size());
  FirstFit fit(instance);
  for (int i : sequence) {
    const Item& item = instance.items[static_cast<std::size_t>(i)];
    fit.put(item, placement[static_cast<std::size_t>(i)] = fit.lowest_gap_for(item, work));
  }
  return placement;
}

void insert(const Instance& instance, std::span<const int> items, Placement& placement, Work& work) {
  std::vector<bool> is_new(instance.items.size());
  for (int i : items) is_new[static_cast<std::size_t>(i)] = true;
  FirstFit fit(instance);
  for (std::size_t i = 0; i < instance.items.size(); ++i)
    if (!is_new[i]) fit.put(instance.items[i], placement[i]);
  for (int i : items) {
    const Item& item = instance.items[static_cast<std::size_t>(i)];
    fit.put(item, placement[static_cast<std::size_t>(i)] = fit.lowest_gap_for(item, work));
  }
}

}  // namespace reprise::memory
