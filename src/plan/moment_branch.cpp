// SPDX-License-Identifier: Apache-2.0
// Branch and bound on one moment: closes what the price relaxation leaves open.
#include <algorithm>
#include <queue>

#include "plan/moment.h"

namespace reprise::plan {
namespace {

using Decisions = std::vector<std::pair<int, Moment::Form>>;

struct Open {
  double extra;
  Decisions decisions;
  int branch_on;
};
struct HigherFirst {
  bool operator()(const Open& a, const Open& b) const { return a.extra > b.extra; }
};

// The largest value that one of the two choices keeps and the other does not.
int most_disputed(const Model& model, const MomentBound& bound, const Decisions& decided) {
  std::vector<int> a = bound.fitting.kept, b = bound.over.kept, differ;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(differ));
  int best = -1;
  for (int v : differ) {
    bool is_decided = std::any_of(decided.begin(), decided.end(), [&](auto& d) { return d.first == v; });
    if (!is_decided && (best < 0 || model.value(v).bytes > model.value(best).bytes)) best = v;
  }
  return best;
}

// Adds a choice to the few cheapest.
void take(std::vector<Moment::Choice>& cheap, const Moment::Choice& choice) {
  constexpr std::size_t most = 8;
  auto place = std::ranges::lower_bound(cheap, choice.cost, {}, &Moment::Choice::cost);
  if (place != cheap.end() && place->cost == choice.cost) return;
  cheap.insert(place, choice);
  if (cheap.size() > most) cheap.pop_back();
}

}  // namespace

Branched branch_and_bound(Moment& moment, std::int64_t budget, const MomentBound& root, int node_limit,
                          const std::function<bool()>& should_stop) {
  Branched result;
  std::priority_queue<Open, std::vector<Open>, HigherFirst> open;
  double closed = forbidden;  // least bound of the branches that end with a choice that fits
  auto settle = [&](const MomentBound& bound, Decisions decisions, double floor) {
    if (bound.is_infeasible) return;
    take(result.cheap, bound.fitting);
    double extra = std::max(floor, bound.extra);
    int branch_on = most_disputed(moment.model(), bound, decisions);
    bool is_exact = branch_on < 0 || bound.fitting.cost <= extra * (1 + 1e-9);
    if (is_exact)
      closed = std::min(closed, extra);
    else
      open.push({extra, std::move(decisions), branch_on});
  };
  settle(root, {}, root.extra);
  for (int count = 0; count < node_limit && !open.empty() && open.top().extra < closed && !should_stop(); ++count) {
    Open top = open.top();
    open.pop();
    for (Moment::Form form : {Moment::Form::kept, Moment::Form::dropped}) {
      Decisions decisions = top.decisions;
      decisions.push_back({top.branch_on, form});
      for (auto [value, how] : decisions) moment.fix(value, how);
      settle(best_price(moment, budget), decisions, top.extra);
      for (auto [value, how] : decisions) moment.fix(value, Moment::Form::open);
    }
  }
  double least = open.empty() ? closed : std::min(closed, open.top().extra);
  result.extra = least >= forbidden ? root.extra : std::max(root.extra, least);
  return result;
}

}  // namespace reprise::plan
