// SPDX-License-Identifier: Apache-2.0
// First the constructive algorithms, then, on what is left after reduction, local and exact search in turns, each turn
// longer than the last.
#include "memory/portfolio.h"

#include <algorithm>
#include <numeric>

#include "memory/reduce.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

/// Pairs of parts that share a section: what a run of first_fit costs.
std::int64_t pairs(const Instance& instance) {
  std::vector<std::int64_t> begins(static_cast<std::size_t>(instance.sections) + 1), ends(begins);
  for (const Part& part : instance.parts)
    ++begins[static_cast<std::size_t>(part.first)], ++ends[static_cast<std::size_t>(part.last)];
  std::int64_t pairs = 0, live = 0;
  for (std::size_t x = 0; x < begins.size(); ++x) {
    live -= ends[x];
    pairs += begins[x] * live + begins[x] * begins[x] / 2;
    live += begins[x];
  }
  return pairs;
}

/// Steps of one dive of the exact search.
double dive(const Instance& instance) {
  double sections = 0;
  for (const Item& item : instance.items) sections += item.last - item.first;
  return sections * static_cast<double>(instance.items.size()) / 2;
}

std::vector<int> sorted_by(const std::vector<double>& keys) {
  std::vector<int> sequence(keys.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::ranges::stable_sort(sequence, std::greater<>{}, [&](int i) { return keys[static_cast<std::size_t>(i)]; });
  return sequence;
}

/// Items of at most `height`, the smallest last: all of them together matter little.
std::vector<int> small_items(const Instance& instance, std::int64_t height) {
  std::vector<int> small;
  for (std::size_t i = 0; i < instance.items.size(); ++i)
    if (instance.items[i].height <= height) small.push_back(static_cast<int>(i));
  std::ranges::stable_sort(small, std::greater<>{},
                           [&](int i) { return instance.items[static_cast<std::size_t>(i)].height; });
  return small;
}

/// The instance without some items, which are inserted into a placement of the others.
struct Reduced {
  Instance instance;
  std::vector<int> kept, aside;  // items of the whole instance; `aside` in the order to insert them

  Reduced(std::span<const Lifetime> lifetimes, std::span<const Row> rows, const Instance& whole,
          std::vector<int> without)
      : aside(std::move(without)) {
    std::vector<bool> is_aside(whole.items.size());
    for (int i : aside) is_aside[static_cast<std::size_t>(i)] = true;
    std::vector<Row> kept_rows;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!is_aside[i]) kept.push_back(static_cast<int>(i)), kept_rows.push_back(rows[i]);
    instance = make_instance(lifetimes, kept_rows, whole.unit);
  }
  Placement restrict(const Placement& whole) const {
    Placement placement;
    for (int i : kept) placement.push_back(whole[static_cast<std::size_t>(i)]);
    return placement;
  }
  Placement extend(const Instance& whole, const Placement& placement, Work& work) const {
    Placement extended(whole.items.size());
    for (std::size_t k = 0; k < kept.size(); ++k) extended[static_cast<std::size_t>(kept[k])] = placement[k];
    insert(whole, aside, extended, work);
    return extended;
  }
};

class Portfolio {
 public:
  Portfolio(const Instance& instance, const Goal& goal, std::uint64_t seed, Work& work)
      : in_(instance), goal_(goal), seed_(seed), work_(work) {
    best_.refuted = instance.lower_bound - 1;
  }

  GroupResult run(std::span<const Lifetime> lifetimes, std::span<const Row> rows) {
    construct();
    if (is_done() || work_.is_over()) return best_;
    std::vector<int> last = postponable(in_, in_.lower_bound);
    std::ranges::reverse(last);
    Reduced coarse(lifetimes, rows, in_, small_items(in_, in_.lower_bound / 500));
    improve(Reduced(lifetimes, rows, in_, std::move(last)), coarse);
    return best_;
  }

 private:
  void construct() {
    for (Order order : orders)
      if (!is_done() || best_.placement.empty()) offer(skyline(in_, keys(in_, order), work_), "skyline", name(order));
    if (pairs(in_) * 10 > work_.left()) return;
    for (Order order : orders)
      if (!is_done()) offer(first_fit(in_, sorted_by(keys(in_, order)), work_), "first fit", name(order));
  }

  void improve(const Reduced& reduced, const Reduced& coarse) {
    std::int64_t swap_cost = pairs(reduced.instance) + 1;
    std::int64_t allowance = 2'000'000;
    for (int turn = 0; !is_done() && !work_.is_over(); ++turn, allowance *= 2) {
      if (turn >= 3 && best_.height <= align_up(goal_.height, in_.unit) && !goal_.is_capacity)
        break;  // bytes of padding
      std::uint64_t seed = seed_ + static_cast<std::uint64_t>(turn);
      if (can_dive(coarse.instance, allowance)) place_large_first(coarse, allowance, seed);
      approach(reduced, allowance, seed);
      if (!is_done() && swap_cost < allowance / 40) swap(reduced, allowance / 4, seed);
      if (swap_cost >= work_.left() / 40 && !can_dive(reduced.instance, work_.left())) break;
    }
  }

