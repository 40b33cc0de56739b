// SPDX-License-Identifier: Apache-2.0
// Complete search for a placement within a capacity. It builds the layout from the ground: the *floor* of a section is
// the top of what lies there already, and items not yet placed lie above it. A *basin* is a run of sections with equal
// floor and higher floors (or nothing left to place) on both sides. In a layout whose items are all pushed down, the
// place just above the floor of a section of a basin is taken by one of the few items that lie within the basin, or by
// none: the search picks the section with the fewest such choices and tries them in turn.
//
// Pruned by: a bound per section (its items, each released at its own lowest possible offset, stacked in that order);
// independent stretches of time, solved one after the other; equal items, of which only one is tried; states (floors
// and items left) known to fail. Floors per section and monotone stacking follow MiniMalloc (Moffitt, ASPLOS 2023).
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/random.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

using Items = std::vector<int>;

/// What is left to place in sections [first, last).
struct Stretch {
  Items items;
  int first = 0, last = 0;
};

struct Hash {
  std::uint64_t a = 0, b = 0;
  friend bool operator==(const Hash&, const Hash&) = default;

  /// Adds one fact. The order does not matter; a fact added twice counts twice.
  void add(std::uint64_t where, std::uint64_t what) {
    std::uint64_t bits = Random(where * 0x9e3779b97f4a7c15 ^ what).bits();
    a += bits;
    b += bits * (where * 0xd1342543de82ef95 | 1);
  }
};

/// States that cannot be completed. 128 bits stand for a state; when the table is full, a newer state replaces the
/// older one in its place.
class FailedStates {
 public:
  bool has(const Hash& state) const { return table_[state.a % table_.size()] == state; }
  void add(const Hash& state) {
    if (++added_ > table_.size() && table_.size() < most) grow();
    table_[state.a % table_.size()] = state;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 20;

  void grow() {
    std::vector<Hash> larger(4 * table_.size());
    for (const Hash& state : table_) larger[state.a % larger.size()] = state;
    table_ = std::move(larger);
  }

  std::vector<Hash> table_ = std::vector<Hash>(std::size_t{1} << 8);
  std::size_t added_ = 0;
};

/// Items that may change places: number of the first one that is equal.
std::vector<int> classes_of(const Instance& in) {
  auto same = [&](const Item& a, const Item& b) {
    auto equal = [](const Part& p, const Part& q) {
      return p.first == q.first && p.last == q.last && p.bytes == q.bytes;
    };
    return a.alignment == b.alignment && std::ranges::equal(in.parts_of(a), in.parts_of(b), equal);
  };
  std::vector<int> classes(in.items.size()), by_span(in.items.size());
  std::iota(by_span.begin(), by_span.end(), 0);
  auto key = [&](int i) {
    const Item& a = in.items[static_cast<std::size_t>(i)];
    return std::tuple(a.first, a.last, a.height, i);
  };
  std::ranges::sort(by_span, {}, key);
  int current = -1;
  for (int i : by_span) {
    const Item& item = in.items[static_cast<std::size_t>(i)];
    if (current < 0 || !same(item, in.items[static_cast<std::size_t>(current)])) current = i;
    classes[static_cast<std::size_t>(i)] = current;
  }
  return classes;
}

class Search {
 public:
  Search(const Instance& instance, std::int64_t capacity, Work& work)
      : in_(instance),
        capacity_(capacity),
        rounded_capacity_(align_up(capacity, instance.unit)),
        work_(work),
        floor_(index(in_.sections)),
        stacked_(index(in_.sections)),
        left_(index(in_.sections)),
        count_(index(in_.sections) + 1),
        spanning_(index(in_.sections) + 1),
        basin_(index(in_.sections)),
        offset_(in_.items.size()),
        rank_(in_.items.size()),
        class_(classes_of(in_)) {}

  /// Tries items of larger key first, for `allowance` steps. States that failed are remembered from run to run.
  Outcome run(std::span<const double> keys, std::int64_t allowance);
  const Placement& placement() const { return offset_; }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Item& item(int i) const { return in_.items[index(i)]; }

