// SPDX-License-Identifier: Apache-2.0
#include "plan/moment.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/index.h"

namespace reprise::plan {
namespace {

constexpr int source = 0, sink = 1;

// Which nodes have run before node t's first run, and which run only after it and not after node `until`, in the given
// scope.
struct Sides {
  std::vector<char> is_before, is_after;
};

// A node and all it is made from.
std::vector<char> ancestors_of(const Model& model, int node) {
  std::vector<char> is_ancestor(model.nodes.size(), 0);
  is_ancestor[at(node)] = 1;
  for (int i = node; i >= 0; --i) {
    if (!is_ancestor[at(i)]) continue;
    for (int v : model.inputs[i]) is_ancestor[at(model.value(v).node)] = 1;
  }
  return is_ancestor;
}

Sides sides_of(const Model& model, int t, Scope scope, int until) {
  std::size_t n = model.nodes.size();
  Sides sides{std::vector<char>(n, 0), std::vector<char>(n, 0)};
  int last = until == Moment::the_end ? model.node_count() - 1 : until;
  if (scope == Scope::this_order) {
    std::fill_n(sides.is_before.begin(), t + 1, 1);
    std::fill(sides.is_after.begin() + t + 1, sides.is_after.begin() + last + 1, 1);
    return sides;
  }
  sides.is_before = ancestors_of(model, t);
  std::vector<char> ends = until == Moment::the_end ? std::vector<char>(n, 1) : ancestors_of(model, until);
  std::vector<char> descends(n, 0);
  descends[at(t)] = 1;
  for (int i = t + 1; i <= last; ++i) {
    for (int v : model.inputs[i]) descends[at(i)] |= descends[at(model.value(v).node)];
    sides.is_after[at(i)] = descends[at(i)] && ends[at(i)];
  }
  return sides;
}

// Whether what node i reads has been overwritten for sure when node t first runs: another order may overwrite it later.
bool is_overwritten(const Model& model, const Sides& sides, int i, int t, Scope scope) {
  int last = model.node(i).last_stage;
  return scope == Scope::this_order ? last <= t : last < model.node_count() && sides.is_before[at(last)] != 0;
}

}  // namespace

Moment::Moment(const Model& model, int t, Scope scope, int until)
    : model_(model), node_(t), own_bytes_(plan::own_bytes(model, t)) {
  Sides sides = sides_of(model, t, scope, until);
  std::vector<char> is_own(model.values.size(), 0);
  for (int v : model.inputs[t]) is_own[at(v)] = 1;
  for (int k = 0; k < model.node(t).value_count; ++k) is_own[at(model.node(t).first_value + k)] = 1;

  candidate_of_.assign(model.values.size(), -1);
  std::vector<char> is_wanted(model.values.size(), 0);
  std::vector<int> vertex_of_node(model.nodes.size(), -1);
  int vertices = 2;
  std::vector<std::pair<int, int>> reads;  // candidate, reading node's vertex
  std::vector<int> sinks;
  for (int i = t; i >= 0; --i) {
    if (!sides.is_before[at(i)]) continue;
    const Model::Node& node = model.node(i);
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      if (is_own[at(v)]) continue;
      bool is_needed = model.value(v).is_output && until == the_end;
      for (int r : model.readers[v]) is_needed |= sides.is_after[at(r)] != 0;
      if (!is_needed && !is_wanted[at(v)]) continue;
      if (vertex_of_node[at(i)] < 0) {
        vertex_of_node[at(i)] = vertices++;
        makers_.push_back({i, vertex_of_node[at(i)], 0, is_overwritten(model, sides, i, t, scope)});
        for (int input : model.inputs[i]) is_wanted[at(input)] = 1;
      }
      candidate_of_[at(v)] = static_cast<int>(candidates_.size());
      candidates_.push_back({.value = v, .edge = 0, .vertex = vertices++, .maker = vertex_of_node[at(i)]});
      if (is_needed) {
        sinks.push_back(candidate_of_[at(v)]);
        needed_bytes_ += model.value(v).bytes;
      }
    }
  }
  flow_ = Flow(vertices);
  for (Maker& maker : makers_) maker.edge = flow_.add(source, maker.vertex, model.node(maker.node).least_rerun_cost());
  for (Candidate& candidate : candidates_) candidate.edge = flow_.add(candidate.maker, candidate.vertex, 0);
  for (const Maker& maker : makers_) {
    for (int input : model.inputs[maker.node]) {
      if (int c = candidate_of_[at(input)]; c >= 0) flow_.add(candidates_[at(c)].vertex, maker.vertex, Flow::unlimited);
    }
  }
  for (int c : sinks) flow_.add(candidates_[at(c)].vertex, sink, Flow::unlimited);
}

double Moment::price_of(const Candidate& candidate, double price) const {
  const Model::Value& value = model_.value(candidate.value);
  const Model::Forms& forms = model_.forms_of(candidate.value);
  if (candidate.form == Form::kept) return 0;
  double best = std::min(forms.page_cost, price * static_cast<double>(forms.compressed_bytes) + forms.compress_cost);
  bool may_stay = candidate.form == Form::open && value.excluded_at != node_;
  return may_stay ? std::min(best, price * static_cast<double>(value.bytes)) : best;
}

void Moment::set_prices(double price) {
  for (const Candidate& candidate : candidates_) flow_.set_capacity(candidate.edge, price_of(candidate, price));
  for (const Maker& maker : makers_) {
    double cost = model_.node(maker.node).least_rerun_cost();
    if (maker.is_overwritten) cost = forbidden;
    flow_.set_capacity(maker.edge, cost);
  }
}

