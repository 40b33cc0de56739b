// SPDX-License-Identifier: Apache-2.0
// Fills the lowest stretch of the skyline first, with the item of the largest key that lies within it; a stretch that
// takes none rises to its lower neighbour. Best-fit of Burke, Kendall & Whitwell (2004), for memory by Sekiyama et al.
// (2018). No guarantee; near the bound when lifetimes are nested, as they are in training.
#include <algorithm>
#include <limits>
#include <queue>

#include "memory/containment.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

constexpr std::int64_t infinite = std::numeric_limits<std::int64_t>::max();

/// Stretches of sections with equal floor: a linked list indexed by each stretch's first section.
class Skyline {
 public:
  struct Stretch {
    int first, last;
    std::int64_t floor;
  };

  explicit Skyline(int sections)
      : sections_(sections),
        next_(index(sections) + 1, -1),
        previous_(index(sections) + 1, -1),
        floor_(index(sections) + 1) {
    next_[0] = sections;
    previous_[index(sections)] = 0;
    floor_[index(sections)] = infinite;
    queue_.push({0, 0});
  }

  Stretch lowest() {
    for (;; queue_.pop()) {
      auto [floor, first] = queue_.top();
      if (next_[index(first)] >= 0 && floor_[index(first)] == floor) return {first, next_[index(first)], floor};
    }
  }
  /// Gives sections [first, last) of one stretch a floor of their own.
  void set(int first, int last, std::int64_t floor) {
    split(first);
    split(last);
    floor_[index(first)] = floor;
    queue_.push({floor, first});
    if (last < sections_ && floor_[index(last)] == floor) join(last);
    if (first > 0 && floor_[index(previous_[index(first)])] == floor) join(first);
  }
  /// The stretch rises to its lower neighbour.
  void raise(const Stretch& s) {
    std::int64_t left = s.first == 0 ? infinite : floor_[index(previous_[index(s.first)])];
    set(s.first, s.last, std::min(left, floor_[index(s.last)]));
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  /// Makes `at` the beginning of a stretch.
  void split(int at) {
    if (at == sections_ || next_[index(at)] >= 0) return;
    int first = at - 1;
    while (next_[index(first)] < 0) --first;
    link(at, next_[index(first)]);
    link(first, at);
    floor_[index(at)] = floor_[index(first)];
    queue_.push({floor_[index(at)], at});
  }
  /// The stretch that begins at `at` becomes part of the one before.
  void join(int at) {
    link(previous_[index(at)], next_[index(at)]);
    next_[index(at)] = -1;
  }
  void link(int a, int b) { next_[index(a)] = b, previous_[index(b)] = a; }

  using Entry = std::pair<std::int64_t, int>;  // floor, first section
  int sections_;
  std::vector<int> next_, previous_;  // next_ is -1 where no stretch begins
  std::vector<std::int64_t> floor_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

Placement skyline(const Instance& instance, std::span<const double> keys, Work& work) {
  Placement placement(instance.items.size());
  ContainedItems items(instance, keys);
  Skyline skyline(instance.sections);
  for (std::size_t left = placement.size(); left > 0;) {
    Skyline::Stretch lowest = skyline.lowest();
    std::int64_t steps = 1;
    int chosen = items.best_within(lowest.first, lowest.last, steps);
    work.spend(steps);
    if (chosen < 0) {
      skyline.raise(lowest);
      continue;
    }
    const Item& item = instance.items[static_cast<std::size_t>(chosen)];
    std::int64_t offset = align_up(lowest.floor, item.alignment);
    placement[static_cast<std::size_t>(chosen)] = offset;
    for (const Part& part : instance.parts_of(item)) skyline.set(part.first, part.last, offset + part.size);
    items.take(chosen);
    --left;
  }
  return placement;
}

}  // namespace reprise::memory
