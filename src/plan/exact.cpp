// SPDX-License-Identifier: Apache-2.0
// Exact search for small problems: the cheapest path (A*, Hart, Nilsson & Raphael 1968) over states (nodes that have
// run, form of every value). Optimal over all orders and all recomputations.
//
// Nothing leaves memory before it must: a state with more in memory can do whatever one with less can, after a drop. So
// a step that fits drops nothing, and one that does not fit drops a set from which no value could be spared. What
// nothing will ever read again is dropped at once, so that states which differ in it are one. When no schedule fits,
// the same search without costs bisects for the smallest budget that would do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>

#include "base/index.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

using Bits = std::uint64_t;
constexpr Bits bit(int index) { return Bits{1} << index; }

template <class Visit>
void for_each_bit(Bits bits, const Visit& visit) {
  for (; bits; bits &= bits - 1) visit(__builtin_ctzll(bits));
}

constexpr double impossible = std::numeric_limits<double>::infinity();
constexpr int most_nodes = 24;  // beyond this the state limit is nearly always reached first
constexpr int most_values = 62;

struct State {
  Bits ran = 0;                               // nodes
  Bits plain = 0, compressed = 0, paged = 0;  // values, by form
  Bits present() const { return plain | compressed | paged; }
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
  Bits paged_before = 0;  // of the parent's values
  Step step;              // after that
};

