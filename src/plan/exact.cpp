// SPDX-License-Identifier: Apache-2.0
// Exact search for small problems: the cheapest path (A*, Hart, Nilsson & Raphael 1968) over states (nodes that have
// run, form of every value). Optimal over all orders and all recomputations.
//
// Nothing is dropped before it must be: a state with more in memory can do whatever one with less can, after a drop. So
// a step that fits drops nothing, and one that does not fit drops a set from which no value could be spared. When no
// schedule fits, the same search without costs bisects for the smallest budget that would do.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "base/index.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

using Bits = std::uint64_t;
constexpr Bits bit(int index) { return Bits{1} << index; }

constexpr int most_nodes = 20;  // beyond this the state limit is always reached first
constexpr int most_values = 62;

struct State {
  Bits ran = 0;                               // nodes
  Bits plain = 0, compressed = 0, paged = 0;  // values, by form
  friend bool operator==(const State&, const State&) = default;
};

struct HashState {
  std::size_t operator()(const State& s) const {
    Bits h = 0x9e3779b97f4a7c15;
    for (Bits word : {s.ran, s.plain, s.compressed, s.paged}) h = (h ^ word ^ (h >> 29)) * 0xbf58476d1ce4e5b9;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
};

// A state that was reached, and how.
struct Reached {
  State state;
  double cost = 0;
  int parent = -1;
  std::vector<Step> steps;  // from the parent: what to drop, and the step itself
};

class Search {
 public:
  Search(const Attempt& attempt, std::int64_t state_limit)
      : problem_(attempt.problem), deadline_(attempt.deadline), states_left_(state_limit) {
    for (int v = 0; v < problem_.value_count(); ++v) {
      const Problem::Value& value = problem_.value(v);
      if (is_pinned(v)) {
        always_ += value.bytes;
        pinned_ |= bit(v);
      }
      if (value.output) outputs_ |= bit(v);
    }
    always_ += problem_.resident_bytes();
    for (const Problem::Node& node : problem_.nodes()) {
      Bits inputs = 0;
      for (int input : node.inputs) inputs |= bit(input);
      inputs_.push_back(inputs);
    }
  }

  bool gave_up() const { return gave_up_; }

  /// The cheapest schedule within the budget that costs less than `below`, if there is one.
  std::optional<Schedule> cheapest(std::int64_t budget, double below) {
    cost_matters_ = true;
    return search(budget, below);
  }

  /// Some schedule within the budget.
  std::optional<Schedule> any(std::int64_t budget) {
    cost_matters_ = false;
    return search(budget, std::numeric_limits<double>::infinity());
  }

 private:
  struct Open {
    double estimate;
    int missing;  // nodes that have not run: among equals the one nearest to the end
    int index;
    bool operator<(const Open& other) const {
      return estimate != other.estimate ? estimate > other.estimate : missing > other.missing;
    }
  };

  std::optional<Schedule> search(std::int64_t budget, double below) {
    budget_ = budget;
    below_ = below;
    reached_.clear();
    known_.clear();
    open_ = {};
    reach_start();
    while (!open_.empty()) {
      Open next = open_.top();
      open_.pop();
      Reached current = reached_[at(next.index)];
      if (known_.at(current.state) != next.index) continue;  // reached at less cost since
      if (is_end(current.state)) return schedule_to(next.index);
      if (--states_left_ < 0 || deadline_.is_over()) {
        gave_up_ = true;
        return std::nullopt;
      }
      expand(current, next.index);
    }
    return std::nullopt;
  }

  // Pinned nodes run first: that takes nothing.
  void reach_start() {
    State start;
    std::vector<Step> steps;
    for (int n = 0; n < problem_.node_count(); ++n) {
      if (!problem_.node(n).pinned) continue;
      start.ran |= bit(n);
      steps.push_back({Step::Kind::run, n});
    }
    start.plain = pinned_;
    if (always_ <= budget_) reach(start, 0, -1, std::move(steps));
  }

