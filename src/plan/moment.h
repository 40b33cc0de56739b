// SPDX-License-Identifier: Apache-2.0
// What a budget forces at one moment: while node t runs for the first time, the values in memory must separate what has
// been computed from what is still needed; whatever is needed and not in memory is made again later. With a price on
// each byte that is a least cut:
//
//   source → N_i   cost of node i      paid if i runs again
//   N_i → v        price of keeping v  paid if v, made by i, is kept
//   v → N_j        unlimited           j reads v
//   v → sink       unlimited           v is needed later
//
// and cut(price) - price × free bytes is, for any price, no more than what every schedule pays after the moment
// (Lagrangian relaxation). A value's price is the cheapest of its forms: as it is, compressed, paged out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/flow.h"
#include "plan/model.h"

namespace reprise::plan {

/// Whether a bound is for the model's order of first runs, or for every order.
enum class Scope { this_order, any_order };

class Moment {
 public:
  /// What a price chooses: which values are kept, in which form, and which nodes run again.
  struct Choice {
    double bound = 0;        // least of cost + price × bytes over all choices
    double cost = 0;         // of this one
    std::int64_t bytes = 0;  // of this one
    std::vector<int> kept;   // values in memory as they are
    std::vector<int> paged, compressed;
  };
  enum class Form : char { open, kept, dropped };

  /// Counts what is made again until the first run of node `until`, or until the end.
  Moment(const Model& model, int node, Scope scope, int until = the_end);
  static constexpr int the_end = -1;

  const Model& model() const { return model_; }
  int node() const { return node_; }
  std::int64_t own_bytes() const { return own_bytes_; }
  std::int64_t needed_bytes() const { return needed_bytes_; }
  /// Bytes that cannot be avoided besides own_bytes.
  std::int64_t least_bytes();
  Choice choose(double price);
  /// The cheapest bytes: what is chosen at an endless price.
  Choice choose_smallest();
  /// Fixes how a value is held, for branching; least_bytes and choose then count a kept value's bytes.
  void fix(int value, Form form);

 private:
  struct Candidate {
    int value;
    int edge;  // N → v
    int vertex;
    int maker;  // vertex of N
    Form form = Form::open;
  };
  struct Maker {
    int node, vertex, edge;
    bool is_overwritten;  // what it reads is gone by then, so that it cannot run again
  };
  double price_of(const Candidate& candidate, double price) const;
  Choice read_choice(double price) const;
  void set_prices(double price);

  const Model& model_;
  int node_;
  std::int64_t own_bytes_ = 0, needed_bytes_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<int> candidate_of_;  // of each value, or -1
  std::vector<Maker> makers_;
  Flow flow_{0};
};

/// The best price for a moment and what follows from it.
struct MomentBound {
  double extra = 0;  // every schedule within the budget costs at least this more than running all nodes once
  double price = 0;
  bool is_infeasible = false;  // what must be in memory is more than the budget
  Moment::Choice fitting;      // the cheapest choice seen that fits
  Moment::Choice over;         // the largest choice seen that does not
};
MomentBound best_price(Moment& moment, std::int64_t budget);

/// What branching on the values that the two choices around the best price disagree on tells of a moment.
struct Branched {
  double extra = 0;                   // the bound, raised
  std::vector<Moment::Choice> cheap;  // the cheapest choices seen that fit, the cheapest first; no two cost the same
};
Branched branch_and_bound(Moment& moment, std::int64_t budget, const MomentBound& root, int node_limit,
                          const std::function<bool()>& should_stop);

}  // namespace reprise::plan