class Search {
 public:
  Search(const Attempt& attempt, std::int64_t state_limit)
      : problem_(attempt.problem), deadline_(attempt.deadline), states_left_(state_limit), ways_left_(4 * state_limit) {
    for (int v = 0; v < problem_.value_count(); ++v) {
      const Problem::Value& value = problem_.value(v);
      with_views_.push_back(bit(v));
      if (value.view_of >= 0) with_views_[at(value.view_of)] |= bit(v);
      if (problem_.paging(v) && !value.keep) pageable_ |= bit(v);
      if (value.output) outputs_ |= bit(v);
      if (!is_pinned(v)) continue;
      always_ += value.bytes;
      pinned_ |= bit(v);
    }
    always_ += problem_.resident_bytes();
    for (const Problem::Node& node : problem_.nodes()) {
      Bits inputs = 0, made = 0;
      bool has_kept = false;
      for (int input : problem_.inputs(node)) inputs |= bit(input);
      for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
        made |= bit(v);
        has_kept = has_kept || problem_.value(v).keep;
      }
      inputs_.push_back(inputs);
      made_.push_back(made);
      may_run_again_.push_back(!node.never_recompute && !has_kept && !node.pinned);
    }
  }

  /// Whether the last search ended before it had tried every way: what it says is then no proof.
  bool gave_up() const { return gave_up_; }

  /// The cheapest schedule within the budget that costs less than `below`, if there is one.
  std::optional<Schedule> cheapest(std::int64_t budget, double below) {
    cost_matters_ = true;
    return search(budget, below);
  }

  /// Some schedule within the budget.
  std::optional<Schedule> any(std::int64_t budget) {
    cost_matters_ = false;
    return search(budget, impossible);
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
      if (is_end(current.state)) {
        gave_up_ = is_exhausted();  // ways were left out, and one of them may be cheaper
        return schedule_to(next.index);
      }
      if (is_exhausted() || deadline_.is_over()) break;
      expand(current, next.index);
    }
    gave_up_ = !open_.empty() || is_exhausted();
    return std::nullopt;
  }

  // Pinned nodes run first: that takes nothing.
  void reach_start() {
    if (always_ > budget_) return;
    Reached start;
    for (int n = 0; n < problem_.node_count(); ++n)
      if (problem_.node(n).pinned) start.state.ran |= bit(n);
    start.state.plain = pinned_;
    reach(start);
  }

  bool is_exhausted() const { return states_left_ <= 0 || ways_left_ <= 0; }
  bool is_pinned(int value) const { return problem_.node(problem_.value(value).node).pinned; }
  bool is_end(const State& s) const { return s.ran == bit(problem_.node_count()) - 1 && (outputs_ & ~s.plain) == 0; }

  // Nodes that have not run must run, and so must what makes a value again that such a node reads and that is nowhere.
  // What that costs; `impossible` if some of it may not run any more.
  double cost_still_to_pay(const State& s) const {
    double cost = 0;
    Bits lost = outputs_ & ~s.present();
    for (int n = problem_.node_count() - 1; n >= 0; --n) {
      bool has_run = s.ran & bit(n);
      if (has_run && !(made_[at(n)] & lost)) continue;
      if ((has_run && !may_run_again_[at(n)]) || !reads_only_current_values(s, n)) return impossible;
      cost += problem_.node(n).cost;
      lost |= inputs_[at(n)] & ~s.present();
    }
    return cost;
  }

  // Values that some node may still read, whatever runs again, and outputs.
  Bits useful(const State& s) const {
    Bits values = with_roots(outputs_) | pinned_;
    for (int n = problem_.node_count() - 1; n >= 0; --n) {
      Bits made = made_[at(n)];
      if ((s.ran & bit(n)) && !(may_run_again_[at(n)] && (made & values))) continue;
      values |= with_roots(inputs_[at(n)]);
    }
    return values;
  }

  void reach(Reached next) {
    --ways_left_;
    Bits values = useful(next.state);
    next.state.plain &= values;
    next.state.compressed &= values;
    next.state.paged &= values;
    double estimate = next.cost + cost_still_to_pay(next.state);
    if (estimate >= below_) return;
    if (!cost_matters_) estimate = next.cost = 0;
    auto [entry, is_new] = known_.try_emplace(next.state, static_cast<int>(reached_.size()));
    if (!is_new) {
      if (reached_[at(entry->second)].cost <= next.cost) return;
      entry->second = static_cast<int>(reached_.size());
    }
    int missing = problem_.node_count() - __builtin_popcountll(next.state.ran);
    open_.push({estimate, missing, static_cast<int>(reached_.size())});
    reached_.push_back(next);
    --states_left_;
  }

  void expand(const Reached& from, int index) {
    for (int n = 0; n < problem_.node_count(); ++n)
      if (may_run(from.state, n)) run(from, index, n);
    for (int v = 0; v < problem_.value_count(); ++v) change_form(from, index, v);
  }

  bool may_run(const State& s, int n) const {
    if (inputs_[at(n)] & ~s.plain) return false;
    if ((s.ran & bit(n)) && (!may_run_again_[at(n)] || (made_[at(n)] & ~s.plain) == 0)) return false;
    return reads_only_current_values(s, n);
  }

  bool reads_only_current_values(const State& s, int index) const {
    for (int input : problem_.inputs(index)) {
      const Problem::Value& value = problem_.value(input);
      int by = value.updated_by;
      if (by < 0 && value.view_of >= 0 && problem_.value(value.view_of).updated_by != value.node)
        by = problem_.value(value.view_of).updated_by;
      if (by >= 0 && by != index && (s.ran & bit(by))) return false;
    }
    return true;
  }

  // Takes values in any form, and their views, out of memory.
  void forget(State& s, Bits values) const {
    Bits gone = 0;
    for_each_bit(values, [&](int v) { gone |= with_views_[at(v)]; });
    s.plain &= ~gone;
    s.compressed &= ~values;
    s.paged &= ~values;
  }

  std::int64_t bytes_of(const State& s, int v) const {
    return s.plain & bit(v) ? problem_.value(v).bytes : s.compressed & bit(v) ? problem_.compression(v)->bytes : 0;
  }

  std::int64_t bytes_in(const State& s) const {
    std::int64_t bytes = always_;
    for_each_bit((s.plain | s.compressed) & ~pinned_, [&](int v) { bytes += bytes_of(s, v); });
    return bytes;
  }

  void run(const Reached& from, int index, int n) {
    const Problem::Node& node = problem_.node(n);
    Bits leaving = 0;
    for_each_bit(from.state.plain, [&](int v) {
      if (problem_.value(v).never_keep_across == n) leaving |= bit(v);
    });
    State before = from.state;
    forget(before, leaving);
    if (inputs_[at(n)] & ~before.plain) return;  // a view of what must go was among them
    std::int64_t made = node.scratch;
    for_each_bit(made_[at(n)], [&](int v) { made += problem_.value(v).bytes; });
    for (Bits taken : takeovers(before, node)) {
      Bits fixed = with_roots(inputs_[at(n)]) | made_[at(n)];
      for_each_way_to_fit(before, fixed, made_[at(n)], made - taken_bytes(node, taken), [&](Bits dropped) {
        for_each_way_to_leave(from, leaving | dropped, [&](Reached next) {
          forget(next.state, made_[at(n)]);
          next.state.plain |= made_[at(n)];
          next.state.ran |= bit(n);
          forget(next.state, taken);
          next.cost += node.cost;
          next.parent = index;
          next.step = {Step::Kind::run, n};
          reach(next);
        });
      });
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
    Bits all = values;
    for_each_bit(values, [&](int v) {
      if (problem_.value(v).view_of >= 0) all |= bit(problem_.value(v).view_of);
    });
    return all;
  }

  // Calls `arrive` for every set of values without which `needed` further bytes just fit; those in `fixed` stay, those
  // in `replaced` count for nothing.
  template <class Arrive>
  void for_each_way_to_fit(const State& s, Bits fixed, Bits replaced, std::int64_t needed, const Arrive& arrive) const {
    State counted = s;
    counted.plain &= ~(replaced & ~pinned_);
    counted.compressed &= ~replaced;
    std::int64_t excess = bytes_in(counted) + needed - budget_;
    if (excess <= 0) return arrive(Bits{0});
    std::vector<std::pair<std::int64_t, int>> candidates;  // bytes, value
    std::int64_t droppable = 0;
    for_each_bit((s.plain | s.compressed) & ~(fixed | pinned_), [&](int v) {
      std::int64_t bytes = bytes_of(s, v);
      if (bytes > 0) candidates.emplace_back(bytes, v);
      droppable += bytes;
    });
    if (droppable < excess) return;
    std::sort(candidates.rbegin(), candidates.rend());
    choose(candidates, 0, excess, droppable, 0, arrive);
  }

  // Largest first, so that a set is minimal exactly when its last element could not be spared.
  template <class Arrive>
  void choose(const std::vector<std::pair<std::int64_t, int>>& candidates, std::size_t next, std::int64_t excess,
              std::int64_t left, Bits chosen, const Arrive& arrive) const {
    if (excess <= 0) return arrive(chosen);
    if (left < excess || is_exhausted()) return;
    auto [bytes, value] = candidates[next];
    choose(candidates, next + 1, excess - bytes, left - bytes, chosen | bit(value), arrive);
    choose(candidates, next + 1, excess, left - bytes, chosen, arrive);
  }

  // Calls `arrive` with what comes of `from` when values leave memory: each that can is paged out, or dropped. Where
  // costs do not matter, paging is never worse.
  template <class Arrive>
  void for_each_way_to_leave(const Reached& from, Bits values, const Arrive& arrive) const {
    Bits either = values & pageable_ & from.state.plain;
    for (Bits paged = either;; paged = (paged - 1) & either) {
      Reached next = from;
      forget(next.state, values);
      next.state.paged |= paged;
      next.paged_before = paged;
      for_each_bit(paged, [&](int v) { next.cost += problem_.paging(v)->out_cost; });
      arrive(next);
      if (paged == 0 || !cost_matters_) return;
    }
  }

  void change_form(const Reached& from, int index, int v) {
    const Problem::Value& value = problem_.value(v);
    if (value.keep) return;
    const State& s = from.state;
    auto step = [&](Step::Kind kind, double cost, std::int64_t needed, Bits State::*into) {
      for_each_way_to_fit(s, bit(v), 0, needed, [&](Bits dropped) {
        for_each_way_to_leave(from, dropped, [&](Reached next) {
          forget(next.state, bit(v));
          next.state.*into |= bit(v);
          next.cost += cost;
          next.parent = index;
          next.step = {kind, v};
          reach(next);
        });
      });
    };
    if (s.paged & bit(v)) step(Step::Kind::page_in, problem_.paging(v)->in_cost, value.bytes, &State::plain);
    if (const auto& form = problem_.compression(v); form && (s.plain & bit(v)))
      step(Step::Kind::compress, form->encode_cost, form->bytes, &State::compressed);
    else if (form && (s.compressed & bit(v)))
      step(Step::Kind::expand, form->decode_cost, value.bytes, &State::plain);
  }

  Schedule schedule_to(int index) const {
    std::vector<const Reached*> path;
    for (int i = index; i >= 0; i = reached_[at(i)].parent) path.push_back(&reached_[at(i)]);
    std::vector<Step> steps;
    for (int n = 0; n < problem_.node_count(); ++n)
      if (problem_.node(n).pinned) steps.push_back({Step::Kind::run, n});
    for (std::size_t i = path.size() - 1; i-- > 0;) {
      for_each_bit(path[i]->paged_before, [&](int v) { steps.push_back({Step::Kind::page_out, v}); });
      steps.push_back(path[i]->step);
    }
    return with_drops(problem_, steps);  // as soon as possible, which makes a layout easier to find
  }

  const Problem& problem_;
  const Deadline& deadline_;
  std::int64_t states_left_, ways_left_;  // to reach: new ones, and in whatever way
  std::int64_t budget_ = 0;
  double below_ = 0;
  bool cost_matters_ = true, gave_up_ = false;
  std::int64_t always_ = 0;  // bytes of pinned values and resident ones
  Bits pinned_ = 0, outputs_ = 0, pageable_ = 0;
  std::vector<Bits> with_views_;     // each value and its views
  std::vector<Bits> inputs_, made_;  // values of each node
  std::vector<char> may_run_again_;  // by node
  std::vector<Reached> reached_;
  std::unordered_map<State, int, HashState> known_;
  std::priority_queue<Open> open_;
};

}  // namespace

