// SPDX-License-Identifier: Apache-2.0
// Ruin and recreate with simulated annealing on a timeline that fits its budget: removes some of what is brought back,
// repairs by shaving, prunes what became useless, and accepts by cost.
#pragma once

#include <functional>

#include "plan/shave.h"

namespace reprise::plan {

class Annealer {
 public:
  struct Limits {
    std::int64_t budget = 0;
    double price = 0;
    std::int64_t iterations = 0;
    bool is_rough = false;                 // begin without tidying many items: more will go anyway
    double heat = 1;                       // how hot to begin, beside what is usual
    std::function<double()> enough = {};   // extra cost at which to stop
    std::function<double()> elapsed = {};  // share of the time that is over, in [0, 1]; empty: no time limit
    std::function<bool()> should_stop = {};
    std::function<void(const Timeline&)> improved = {};
    std::function<void(const Timeline&)> visited = {};  // called for everything that is accepted
  };

  Annealer(Timeline& timeline, std::uint64_t seed);

  /// Starts from a timeline that fits; leaves it at the best found.
  void run(const Limits& limits);
  /// Removes what nothing reads and what need not be brought back because it can simply stay.
  void tidy(std::int64_t budget);

 private:
  void ruin();
  void ruin_window();
  void ruin_scattered();
  void ruin_value();
  void relocate();
  void drop_something();
  void keep_instead(std::int64_t budget, int tries);
  bool try_to_keep(const Item& item, int stage, std::int64_t budget);
  bool cannot_stay(const Item& item, int stage, std::int64_t budget);
  bool pick_item(Item& item, int& stage);
  void remember();
  void restore();

  Timeline& timeline_;
  const Model& model_;
  Random random_;
  Shaver shaver_;
  Items best_, scratch_;
  double best_cost_ = 0;
};

}  // namespace reprise::plan
