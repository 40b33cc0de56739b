// SPDX-License-Identifier: Apache-2.0
// Repairs a timeline that is over its budget by shaving its peak: at the highest slot, some idle value is dropped until
// its next use and brought back there, with whatever it needs; the best cost per freed byte wins.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "plan/timeline.h"

namespace reprise::plan {

class Shaver {
 public:
  struct Limits {
    std::int64_t budget = 0;
    double price = 0;  // what a byte is worth, to weigh keeping an input against making it again
    double noise = 0;  // scores are multiplied with up to 1 + noise
    int steps = 1 << 30;
    double cost = forbidden;  // gives up when the timeline's extra cost reaches this
    std::function<bool()> should_stop = {};
    int stays = -1;  // a node whose values are not dropped
  };

  Shaver(Timeline& timeline, Random& random);

  /// Shaves until the peak fits; false if it cannot within the limits (the timeline is then left half-way).
  bool repair(const Limits& limits);

 private:
  struct Ranked {
    double score;  // at best, without noise
    int value;
  };
  struct Candidate {
    int value;
    double optimist;  // score at best
    double factor;    // noise
    std::int64_t freed;
  };
  struct Drop {
    double score = forbidden;
    int stage = 0;
    std::vector<Item> items;
  };

  bool shave_once(const Limits& limits);
  bool shave_dearly(const Limits& limits);
  void rank_values();
  double cost_at_best(int value) const;
  bool is_idle(int value, Slot slot) const;
  void collect(int value, Slot slot, std::int64_t excess, const Limits& limits);
  void consider(const Candidate& candidate, Slot slot, std::int64_t excess, const Limits& limits, Drop& best);
  void offer(const Candidate& candidate, int stage, double cost, std::int64_t freed, std::int64_t excess,
             const Limits& limits, Drop& best);
  double closure(int node, int stage, Slot slot, const Limits& limits, double dearest);
  double bring_input(int value, int reader, int stage, Slot slot, const Limits& limits, double dearest);

  Timeline& timeline_;
  const Model& model_;
  Random& random_;
  std::vector<Ranked> ranked_;         // values that can be brought back, by score
  std::vector<Ranked> large_;          // the same without the crumbs: values of less than a thousandth of the largest
  std::int64_t crumbs_ = 0;            // bytes of all crumbs
  std::vector<Candidate> candidates_;  // a heap, the best in front
  std::vector<int> visited_;           // by node: number of the closure it is part of
  int closure_number_ = 0;
  int visits_ = 0;  // of nodes while a closure is built
  std::vector<int> closure_nodes_;
  std::vector<Item> items_;
  std::int64_t kept_across_ = 0;  // bytes of inputs that are kept across the peak for the closure
};

}  // namespace reprise::plan