std::vector<Schedule> solve_exact(const Attempt& attempt) {
  const Problem& problem = attempt.problem;
  if (problem.node_count() > most_nodes || problem.value_count() > most_values) return {};
  constexpr std::int64_t most_states = 2'000'000;  // some hundred megabytes
  Search search(attempt, std::min(most_states, 50 * attempt.options.iterations));
  std::int64_t budget = attempt.options.budget;
  bool is_feasible = attempt.best_verdict.peak <= budget;
  double known = attempt.best_verdict.cost;
  std::vector<Schedule> found;
  if (!is_feasible && budget >= attempt.certificate.least_budget) {
    if (auto some = search.any(budget)) {
      found = {*some};
      known = cost(problem, *some);
      is_feasible = true;
    }
    if (search.gave_up() || (is_feasible && std::isinf(attempt.options.gap))) return found;
  }
  if (is_feasible) {
    if (auto cheapest = search.cheapest(budget, known)) {
      found = {*cheapest};
      known = cost(problem, *cheapest);
    }
    if (!search.gave_up()) attempt.prove_cost(known);
    return found;
  }

  std::int64_t too_small = std::max(budget, attempt.certificate.least_budget - 1),
               enough = attempt.best_verdict.peak;  // nothing fits: the smallest that would do
  while (too_small + 1 < enough && !search.gave_up()) {
    std::int64_t middle = too_small + (enough - too_small) / 2;
    if (auto some = search.any(middle)) {
      enough = peak(problem, *some);
      found = {*some};
    } else if (!search.gave_up()) {
      too_small = middle;
    }
  }
  attempt.prove_budget(too_small + 1);
  return found;
}

}  // namespace reprise::plan