  struct Change {
    std::int64_t* cell;
    std::int64_t old;
  };
  void set(std::int64_t& cell, std::int64_t value) {
    trail_.push_back({&cell, cell});
    cell = value;
  }
  void undo(std::size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) *trail_.back().cell = trail_.back().old;
  }

  bool solve(const Stretch& stretch);
  bool branch(const Stretch& stretch);
  bool place(const Stretch& stretch, int chosen);
  bool leave_empty(const Stretch& stretch, int x);

  // Not inlined, so that the frames of the four above, which call each other, stay small.
  [[gnu::noinline]] bool may_spend(const Stretch& stretch);
  [[gnu::noinline]] bool bounds_hold(const Stretch& stretch);
  [[gnu::noinline]] Hash hash(const Stretch& stretch) const;
  [[gnu::noinline]] int choose_section(const Stretch& stretch);
  [[gnu::noinline]] Items choices_at(const Stretch& stretch, int x) const;
  [[gnu::noinline]] std::vector<Stretch> put(const Stretch& stretch, int chosen);
  [[gnu::noinline]] std::int64_t next_floor(const Stretch& stretch, int x);
  [[gnu::noinline]] void lift(const Items& items, int first, int last, std::int64_t floor);
  std::vector<Stretch> split(const Stretch& stretch);
  void find_basins(const Stretch& stretch);
  bool has_slack(int x) const { return floor_[index(x)] + left_[index(x)] < rounded_capacity_; }

  const Instance& in_;
  std::int64_t capacity_, rounded_capacity_;
  Work& work_;
  std::int64_t stop_at_ = 0;
  int depth_ = 0;
  bool gave_up_ = false;
  std::vector<std::int64_t> floor_;            // per section
  std::vector<std::int64_t> stacked_, left_;   // per section, of the last bound: height, and bytes left to place
  std::vector<int> count_, spanning_, basin_;  // per section, scratch; basin_: first section of its basin, or -1
  Placement offset_;                           // placed items: where they are; others: the lowest place they can have
  std::vector<int> rank_, class_;              // order in which items are tried; see classes_of
  std::vector<Change> trail_;
  FailedStates failed_;
};

Outcome Search::run(std::span<const double> keys, std::int64_t allowance) {
  Items order(in_.items.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return keys[index(a)] > keys[index(b)]; });
  for (std::size_t r = 0; r < order.size(); ++r) rank_[index(order[r])] = static_cast<int>(r);
  stop_at_ = work_.used() + allowance;
  gave_up_ = false;
  depth_ = 0;
  undo(0);
  if (solve({order, 0, in_.sections})) return Outcome::found;
  return gave_up_ ? Outcome::unknown : Outcome::refuted;
}

/// Counts the work of a node. The depth is bounded because every node is a stack frame.
bool Search::may_spend(const Stretch& stretch) {
  constexpr int deepest = 1000;
  std::int64_t steps = stretch.last - stretch.first;
  for (int i : stretch.items) steps += item(i).last - item(i).first;
  work_.spend(steps);
  if (work_.is_over() || work_.used() >= stop_at_ || depth_ >= deepest) gave_up_ = true;
  return !gave_up_;
}

/// Raises each floor to the lowest place an item can have there, and checks that the items left can be stacked.
bool Search::bounds_hold(const Stretch& stretch) {
  Items by_offset = stretch.items;
  std::ranges::sort(by_offset, {}, [&](int i) { return offset_[index(i)]; });
  std::fill(stacked_.begin() + stretch.first, stacked_.begin() + stretch.last, -1);
  std::fill(left_.begin() + stretch.first, left_.begin() + stretch.last, 0);
  for (int i : by_offset) {
    std::int64_t offset = offset_[index(i)];
    if (offset + item(i).height > capacity_) return false;
    for (const Part& part : in_.parts_of(item(i)))
      for (int x = part.first; x < part.last; ++x) {
        if (stacked_[index(x)] < 0 && offset > floor_[index(x)]) set(floor_[index(x)], offset);
        stacked_[index(x)] = std::max(stacked_[index(x)], offset) + part.size;
        left_[index(x)] += part.size;
      }
  }
  return std::all_of(stacked_.begin() + stretch.first, stacked_.begin() + stretch.last,
                     [&](std::int64_t top) { return top <= rounded_capacity_; });
}