  bool is_pinned(int value) const { return problem_.node(problem_.value(value).node).pinned; }
  bool is_end(const State& s) const { return s.ran == bit(problem_.node_count()) - 1 && (outputs_ & ~s.plain) == 0; }

  double cost_still_to_pay(const State& s) const {
    double cost = 0;
    for (int n = 0; n < problem_.node_count(); ++n) {
      if (!(s.ran & bit(n))) cost += problem_.node(n).cost;
    }
    return cost;
  }

  void reach(const State& state, double cost, int parent, std::vector<Step> steps) {
    if (!cost_matters_) cost = 0;
    double estimate = cost_matters_ ? cost + cost_still_to_pay(state) : 0;
    if (estimate >= below_) return;
    auto [entry, is_new] = known_.try_emplace(state, static_cast<int>(reached_.size()));
    if (!is_new) {
      if (reached_[at(entry->second)].cost <= cost) return;
      entry->second = static_cast<int>(reached_.size());
    }
    int missing = problem_.node_count() - __builtin_popcountll(state.ran);
    open_.push({estimate, missing, static_cast<int>(reached_.size())});
    reached_.push_back({state, cost, parent, std::move(steps)});
  }

  void expand(const Reached& from, int index) {
    for (int n = 0; n < problem_.node_count(); ++n) {
      if (may_run(from.state, n)) run(from, index, n);
    }
    for (int v = 0; v < problem_.value_count(); ++v) change_form(from, index, v);
  }

  bool may_run(const State& s, int index) const {
    const Problem::Node& node = problem_.node(index);
    if (inputs_[at(index)] & ~s.plain) return false;
    if (s.ran & bit(index)) {
      if (node.never_recompute || has_all_values(s, node)) return false;
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
        if (problem_.value(v).keep) return false;
      }
    }
    return reads_only_current_values(s, index);
  }

