// SPDX-License-Identifier: Apache-2.0
// Local search for a placement within a capacity. Items that have no place yet wait in a pool. One of them is placed
// where what lies in its way weighs least, and what did lie there goes to the pool. Large and long-lived items weigh
// more, and each more every time it finds no gap, so those that are hard to place stay and the easy ones move around
// them. After Nagata & Bräysy (2009), who empty routes of vehicles in this way.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "memory/companions.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

constexpr std::int64_t nowhere = -1;

class Ejection {
 public:
  Ejection(const Instance& instance, std::int64_t capacity, std::uint64_t seed, Work& work)
      : in_(instance), capacity_(capacity), random_(seed), work_(work), companions_(instance) {
    for (const Item& item : in_.items) {
      double size = static_cast<double>(item.height) / static_cast<double>(capacity);
      double duration = static_cast<double>(in_.duration(item)) / in_.sections;
      hardness_.push_back(1 + static_cast<std::int64_t>(1e6 * std::pow(size, 1.5) * duration));
    }
    weight_ = hardness_;
  }

  std::optional<Placement> run(const Placement& start, std::int64_t allowance) {
    std::int64_t end = work_.used() + std::min(allowance, work_.left());
    begin(start);
    while (!pool_.empty()) {
      if (work_.used() >= end || work_.is_over()) return {};
      place(take());
    }
    return offset_;
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Item& item(int i) const { return in_.items[index(i)]; }
  std::int64_t highest(const Item& a) const { return (capacity_ - a.height) & -a.alignment; }

  void begin(const Placement& start) {
    offset_ = start;
    for (int i = 0; i < static_cast<int>(start.size()); ++i) {
      if (start[index(i)] <= highest(item(i))) continue;
      offset_[index(i)] = nowhere;
      pool_.push_back(i);
    }
  }

  int take() {
    std::swap(pool_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(pool_.size())))], pool_.back());
    int i = pool_.back();
    pool_.pop_back();
    return i;
  }

  void place(int i) {
    collect(i);
    auto [offset, weight] = lightest(i);
    if (weight > 0) {
      weight_[index(i)] += hardness_[index(i)];
      companions_.for_each(i, [&, at = offset](const Companion& c) {
        std::int64_t& other = offset_[index(c.item)];
        if (other == nowhere || other - c.own_size >= at || other + c.size <= at) return;
        other = nowhere;
        pool_.push_back(c.item);
      });
    }
    offset_[index(i)] = offset;
  }

  // The open intervals in which the item's offset would make it meet another, with what that one weighs.
  void collect(int i) {
    begins_.clear();
    ends_.clear();
    spots_.assign({0, highest(item(i))});
    std::int64_t alignment = item(i).alignment;
    companions_.for_each(i, [&](const Companion& c) {
      std::int64_t other = offset_[index(c.item)];
      if (other == nowhere) return;
      begins_.push_back({other - c.own_size, weight_[index(c.item)]});
      ends_.push_back({other + c.size, weight_[index(c.item)]});
      if (other >= c.own_size) spots_.push_back((other - c.own_size) & -alignment);
      spots_.push_back(align_up(other + c.size, alignment));
    });
    std::ranges::sort(begins_);
    std::ranges::sort(ends_);
    std::ranges::sort(spots_);
    work_.spend(8 * static_cast<std::int64_t>(begins_.size()) + 8);
  }

  struct Spot {
    std::int64_t offset, weight;
  };
  // Where what is met weighs least; one of these at random.
  Spot lightest(int i) {
    Spot best{0, std::numeric_limits<std::int64_t>::max()};
    std::size_t b = 0, e = 0;
    std::int64_t weight = 0, top = highest(item(i)), ties = 0;
    for (std::int64_t spot : spots_) {
      if (spot > top) break;
      for (; b < begins_.size() && begins_[b].first < spot; ++b) weight += begins_[b].second;
      for (; e < ends_.size() && ends_[e].first <= spot; ++e) weight -= ends_[e].second;
      if (weight > best.weight) continue;
      ties = weight < best.weight ? 1 : ties + 1;
      if (ties == 1 || random_.below(ties) == 0) best = {spot, weight};
    }
    return best;
  }

  const Instance& in_;
  std::int64_t capacity_;
  Random random_;
  Work& work_;
  Companions companions_;
  std::vector<std::int64_t> hardness_, weight_;  // at first, and now
  Placement offset_;
  std::vector<int> pool_;
  std::vector<std::pair<std::int64_t, std::int64_t>> begins_, ends_;
  std::vector<std::int64_t> spots_;
};

}  // namespace

std::optional<Placement> ejection(const Instance& instance, const Placement& start, std::int64_t capacity,
                                  std::int64_t allowance, std::uint64_t seed, Work& work) {
  for (const Item& item : instance.items)
    if (item.height > capacity) return {};
  return Ejection(instance, capacity, seed, work).run(start, allowance);
}

}  // namespace reprise::memory