Hash Search::hash(const Stretch& stretch) const {
  Hash hash;
  for (int i : stretch.items) hash.add(0, static_cast<std::uint64_t>(class_[index(i)]));
  for (int x = stretch.first; x < stretch.last; ++x)
    hash.add(static_cast<std::uint64_t>(x) + 1, static_cast<std::uint64_t>(floor_[index(x)]));
  return hash;
}

void Search::find_basins(const Stretch& stretch) {
  for (int x = stretch.first; x < stretch.last;) {
    int end = x + 1;
    while (end < stretch.last && floor_[index(end)] == floor_[index(x)]) ++end;
    bool higher_left = x == stretch.first || floor_[index(x - 1)] > floor_[index(x)];
    bool higher_right = end == stretch.last || floor_[index(end)] > floor_[index(x)];
    std::fill(basin_.begin() + x, basin_.begin() + end, higher_left && higher_right ? x : -1);
    x = end;
  }
}

/// The section of a basin with the fewest choices, the lowest of those.
int Search::choose_section(const Stretch& stretch) {
  find_basins(stretch);
  std::fill(count_.begin() + stretch.first, count_.begin() + stretch.last + 1, 0);
  for (int i : stretch.items) {
    int first = item(i).first, last = item(i).last, basin = basin_[index(first)];
    if (basin < 0 || basin != basin_[index(last - 1)] || offset_[index(i)] != floor_[index(first)]) continue;
    ++count_[index(first)], --count_[index(last)];
  }
  int best = -1, fewest = 0, count = 0;
  for (int x = stretch.first; x < stretch.last; ++x) {
    count += count_[index(x)];
    if (basin_[index(x)] < 0) continue;
    int choices = count + (has_slack(x) ? 1 : 0);
    if (best < 0 || choices < fewest || (choices == fewest && floor_[index(x)] < floor_[index(best)]))
      best = x, fewest = choices;
  }
  return best;
}

/// Items that live in sections [first, last) now lie above `floor`.
void Search::lift(const Items& items, int first, int last, std::int64_t floor) {
  for (int i : items) {
    if (item(i).last <= first || item(i).first >= last || offset_[index(i)] >= floor) continue;
    set(offset_[index(i)], align_up(floor, item(i).alignment));
  }
}

/// Places an item where it can lie lowest, and returns what is left.
std::vector<Stretch> Search::put(const Stretch& stretch, int chosen) {
  Stretch rest{{}, stretch.first, stretch.last};
  for (int i : stretch.items)
    if (i != chosen) rest.items.push_back(i);
  for (const Part& part : in_.parts_of(item(chosen))) {
    std::int64_t top = offset_[index(chosen)] + part.size;
    for (int x = part.first; x < part.last; ++x) set(floor_[index(x)], top);
    lift(rest.items, part.first, part.last, top);
  }
  return split(rest);
}

bool Search::place(const Stretch& stretch, int chosen) {
  for (const Stretch& s : put(stretch, chosen))
    if (!solve(s)) return false;
  return true;
}

/// The next height above the floor of section x at which one of its items could rest: pushed down as far as they go,
/// items rest on floors or on each other.
std::int64_t Search::next_floor(const Stretch& stretch, int x) {
  std::int64_t next = std::numeric_limits<std::int64_t>::max();
  for (int i : stretch.items) {
    const Item& a = item(i);
    if (a.first > x || a.last <= x) continue;
    if (offset_[index(i)] > floor_[index(x)]) {
      next = std::min(next, offset_[index(i)]);
      continue;
    }
    work_.spend(static_cast<std::int64_t>(stretch.items.size()));
    for (int j : stretch.items)
      for (const Part& part : in_.parts_of(item(j)))
        if (i != j && part.last > a.first && part.first < a.last)
          next = std::min(next, align_up(offset_[index(j)] + part.size, a.alignment));
  }
  return next;
}

/// Nothing lies on the floor of section x.
bool Search::leave_empty(const Stretch& stretch, int x) {
  std::int64_t floor = next_floor(stretch, x);
  if (floor >= capacity_) return false;
  set(floor_[index(x)], floor);
  lift(stretch.items, x, x + 1, floor);
  return solve(stretch);
}