  bool has_all_values(const State& s, const Problem::Node& node) const {
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (!(s.plain & bit(v))) return false;
    }
    return true;
  }

  bool reads_only_current_values(const State& s, int index) const {
    for (int input : problem_.node(index).inputs) {
      const Problem::Value& value = problem_.value(input);
      int by = value.updated_by;
      if (by < 0 && value.view_of >= 0 && problem_.value(value.view_of).updated_by != value.node) {
        by = problem_.value(value.view_of).updated_by;
      }
      if (by >= 0 && by != index && (s.ran & bit(by))) return false;
    }
    return true;
  }

  // Takes a value in any form, and its views, out of memory.
  void forget(State& s, int value) const {
    s.plain &= ~bit(value);
    s.compressed &= ~bit(value);
    s.paged &= ~bit(value);
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (problem_.value(v).view_of == value) s.plain &= ~bit(v);
    }
  }

  std::int64_t bytes_in(const State& s) const {
    std::int64_t bytes = always_;
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (s.plain & ~pinned_ & bit(v)) bytes += problem_.value(v).bytes;
      if (s.compressed & bit(v)) bytes += problem_.value(v).compression->bytes;
    }
    return bytes;
  }

  void run(const Reached& from, int index, int n) {
    const Problem::Node& node = problem_.node(n);
    State before = from.state;
    std::vector<Step> drops;
    for (int v = 0; v < problem_.value_count(); ++v) {
      if (problem_.value(v).never_keep_across == n && (before.plain & bit(v))) drop(before, drops, v);
    }
    if (inputs_[at(n)] & ~before.plain) return;  // a view of what must go was among them
    std::int64_t made = node.scratch;
    Bits replaced = 0;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      replaced |= bit(v);
      if (!node.pinned) made += problem_.value(v).bytes;
    }
    auto arrive = [&](const State& kept, const std::vector<Step>& dropped, Bits taken) {
      State after = kept;
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
        forget(after, v);
        after.plain |= bit(v);
      }
      after.ran |= bit(n);
      std::vector<Step> steps = dropped;
      steps.push_back({Step::Kind::run, n});
      for (int v = 0; v < problem_.value_count(); ++v) {
        if (taken & bit(v)) drop(after, steps, v);
      }
      reach(after, from.cost + node.cost, index, std::move(steps));
    };
    for (Bits taken : takeovers(before, node)) {
      std::int64_t needed = made - taken_bytes(node, taken);
      Bits fixed = with_roots(inputs_[at(n)]) | replaced;
      for_each_way_to_fit(before, drops, fixed, replaced, needed,
                          [&](const State& kept, const std::vector<Step>& dropped) { arrive(kept, dropped, taken); });
    }
  }

  // Inputs whose memory outputs can take over, in every combination.
  std::vector<Bits> takeovers(const State& s, const Problem::Node& node) const {
    std::vector<Bits> sets{0};
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      int input = problem_.value(v).in_place_of;
      if (input < 0 || is_pinned(input) || !(s.plain & bit(input)) || (sets.back() & bit(input))) continue;
      for (std::size_t i = 0, count = sets.size(); i < count; ++i) sets.push_back(sets[i] | bit(input));
    }
    return sets;
  }

  // Each input is taken by the first output that may.
  std::int64_t taken_bytes(const Problem::Node& node, Bits taken) const {
    std::int64_t bytes = 0;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      int input = problem_.value(v).in_place_of;
      if (input < 0 || !(taken & bit(input))) continue;
      bytes += problem_.value(v).bytes;
      taken &= ~bit(input);
    }
    return bytes;
  }

  Bits with_roots(Bits values) const {
    for (int v = 0; v < problem_.value_count(); ++v) {
      if ((values & bit(v)) && problem_.value(v).view_of >= 0) values |= bit(problem_.value(v).view_of);
    }
    return values;
  }

  void drop(State& s, std::vector<Step>& steps, int value) const {
    forget(s, value);
    steps.push_back({Step::Kind::drop, value});
  }

  // Calls `arrive` for every way to drop just enough that `needed` further bytes fit; values in `fixed` stay, those in
  // `replaced` count for nothing.
  template <class Arrive>
  void for_each_way_to_fit(const State& s, const std::vector<Step>& drops, Bits fixed, Bits replaced,
                           std::int64_t needed, const Arrive& arrive) const {
    State counted = s;
    counted.plain &= ~(replaced & ~pinned_);
    counted.compressed &= ~replaced;
    std::int64_t excess = bytes_in(counted) + needed - budget_;
    if (excess <= 0) return arrive(s, drops);
    std::vector<std::pair<std::int64_t, int>> candidates;  // bytes, value
    std::int64_t droppable = 0;
    for (int v = 0; v < problem_.value_count(); ++v) {
      if ((fixed | pinned_) & bit(v)) continue;
      std::int64_t bytes = s.plain & bit(v)        ? problem_.value(v).bytes
                           : s.compressed & bit(v) ? problem_.value(v).compression->bytes
                                                   : 0;
      if (bytes > 0) candidates.emplace_back(bytes, v);
      droppable += bytes;
    }
    if (droppable < excess) return;
    std::sort(candidates.rbegin(), candidates.rend());
    std::vector<int> chosen;
    choose(s, drops, candidates, 0, excess, droppable, chosen, arrive);
  }

  // Largest first, so that a set is minimal exactly when its last element could not be spared.
  template <class Arrive>
  void choose(const State& s, const std::vector<Step>& drops,
              const std::vector<std::pair<std::int64_t, int>>& candidates, std::size_t next, std::int64_t excess,
              std::int64_t left, std::vector<int>& chosen, const Arrive& arrive) const {
    if (excess <= 0) {
      State kept = s;
      std::vector<Step> steps = drops;
      for (int v : chosen) drop(kept, steps, v);
      return arrive(kept, steps);
    }
    if (left < excess) return;
    auto [bytes, value] = candidates[next];
    chosen.push_back(value);
    choose(s, drops, candidates, next + 1, excess - bytes, left - bytes, chosen, arrive);
    chosen.pop_back();
    choose(s, drops, candidates, next + 1, excess, left - bytes, chosen, arrive);
  }

  void change_form(const Reached& from, int index, int v) {
    const Problem::Value& value = problem_.value(v);
    if (value.keep) return;
    const State& s = from.state;
    auto step = [&](Step::Kind kind, double cost, std::int64_t needed, Bits State::*into) {
      for_each_way_to_fit(s, {}, bit(v), 0, needed, [&](const State& kept, const std::vector<Step>& drops) {
        State after = kept;
        forget(after, v);
        after.*into |= bit(v);
        std::vector<Step> steps = drops;
        steps.push_back({kind, v});
        reach(after, from.cost + cost, index, std::move(steps));
      });
    };
    if (const auto& paging = value.paging; paging && (s.plain & bit(v))) {
      step(Step::Kind::page_out, paging->out_cost, -value.bytes, &State::paged);
    } else if (paging && (s.paged & bit(v))) {
      step(Step::Kind::page_in, paging->in_cost, value.bytes, &State::plain);
    }
    if (const auto& form = value.compression; form && (s.plain & bit(v))) {
      step(Step::Kind::compress, form->encode_cost, form->bytes, &State::compressed);
    } else if (form && (s.compressed & bit(v))) {
      step(Step::Kind::expand, form->decode_cost, value.bytes, &State::plain);
    }
  }

  Schedule schedule_to(int index) const {
    std::vector<const Reached*> path;
    for (int i = index; i >= 0; i = reached_[at(i)].parent) path.push_back(&reached_[at(i)]);
    Schedule schedule;
    for (auto reached = path.rbegin(); reached != path.rend(); ++reached) {
      schedule.steps.insert(schedule.steps.end(), (*reached)->steps.begin(), (*reached)->steps.end());
    }
    return schedule;
  }

  const Problem& problem_;
  const Deadline& deadline_;
  std::int64_t states_left_;
  std::int64_t budget_ = 0;
  double below_ = 0;
  bool cost_matters_ = true, gave_up_ = false;
  std::int64_t always_ = 0;  // bytes of pinned values and resident ones
  Bits pinned_ = 0, outputs_ = 0;
  std::vector<Bits> inputs_;  // of each node
  std::vector<Reached> reached_;
  std::unordered_map<State, int, HashState> known_;
  std::priority_queue<Open> open_;
};

}  // namespace

