// SPDX-License-Identifier: Apache-2.0
// Local search over the order in which first_fit places items: an item that ends too high is moved before one that is
// in its way, or changes places with it; a change is kept unless it makes things worse.
#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "memory/companions.h"
#include "memory/gaps.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

struct Score {
  std::int64_t height;
  double excess;  // bytes above the goal, over all items
  friend auto operator<=>(const Score&, const Score&) = default;
};

Score score(const Instance& instance, const Placement& placement, std::int64_t goal) {
  Score score{0, 0};
  for (std::size_t i = 0; i < placement.size(); ++i) {
    std::int64_t top = placement[i] + instance.items[i].height;
    score.height = std::max(score.height, top);
    if (top > goal) score.excess += static_cast<double>(top - goal);
  }
  return score;
}

class OrderSearch {
 public:
  OrderSearch(const Instance& instance, std::int64_t goal, std::uint64_t seed, Work& work)
      : in_(instance), goal_(goal), random_(seed), work_(work), companions_(instance) {}

  Placement run(const Placement& start, std::int64_t allowance) {
    std::int64_t end = work_.used() + std::min(allowance, work_.left());
    std::vector<int> sequence(in_.items.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    std::ranges::stable_sort(sequence, {}, [&](int i) { return start[static_cast<std::size_t>(i)]; });
    Placement placement = place(sequence);  // no item lies higher than at the start
    Score best = score(in_, placement, goal_);
    while (best.height > goal_ && work_.used() < end && !work_.is_over()) {
      std::vector<int> changed = sequence;
      change(changed, placement);
      Placement candidate = place(changed);
      Score now = score(in_, candidate, goal_);
      if (now > best) continue;
      best = now, sequence = std::move(changed), placement = std::move(candidate);
    }
    return placement;
  }

 private:
  /// As first_fit, faster on the same items again and again.
  Placement place(const std::vector<int>& sequence) {
    Placement placement(sequence.size(), -1);
    for (int i : sequence) {
      blocks_.clear();
      companions_.for_each(i, [&](const Companion& c) {
        std::int64_t at = placement[static_cast<std::size_t>(c.item)];
        if (at >= 0) blocks_.push_back({at - c.own_size, at + c.size});
      });
      placement[static_cast<std::size_t>(i)] = lowest_gap(blocks_, in_.items[static_cast<std::size_t>(i)].alignment);
      work_.spend(4 * static_cast<std::int64_t>(blocks_.size()) + 8);
    }
    return placement;
  }
  void change(std::vector<int>& sequence, const Placement& placement) {
    std::vector<std::size_t> high;  // positions
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      std::size_t i = static_cast<std::size_t>(sequence[k]);
      if (placement[i] + in_.items[i].height > goal_) high.push_back(k);
    }
    std::size_t from = high[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(high.size())))];
    if (random_.chance(0.3)) from = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(from) + 1));
    std::size_t to = companion_before(sequence, from);
    if (random_.chance(0.5))
      std::swap(sequence[from], sequence[to]);
    else
      std::rotate(sequence.begin() + static_cast<std::ptrdiff_t>(to),
                  sequence.begin() + static_cast<std::ptrdiff_t>(from),
                  sequence.begin() + static_cast<std::ptrdiff_t>(from) + 1);
  }
  /// A random position before `from` whose item lives at the same time, or the first of all if there is none.
  std::size_t companion_before(const std::vector<int>& sequence, std::size_t from) {
    const Item& item = in_.items[static_cast<std::size_t>(sequence[from])];
    std::size_t chosen = 0;
    std::int64_t seen = 0;
    for (std::size_t k = 0; k < from; ++k) {
      const Item& other = in_.items[static_cast<std::size_t>(sequence[k])];
      if (other.last > item.first && other.first < item.last && random_.below(++seen) == 0) chosen = k;
    }
    return chosen;
  }

  const Instance& in_;
  std::int64_t goal_;
  Random random_;
  Work& work_;
  Companions companions_;
  std::vector<Block> blocks_;
};

}  // namespace

Placement order_search(const Instance& instance, const Placement& start, std::int64_t goal, std::int64_t allowance,
                       std::uint64_t seed, Work& work) {
  return OrderSearch(instance, goal, seed, work).run(start, allowance);
}

}  // namespace reprise::memory