/// The stretches between which nothing that is left spans, the smallest first.
std::vector<Stretch> Search::split(const Stretch& stretch) {
  std::fill(count_.begin() + stretch.first, count_.begin() + stretch.last + 1, 0);
  std::fill(spanning_.begin() + stretch.first, spanning_.begin() + stretch.last + 1, 0);
  for (int i : stretch.items) {
    ++count_[index(item(i).first)], --count_[index(item(i).last)];
    if (item(i).last - item(i).first > 1) ++spanning_[index(item(i).first + 1)], --spanning_[index(item(i).last)];
  }
  std::vector<Stretch> stretches;
  std::vector<int>& owner = basin_;
  int live = 0, spanning = 0;
  for (int x = stretch.first; x < stretch.last; ++x) {
    live += count_[index(x)], spanning += spanning_[index(x)];
    if (live == 0) continue;
    if (spanning == 0) stretches.push_back({{}, x, x});
    owner[index(x)] = static_cast<int>(stretches.size()) - 1;
    stretches.back().last = x + 1;
  }
  for (int i : stretch.items) stretches[index(owner[index(item(i).first)])].items.push_back(i);
  std::ranges::stable_sort(stretches, {}, [](const Stretch& s) { return s.items.size(); });
  return stretches;
}

/// What can lie on the floor of section x, in the order to try it; of equal items only one.
Items Search::choices_at(const Stretch& stretch, int x) const {
  Items choices;
  for (int i : stretch.items)
    if (item(i).first <= x && x < item(i).last && offset_[index(i)] == floor_[index(x)]) choices.push_back(i);
  std::ranges::sort(choices, {}, [&](int i) { return std::pair(class_[index(i)], i); });
  auto same_class = [&](int a, int b) { return class_[index(a)] == class_[index(b)]; };
  choices.erase(std::unique(choices.begin(), choices.end(), same_class), choices.end());
  std::ranges::sort(choices, {}, [&](int i) { return rank_[index(i)]; });
  return choices;
}

bool Search::branch(const Stretch& stretch) {
  int x = choose_section(stretch);
  bool may_stay_empty = has_slack(x);
  std::size_t mark = trail_.size();
  for (int i : choices_at(stretch, x)) {
    if (place(stretch, i)) return true;
    undo(mark);
    if (gave_up_) return false;
  }
  return may_stay_empty && leave_empty(stretch, x);
}

bool Search::solve(const Stretch& stretch) {
  if (stretch.items.empty()) return true;
  if (!may_spend(stretch)) return false;
  std::size_t mark = trail_.size();
  if (!bounds_hold(stretch)) return undo(mark), false;
  Hash state = hash(stretch);
  if (failed_.has(state)) return undo(mark), false;
  ++depth_;
  bool found = branch(stretch);
  --depth_;
  if (found) return true;
  undo(mark);
  if (!gave_up_) failed_.add(state);
  return false;
}

}  // namespace

struct Exact::State {
  Search search;
  Random random;
  std::int64_t slice = 1'000'000;
  std::size_t round = 0;
};

Exact::Exact(const Instance& instance, std::int64_t capacity, std::uint64_t seed, Work& work)
    : instance_(instance), work_(work), state_(new State{Search(instance, capacity, work), Random(seed)}) {}
Exact::~Exact() = default;

Decision Exact::run(std::int64_t allowance) {
  std::int64_t end = work_.used() + std::min(allowance, work_.left());
  for (std::size_t& round = state_->round; work_.used() < end && !work_.is_over(); ++round) {
    std::vector<double> key = keys(instance_, orders[round % std::size(orders)]);
    if (round >= std::size(orders))
      for (double& k : key) k *= state_->random.uniform(0.5, 1.5);
    Outcome outcome = state_->search.run(key, std::min(state_->slice, end - work_.used()));
    if (outcome != Outcome::unknown) return {outcome, state_->search.placement()};
    if (round % std::size(orders) == std::size(orders) - 1) state_->slice *= 2;
  }
  return {};
}

}  // namespace reprise::memory