Moment::Choice Moment::read_choice(double price) const {
  Choice choice;
  for (const Maker& maker : makers_) {
    if (flow_.is_sink_side(maker.vertex)) choice.cost += model_.node(maker.node).least_rerun_cost();
  }
  for (const Candidate& candidate : candidates_) {
    bool is_paid = flow_.is_sink_side(candidate.vertex) && !flow_.is_sink_side(candidate.maker);
    const Model::Value& value = model_.value(candidate.value);
    const Model::Forms& forms = model_.forms_of(candidate.value);
    if (candidate.form == Form::kept) {
      choice.bytes += value.bytes;
      choice.kept.push_back(candidate.value);
    } else if (is_paid) {
      double paid = price_of(candidate, price), plain = price * static_cast<double>(value.bytes);
      bool may_stay = candidate.form == Form::open && value.excluded_at != node_;
      if (may_stay && plain <= paid) {
        choice.bytes += value.bytes;
        choice.kept.push_back(candidate.value);
      } else if (forms.page_cost <= paid) {
        choice.cost += forms.page_cost;
        choice.paged.push_back(candidate.value);
      } else {
        choice.cost += forms.compress_cost;
        choice.bytes += forms.compressed_bytes;
        choice.compressed.push_back(candidate.value);
      }
    }
  }
  return choice;
}

Moment::Choice Moment::choose(double price) {
  set_prices(price);
  double value = flow_.solve(source, sink);
  Choice choice = read_choice(price);
  choice.bound = value;
  for (const Candidate& candidate : candidates_) {
    if (candidate.form == Form::kept) choice.bound += price * static_cast<double>(model_.value(candidate.value).bytes);
  }
  return choice;
}

Moment::Choice Moment::choose_smallest() {
  // Costs are nothing beside bytes; other forms count with the bytes they leave in memory.
  for (const Candidate& candidate : candidates_) {
    const Model::Value& value = model_.value(candidate.value);
    const Model::Forms& forms = model_.forms_of(candidate.value);
    double bytes = static_cast<double>(value.bytes);
    if (candidate.form == Form::dropped || value.excluded_at == node_) bytes = forbidden;
    if (forms.compress_cost < forbidden) bytes = std::min(bytes, static_cast<double>(forms.compressed_bytes));
    if (forms.page_cost < forbidden || candidate.form == Form::kept) bytes = 0;
    flow_.set_capacity(candidate.edge, bytes);
  }
  for (const Maker& maker : makers_) {
    double cost = model_.node(maker.node).least_rerun_cost();
    bool never = cost >= forbidden || maker.is_overwritten;
    flow_.set_capacity(maker.edge, never ? forbidden : 0);
  }
  Choice choice;
  choice.bound = flow_.solve(source, sink);
  choice.bytes =
      choice.bound >= forbidden ? std::int64_t{1} << 61 : static_cast<std::int64_t>(std::llround(choice.bound));
  for (const Candidate& candidate : candidates_) {
    const Model::Value& value = model_.value(candidate.value);
    const Model::Forms& forms = model_.forms_of(candidate.value);
    if (candidate.form == Form::kept) choice.bytes += value.bytes;
    if (forms.page_cost < forbidden) choice.cost += forms.page_cost;
    if (forms.compress_cost < forbidden) choice.cost += forms.compress_cost;
  }
  for (const Maker& maker : makers_) {
    double cost = model_.node(maker.node).least_rerun_cost();
    if (cost < forbidden) choice.cost += cost;  // more than it takes; only a first line for the search of the price
  }
  return choice;
}

std::int64_t Moment::least_bytes() { return choose_smallest().bytes; }

void Moment::fix(int value, Form form) {
  if (int c = candidate_of_[at(value)]; c >= 0) candidates_[at(c)].form = form;
}

// The bound is concave in the price. Two choices, one that fits and one that does not, are lines cost + price × bytes;
// where they cross either the bound touches them, and that is its top, or a better line is found (Newton's method on
// the pieces, as for any parametric cut).
MomentBound best_price(Moment& moment, std::int64_t budget) {
  MomentBound result;
  std::int64_t free_bytes = budget - moment.own_bytes();
  result.fitting = moment.choose_smallest();
  if (free_bytes < 0 || result.fitting.bytes > free_bytes) {
    result.is_infeasible = true;
    return result;
  }
  result.over = moment.choose(0);
  if (result.over.bytes <= free_bytes) {
    result.fitting = result.over;
    result.extra = result.over.cost;
    return result;
  }
  bool is_real = false;  // the first fitting line overstates its cost
  for (int round = 0; round < 60; ++round) {
    double bytes_apart = static_cast<double>(result.over.bytes - result.fitting.bytes);
    double price = (result.fitting.cost - result.over.cost) / bytes_apart;
    if (!(price >= 0)) break;
    Moment::Choice choice = moment.choose(price);
    double line = result.over.cost + price * static_cast<double>(result.over.bytes);
    double extra = choice.bound * (1 - 1e-12) - price * static_cast<double>(free_bytes);
    if (extra > result.extra) {
      result.extra = extra;
      result.price = price;
    }
    bool touches = choice.bound >= line * (1 - 1e-11);
    if (choice.bytes > free_bytes) {
      if (choice.bytes >= result.over.bytes && touches) break;
      result.over = choice;
    } else {
      bool same = is_real && choice.bytes == result.fitting.bytes;
      result.fitting = choice;
      is_real = true;
      if (same) break;
    }
    if (touches && is_real) break;
  }
  return result;
}

}  // namespace reprise::plan
