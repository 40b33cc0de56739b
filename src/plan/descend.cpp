// SPDX-License-Identifier: Apache-2.0
// Solver: when nothing fits yet, looks for the lowest peak that the order of first runs allows, whatever it costs. It
// does not look at the budget, so the smallest budget it names is one at which it finds its schedule again.
#include <algorithm>

#include "plan/annealer.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

class Descent {
 public:
  explicit Descent(const Attempt& attempt)
      : attempt_(attempt),
        model_(attempt.model),
        random_(attempt.options.seed),
        timeline_(attempt.model),
        shaver_(timeline_, random_) {
    for (int t = 0; t < model_.node_count(); ++t) floor_ = std::max(floor_, own_bytes(model_, t));
    double bytes = 1;
    for (const Model::Value& value : model_.values) bytes += static_cast<double>(value.bytes);
    price_ = (1e-9 + model_.base_cost) / bytes;
  }

  std::vector<Schedule> lowest() {
    std::int64_t step = std::max<std::int64_t>(1, (timeline_.peak() - floor_) / 8);
    while (timeline_.peak() > floor_ && !is_over()) {
      std::int64_t now = timeline_.peak(), target = std::max(floor_, now - step);
      bool went_down = go_to(target);
      if (went_down) Annealer(timeline_, random_.bits()).tidy(target);
      if (timeline_.peak() < now) continue;  // tidying may give back what was won
      if (step <= 1 || step <= now / precision()) break;
      step = std::max<std::int64_t>(1, step / 3);
    }
    if (!timeline_.is_valid()) return {};
    return {to_schedule(attempt_.problem, model_, timeline_.events())};
  }

 private:
  // A step takes milliseconds where there are ten thousand nodes.
  static constexpr int most_steps = 10'000;

  // The last hundredth takes most of the time, and layouts lose more than that where there are many values.
  int precision() const { return model_.node_count() > 1000 ? 100 : 20'000; }

  bool is_over() const { return steps_ > most_steps || attempt_.deadline.is_over(); }

  bool go_to(std::int64_t target) {
    const int tries = attempt_.is_large() ? 3 : 9;
    auto over = [this] {
      ++steps_;
      return is_over();
    };
    for (int k = 0; k < tries && !is_over(); ++k) {
      timeline_.commit();
      double price = price_ * (k % 3 == 0 ? 1000 : k % 3 == 1 ? 30 : 1);
      int steps = model_.node_count() + 50;
      if (shaver_.repair({target, price, 0.15 * k, steps, 50 * (1 + model_.base_cost), over})) return true;
      timeline_.undo();
    }
    return false;
  }

  const Attempt& attempt_;
  const Model& model_;
  Random random_;
  Timeline timeline_;
  Shaver shaver_;
  std::int64_t floor_ = 0;
  double price_ = 0;
  int steps_ = 0;  // of shaving, in all
};

// In large problems it takes long, so it leaves alone what is low already.
bool is_low(const Attempt& attempt) {
  std::int64_t least = attempt.certificate.least_budget;
  return attempt.model.node_count() > 4000 && attempt.best_verdict.peak <= least + least / 4;
}

}  // namespace

std::vector<Schedule> solve_descend(const Attempt& attempt) {
  if (attempt.best_verdict.peak <= attempt.options.budget || is_low(attempt)) return {};
  return Descent(attempt).lowest();
}

}  // namespace reprise::plan