std::vector<Schedule> solve_exact(const Attempt& attempt) {
  const Problem& problem = attempt.problem;
  if (problem.node_count() > most_nodes || problem.value_count() > most_values) return {};
  constexpr std::int64_t most_states = 1'000'000;  // some hundred megabytes
  Search search(attempt, std::min(most_states, 5 * attempt.options.iterations));
  std::int64_t budget = attempt.options.budget;
  bool is_feasible = attempt.best_verdict.peak <= budget;
  double known = is_feasible ? attempt.best_verdict.cost : std::numeric_limits<double>::infinity();
  if (auto found = search.cheapest(budget, known)) {
    attempt.prove_cost(cost(problem, *found));
    return {*found};
  }
  if (search.gave_up()) return {};
  if (is_feasible) {
    attempt.prove_cost(known);
    return {};
  }

  std::vector<Schedule> lowest;  // nothing fits: the smallest budget that would do
  std::int64_t too_small = budget, enough = attempt.best_verdict.peak;
  while (too_small + 1 < enough && !search.gave_up()) {
    std::int64_t middle = too_small + (enough - too_small) / 2;
    if (auto found = search.any(middle)) {
      enough = peak(problem, *found);
      lowest = {*found};
    } else if (!search.gave_up()) {
      too_small = middle;
    }
  }
  attempt.prove_budget(too_small + 1);
  return lowest;
}

}  // namespace reprise::plan
