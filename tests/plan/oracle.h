// SPDX-License-Identifier: Apache-2.0
// Slow and obvious twins of the planner, written from the definitions in plan.h alone.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "reprise/plan.h"

namespace reprise::oracle {

/// Peak and cost of node runs by lifetimes: a value is in memory from a run of its node to its last read before the
/// next run of that node, outputs to the end. For problems without views, in-place, pinned values and other forms.
struct Simulated {
  std::int64_t peak = 0;
  double cost = 0;
};

inline Simulated simulate(const Problem& p, const std::vector<int>& runs) {
  int count = static_cast<int>(runs.size());
  std::vector<std::int64_t> bytes(runs.size(), p.resident_bytes());
  Simulated result{p.resident_bytes(), 0};
  for (int i = 0; i < count; ++i) {
    const Problem::Node& node = p.node(runs[static_cast<std::size_t>(i)]);
    result.cost += node.cost;
    bytes[static_cast<std::size_t>(i)] += node.scratch;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      int last = i, j = i + 1;
      for (; j < count && runs[static_cast<std::size_t>(j)] != runs[static_cast<std::size_t>(i)]; ++j) {
        for (int input : p.inputs(runs[static_cast<std::size_t>(j)])) last = input == v ? j : last;
      }
      if (j == count && p.value(v).output) last = count - 1;
      for (int t = i; t <= last; ++t) bytes[static_cast<std::size_t>(t)] += p.value(v).bytes;
    }
  }
  for (std::int64_t b : bytes) result.peak = std::max(result.peak, b);
  return result;
}

/// The least cost within the budget, if anything fits: shortest path over every single step, one at a time, nothing
/// left out. For all facts.
class LeastCost {
 public:
  LeastCost(const Problem& p, std::int64_t budget) : p_(p), budget_(budget) {}

  std::optional<double> find() {
    State start{std::vector<char>(p_.nodes().size(), 0), std::vector<char>(p_.values().size(), absent)};
    reach(start, 0);
    while (!open_.empty()) {
      auto [cost, state] = *open_.begin();
      open_.erase(open_.begin());
      if (is_end(state)) return cost;
      for (int n = 0; n < p_.node_count(); ++n) run(state, cost, n);
      for (int v = 0; v < p_.value_count(); ++v) change(state, cost, v);
    }
    return std::nullopt;
  }

 private:
  enum Form : char { absent, plain, compressed, paged };
  struct State {
    std::vector<char> ran, form;
    auto operator<=>(const State&) const = default;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool is_pinned(int v) const { return p_.node(p_.value(v).node).pinned; }

  std::int64_t bytes(const State& s) const {
    std::int64_t sum = p_.resident_bytes();
    for (int v = 0; v < p_.value_count(); ++v) {
      if (is_pinned(v) || s.form[at(v)] == plain) sum += p_.value(v).bytes;
      if (s.form[at(v)] == compressed) sum += p_.compression(v)->bytes;
    }
    return sum;
  }

  void reach(const State& s, double cost) {
    auto [known, is_new] = best_.try_emplace(s, cost);
    if (!is_new && known->second <= cost) return;
    if (!is_new) open_.erase({known->second, s});
    known->second = cost;
    open_.insert({cost, s});
  }

  bool is_end(const State& s) const {
    for (char ran : s.ran) {
      if (!ran) return false;
    }
    for (int v = 0; v < p_.value_count(); ++v) {
      if (p_.value(v).output && s.form[at(v)] != plain) return false;
    }
    return true;
  }

  void forget(State& s, int v) const {
    s.form[at(v)] = absent;
    for (int w = 0; w < p_.value_count(); ++w) {
      if (p_.value(w).view_of == v) s.form[at(w)] = absent;
    }
  }

  bool may_run(const State& s, int n) const {
    const Problem::Node& node = p_.node(n);
    if (s.ran[at(n)] && node.never_recompute) return false;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (s.ran[at(n)] && p_.value(v).keep) return false;
    }
    for (int input : p_.inputs(node)) {
      if (s.form[at(input)] != plain) return false;
      int root = p_.value(input).view_of >= 0 ? p_.value(input).view_of : input;
      int by = p_.value(root).updated_by;
      if (by >= 0 && by != n && s.ran[at(by)] && p_.value(input).node != by) return false;
    }
    for (int v = 0; v < p_.value_count(); ++v) {
      if (p_.value(v).never_keep_across == n && s.form[at(v)] == plain) return false;
    }
    return true;
  }

  // Runs the node; each of its outputs may or may not take over the input it can, which is then dropped at once.
  void run(const State& s, double cost, int n) {
    if (!may_run(s, n)) return;
    const Problem::Node& node = p_.node(n);
    State after = s;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) forget(after, v);
    std::int64_t before = bytes(after) + node.scratch;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) after.form[at(v)] = plain;
    after.ran[at(n)] = 1;
    take_over(after, cost + node.cost, before, node, node.first_value, {});
  }

  void take_over(const State& s, double cost, std::int64_t during, const Problem::Node& node, int v,
                 std::set<int> taken) {
    if (v == node.first_value + node.value_count) {
      State after = s;
      for (int input : taken) forget(after, input);
      if (during <= budget_) reach(after, cost);
      return;
    }
    std::int64_t size = node.pinned ? 0 : p_.value(v).bytes;
    int input = p_.value(v).in_place_of;
    take_over(s, cost, during + size, node, v + 1, taken);
    if (input < 0 || is_pinned(input) || !taken.insert(input).second) return;
    take_over(s, cost, during, node, v + 1, taken);
  }

  void change(const State& s, double cost, int v) {
    const Problem::Value& value = p_.value(v);
    State after = s;
    forget(after, v);
    if (s.form[at(v)] != absent && !is_pinned(v)) reach(after, cost);
    if (value.keep) return;
    auto become = [&](Form form, double price, std::int64_t during) {
      State other = after;
      other.form[at(v)] = form;
      if (during <= budget_) reach(other, cost + price);
    };
    std::int64_t now = bytes(s);
    if (p_.paging(v) && s.form[at(v)] == plain) become(paged, p_.paging(v)->out_cost, now);
    if (p_.paging(v) && s.form[at(v)] == paged) become(plain, p_.paging(v)->in_cost, now + value.bytes);
    const std::optional<Compression>& form = p_.compression(v);
    if (!form) return;
    if (s.form[at(v)] == plain) become(compressed, form->encode_cost, now + form->bytes);
    if (s.form[at(v)] == compressed) become(plain, form->decode_cost, now + value.bytes);
  }

  const Problem& p_;
  std::int64_t budget_;
  std::map<State, double> best_;
  std::set<std::pair<double, State>> open_;
};

inline std::optional<double> least_cost(const Problem& p, std::int64_t budget) { return LeastCost(p, budget).find(); }

}  // namespace reprise::oracle
