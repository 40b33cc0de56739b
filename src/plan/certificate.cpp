// SPDX-License-Identifier: Apache-2.0
#include "plan/certificate.h"

#include <algorithm>

#include "base/index.h"

namespace reprise::plan {
namespace {

// Bytes in memory during each first run if everything stays until its last use.
std::vector<std::int64_t> loads(const Model& model) {
  std::vector<std::int64_t> change(model.nodes.size() + 2, 0), load(model.nodes.size());
  for (int v = 0; v < model.value_count(); ++v) {
    const Model::Value& value = model.value(v);
    int last = value.is_output ? model.node_count() : value.node;
    for (int reader : model.readers[v]) last = std::max(last, reader);
    change[at(value.node)] += value.bytes;
    change[at(last) + 1] -= value.bytes;
  }
  std::int64_t now = model.resident;
  for (std::size_t t = 0; t < load.size(); ++t) {
    now += change[t];
    load[t] = now + model.nodes[t].scratch;
  }
  return load;
}

// The moments worth looking at, the fullest first; at most `most` of them.
std::vector<int> moments(const Model& model, std::int64_t budget, std::size_t most) {
  std::vector<std::int64_t> load = loads(model);
  std::vector<int> order;
  for (int t = 0; t < model.node_count(); ++t) {
    if (load[at(t)] > budget) order.push_back(t);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return load[at(a)] > load[at(b)]; });
  if (order.size() > most) {  // half the fullest, half spread over the rest
    std::vector<int> chosen(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most / 2));
    for (std::size_t k = 0; k < most - most / 2; ++k) {
      chosen.push_back(order[most / 2 + k * (order.size() - most / 2) / (most - most / 2)]);
    }
    order = std::move(chosen);
  }
  return order;
}

constexpr std::size_t seed_count = 4;

void take_own_bytes(Certificate& certificate, const Model& model) {
  for (int t = 0; t < model.node_count(); ++t) {
    std::int64_t own = own_bytes(model, t);
    if (own <= certificate.least_budget) continue;
    certificate.least_budget = own;
    certificate.tightest = t;
  }
  certificate.least_budget_this_order = certificate.least_budget;
}

// Whether every order is bound by this moment as the model's order is, and the least memory of every order.
void take_any_order(Certificate& certificate, const Model& model, std::int64_t budget, int node) {
  Moment moment(model, node, Scope::any_order);
  MomentBound bound = best_price(moment, budget);
  std::int64_t least = moment.own_bytes() + moment.least_bytes();
  if (least > certificate.least_budget) {
    certificate.least_budget = least;
    certificate.tightest = node;
  }
  if (!bound.is_infeasible && bound.extra > certificate.any_order.extra) certificate.any_order = {bound.extra, node};
}

}  // namespace

Certificate prove(const Model& model, std::int64_t budget, const std::function<bool()>& should_stop) {
  Certificate certificate;
  take_own_bytes(certificate, model);
  // A cut takes time in proportion to the nodes before its moment; this keeps their sum within a few hundred thousand.
  std::size_t most = std::max<std::size_t>(8, 600'000 / (model.nodes.size() + 1));
  for (int t : moments(model, budget, most)) {
    if (should_stop()) break;
    Moment moment(model, t, Scope::this_order);
    MomentBound bound = best_price(moment, budget);
    if (bound.is_infeasible) {
      certificate.least_budget_this_order =
          std::max(certificate.least_budget_this_order, moment.own_bytes() + moment.least_bytes());
      take_any_order(certificate, model, budget, t);
      continue;
    }
    certificate.known.push_back({t, bound.extra});
    certificate.seeds.push_back({t, std::move(bound)});
    std::stable_sort(certificate.seeds.begin(), certificate.seeds.end(),
                     [](const auto& a, const auto& b) { return a.bound.extra > b.bound.extra; });
    if (certificate.seeds.size() > seed_count) certificate.seeds.pop_back();
  }
  for (const Certificate::Seed& seed : certificate.seeds) {
    if (seed.bound.extra > certificate.this_order.extra) certificate.this_order = {seed.bound.extra, seed.node};
    take_any_order(certificate, model, budget, seed.node);
  }
  if (!certificate.seeds.empty()) certificate.price = certificate.seeds.front().bound.price;
  return certificate;
}

void raise(Certificate& certificate, const Model& model, std::int64_t budget, int limit,
           const std::function<bool()>& should_stop) {
  for (Scope scope : {Scope::this_order, Scope::any_order}) {
    Certificate::Bound row = bound_in_a_row(certificate, model, budget, scope, limit, should_stop);
    Certificate::Bound& bound = scope == Scope::this_order ? certificate.this_order : certificate.any_order;
    if (row.extra > bound.extra) bound = row;
  }
  for (const Certificate::Seed& seed : certificate.seeds) {
    for (Scope scope : {Scope::this_order, Scope::any_order}) {
      if (should_stop()) return;
      Moment moment(model, seed.node, scope);
      MomentBound root = best_price(moment, budget);
      if (root.is_infeasible) continue;
      double extra = branch_and_bound(moment, budget, root, limit, should_stop).extra;
      Certificate::Bound& bound = scope == Scope::this_order ? certificate.this_order : certificate.any_order;
      if (extra > bound.extra) bound = {extra, seed.node};
    }
  }
  if (certificate.any_order.extra > certificate.this_order.extra) certificate.this_order = certificate.any_order;
}

}  // namespace reprise::plan