  static bool can_dive(const Instance& instance, std::int64_t allowance) {
    constexpr std::size_t most_items = 900;  // the exact search recurses once per item
    return instance.items.size() <= most_items && dive(instance) < static_cast<double>(allowance);
  }

  /// Small items make the exact search slow, and often find gaps afterwards.
  void place_large_first(const Reduced& coarse, std::int64_t allowance, std::uint64_t seed) {
    if (is_done() || coarse.aside.empty() || coarse.kept.empty()) return;
    Decision decision = Exact(coarse.instance, coarse.instance.lower_bound, seed, work_).run(allowance);
    if (decision.outcome == Outcome::found)
      offer(coarse.extend(in_, decision.placement, work_), "exact, large first", "");
  }

  void swap(const Reduced& reduced, std::int64_t allowance, std::uint64_t seed) {
    Placement start = reduced.restrict(best_.placement);
    Placement found = order_search(reduced.instance, start, goal_.height, allowance, seed, work_);
    if (height_of(reduced.instance, found) < best_.height) offer(reduced.extend(in_, found, work_), "order search", "");
  }

  /// Asks for the goal, then for heights ever nearer to the lowest one known. With a capacity that cannot be met, how
  /// near the lowest comes is still worth knowing.
  void approach(const Reduced& reduced, std::int64_t allowance, std::uint64_t seed) {
    std::int64_t goal = std::max(goal_.height, best_.refuted + 1), target = goal;
    std::int64_t step = std::max(in_.unit, best_.height / (goal_.is_capacity ? 300 : 2000));
    while (!is_done() && !work_.is_over() && target < best_.height) {
      Outcome outcome = decide(reduced, target, target == goal ? allowance : allowance / 4, seed);
      goal = std::max(goal_.height, best_.refuted + 1);
      if (outcome == Outcome::unknown && best_.height - target <= step) return;
      std::int64_t low = outcome == Outcome::found ? goal : target;
      target = std::max(goal, low + (best_.height - low) / 2);
    }
  }

  Outcome decide(const Reduced& reduced, std::int64_t height, std::int64_t allowance, std::uint64_t seed) {
    if (pairs(reduced.instance) < allowance / 16) {
      Placement start = reduced.restrict(best_.placement);
      std::optional<Placement> found = ejection(reduced.instance, start, height, allowance / 4, seed, work_);
      if (found) return offer(reduced.extend(in_, *found, work_), "ejection", ""), Outcome::found;
    }
    if (!can_dive(reduced.instance, allowance)) return Outcome::unknown;
    Decision decision = ask(reduced, height, allowance, seed);
    if (decision.outcome == Outcome::found) offer(reduced.extend(in_, decision.placement, work_), "exact", "");
    if (decision.outcome == Outcome::refuted) best_.refuted = std::max(best_.refuted, height);
    return decision.outcome;
  }

  Decision ask(const Reduced& reduced, std::int64_t height, std::int64_t allowance, std::uint64_t seed) {
    if (height > std::max(goal_.height, best_.refuted + 1))
      return Exact(reduced.instance, height, seed, work_).run(allowance);
    if (goal_asked_ != height) for_goal_.emplace(reduced.instance, goal_asked_ = height, seed, work_);
    return for_goal_->run(allowance);
  }

  bool is_done() const {
    if (best_.placement.empty()) return false;
    return best_.height <= goal_.height || best_.height <= best_.refuted + 1 ||
           (goal_.is_capacity && best_.refuted >= goal_.height);
  }

  void offer(Placement placement, const char* algorithm, const char* detail) {
    std::int64_t height = height_of(in_, placement);
    if (!best_.placement.empty() && height >= best_.height) return;
    best_.placement = std::move(placement);
    best_.height = height;
    best_.algorithm = *detail ? std::string(algorithm) + " by " + detail : algorithm;
  }

  const Instance& in_;
  Goal goal_;
  std::uint64_t seed_;
  Work& work_;
  GroupResult best_;
  std::optional<Exact> for_goal_;  // the search for that height, which goes on from turn to turn
  std::int64_t goal_asked_ = -1;
};

}  // namespace

GroupResult solve_group(std::span<const Lifetime> lifetimes, std::span<const Row> rows, const Instance& instance,
                        const Goal& goal, std::uint64_t seed, Work& work) {
  return Portfolio(instance, goal, seed, work).run(lifetimes, rows);
}

}  // namespace reprise::memory
