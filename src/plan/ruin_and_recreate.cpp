// SPDX-License-Identifier: Apache-2.0
// Solver: ruin and recreate from the best seed. When nothing fits yet, or only at a high price, it climbs down a ladder
// of budgets, polishing on every rung, and repairs what cuts for larger budgets say: both find their way into tight
// budgets where greedy repairs get stuck.
#include <algorithm>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>

#include "plan/annealer.h"
#include "plan/solver.h"
#include "plan/stage_form.h"

namespace reprise::plan {
namespace {

class Search {
 public:
  explicit Search(const Attempt& attempt) : attempt_(attempt), model_(attempt.model), random_(attempt.seed()) {}

  void run() {
    if (is_hopeless()) return;
    take(attempt_.best);
    if (attempt_.refused) take(*attempt_.refused);
    const bool is_known = attempt_.round > 0 && best_;
    if (!is_known) take_shaved();
    double bound = attempt_.certificate.this_order.extra;
    bool is_timed = std::isfinite(attempt_.deadline.limit());
    bool has_time = !is_timed || !order_may_help(0.02);
    auto is_poor = [&] { return best_ ? !is_known && best_cost_ > bound + 0.02 * model_.base_cost : is_timed; };
    if (is_poor() && has_time) climb_down();
    if (is_poor() && has_time && is_timed) take_cuts();
    if (!best_) return;
    start_ = *best_;
    if (attempt_.round == 0 && attempt_.thread == 0) take_cheap_cuts();
    polish();
  }

 private:
  std::int64_t budget() const { return attempt_.options.budget; }

  double too_dear() const { return best_ ? attempt_.too_dear(best_cost_) : attempt_.too_dear(); }

  Shaver::Limits limits(std::int64_t budget, double noise) const {
    Shaver::Limits shaving{.budget = budget, .price = attempt_.certificate.price, .noise = noise};
    shaving.steps = 2 * model_.node_count() + 100;
    shaving.cost = too_dear();
    shaving.should_stop = [this] { return attempt_.deadline.is_over(); };
    return shaving;
  }

  void offer(Timeline& timeline) {
    if (timeline.peak() > budget() || (best_ && timeline.extra_cost() >= best_cost_)) return;
    best_ = items_of(timeline);
    best_cost_ = timeline.extra_cost();
    attempt_.report(attempt_.written(timeline.events()));
  }

  // Whether nothing in this order fits, or something in another order is known, about within the budget, that nothing
  // in this order can be better than.
  bool is_hopeless() const {
    if (attempt_.certificate.least_budget_this_order > budget()) return true;
    if (items_of(model_, attempt_.best)) return false;
    double peak = static_cast<double>(attempt_.best_verdict.peak);
    return peak <= 1.1 * static_cast<double>(budget()) &&
           attempt_.best_verdict.cost - model_.base_cost <= attempt_.certificate.this_order.extra;
  }

  void take(const Schedule& schedule) {
    Timeline timeline(model_);
    std::optional<Items> items = items_of(model_, schedule);
    if (!items) return;
    fill(timeline, *items);
    items.reset();
    if (Shaver(timeline, random_).repair(limits(budget(), 0))) offer(timeline);
  }

  void take_shaved() {
    Timeline timeline(model_);
    Shaver::Limits shaving = limits(budget(), 0);
    if (best_)
      shaving.should_stop = [this, over = attempt_.clock(0.15)] { return over() >= 1 || attempt_.deadline.is_over(); };
    if (!Shaver(timeline, random_).repair(shaving)) return;
    Annealer(timeline, attempt_.options.seed).tidy(budget());
    offer(timeline);
  }

  void climb_down() {
    Timeline timeline(model_);
    auto over = attempt_.clock(0.35);
    double top = static_cast<double>(timeline.peak()), bottom = static_cast<double>(budget());
    int rungs = std::max(1, static_cast<int>(std::ceil(std::log(top / bottom) / 0.04)));
    for (int rung = 1; rung <= rungs; ++rung) {
      auto target =
          rung == rungs ? budget() : static_cast<std::int64_t>(top * std::pow(bottom / top, double(rung) / rungs));
      if (!descend(timeline, target) || over() >= 1 || attempt_.deadline.is_over()) break;
      Annealer::Limits polishing{.budget = target, .price = attempt_.certificate.price};
      polishing.is_rough = rung < rungs;
      polishing.iterations = std::min<std::int64_t>(attempt_.scaled_iterations() / 8, 4000) / rungs;
      polishing.should_stop = [&] { return over() >= 1 || attempt_.deadline.is_over(); };
      Annealer(timeline, random_.bits()).run(polishing);
    }
    offer(timeline);
  }

  // What the cuts say for a larger budget, repaired for this one, can be better than what they say for this one.
  void take_cuts() {
    auto over = attempt_.clock(0.3);
    auto should_stop = [&] { return over() >= 1 || attempt_.deadline.is_over(); };
    for (double share : {1.4, 1.6, 1.2}) {
      if (should_stop()) return;
      PlanOptions options = attempt_.options;
      options.budget = static_cast<std::int64_t>(share * static_cast<double>(budget()));
      Certificate certificate = prove(model_, options.budget, should_stop);
      Attempt other{attempt_.problem,      options,         attempt_.deadline, model_, certificate, attempt_.best,
                    attempt_.best_verdict, attempt_.report, attempt_.enough};
      if (should_stop()) return;
      each_min_cut(other, [&](SharedSchedule cut) {
        if (should_stop()) return false;
        take_from(*cut, std::min<std::int64_t>(attempt_.scaled_iterations() / 100, 300));
        return true;
      });
    }
  }

  // The cheapest choice at one moment need not lead to the cheapest schedule: others nearly as cheap may need less
  // repair elsewhere.
  void take_cheap_cuts() {
    auto over = attempt_.clock(0.15);
    auto should_stop = [&] { return over() >= 1 || is_over(); };
    each_cheap_cut(attempt_, should_stop, [&](const Schedule& cut) {
      if (should_stop()) return false;
      bool is_taken =
          take_from(cut, std::min<std::int64_t>(attempt_.scaled_iterations() / 40, 4 * model_.node_count()));
      return is_taken || !attempt_.is_large();  // another takes seconds, and is much like it
    });
  }

  bool take_from(const Schedule& schedule, std::int64_t iterations) {
    Timeline timeline(model_);
    std::optional<Items> items = items_of(model_, schedule);
    if (!items) return false;
    fill(timeline, *items);
    items.reset();
    if (!descend(timeline, budget())) return false;
    Annealer::Limits polishing{.budget = budget(), .price = attempt_.certificate.price};
    polishing.iterations = iterations;
    polishing.should_stop = [this] { return attempt_.deadline.is_over(); };
    Annealer(timeline, random_.bits()).run(polishing);
    offer(timeline);
    return true;
  }

  // To a smaller budget, with more and more noise until it works.
  bool descend(Timeline& timeline, std::int64_t target) {
    for (int tries = 0; tries < 12; ++tries) {
      timeline.commit();
      if (Shaver(timeline, random_).repair(limits(target, 0.1 * tries))) return true;
      bool is_dear = timeline.extra_cost() >= too_dear();
      timeline.undo();
      if (is_dear) return false;
      std::int64_t between = (timeline.peak() + target) / 2;
      if (tries % 4 != 3 || between <= target) continue;
      if (Shaver(timeline, random_).repair(limits(between, 0.5)))
        Annealer(timeline, random_.bits())
            .run({.budget = between, .price = attempt_.certificate.price, .iterations = 200});
      else
        timeline.undo();
    }
    return false;
  }

  // Whether the bound for every order is so far, in shares of the base cost, below the one for this order that time is
  // better kept for other orders.
  bool order_may_help(double share) const {
    double apart = attempt_.certificate.this_order.extra - attempt_.certificate.any_order.extra;
    return apart > share * model_.base_cost;
  }

  // Most of the effort goes to wandering, the rest to a long anneal from the best. Where there is time for a few short
  // anneals only, to the long one alone.
  void polish() {
    auto over = attempt_.clock(order_may_help(2e-3) ? 0.3 : 1.0);
    const std::int64_t all = attempt_.scaled_iterations(), used = wander(all, over);
    if (is_over()) return;
    anneal(*best_, {.iterations = all - used, .elapsed = over, .seed = attempt_.seed()});
  }

  // Many short anneals. Every other one is cool and quick, from the start, from the best or from a random repair; the
  // others, cool or hot, go on after a kick from what was found last, if that is not much worse, and now and then from
  // the best again. A second thread goes back to the start instead, and so looks elsewhere.
  std::int64_t wander(std::int64_t all, const std::function<double()>& over) {
    const std::int64_t nodes = model_.node_count(), some = std::clamp(all / 40, 3 * nodes, 16 * nodes);
    constexpr double part = 0.06;  // of the time, at most, for each
    Items here;
    double cost = 0;
    auto go_back = [&] {
      const bool is_first = attempt_.thread == 0;
      here = is_first ? *best_ : start_;
      cost = is_first ? best_cost_ : forbidden;
    };
    go_back();
    std::int64_t used = 0;
    for (int k = 0; 2 * used + 16 * some < all && over() < 0.7 && !is_over(); ++k) {
      const bool is_quick = k % 2 == 0;
      if (k % 16 == 15) go_back();
      Items from = is_quick ? quick_start(k / 2) : kicked(here);
      const double before = over();
      Effort effort{.iterations = is_quick ? 3 * nodes : some, .elapsed = {}, .seed = random_.bits()};
      effort.elapsed = [&] { return (over() - before) / part; };
      if (!is_quick) effort.heat = std::exp2(random_.uniform(-1, 5));
      double found = anneal(from, effort);
      used += effort.iterations;
      double slack = is_quick ? 0 : -0.005 * cost * std::log(std::max(random_.unit(), 1e-12));
      if (found > cost + slack) continue;
      here = last_;
      cost = found;
    }
    return used;
  }

  Items quick_start(int k) { return k % 3 == 0 ? start_ : k % 3 == 1 ? *best_ : shaved_at_random().value_or(start_); }

  // Makes a value stay that was brought back, whatever else must go for it.
  Items kicked(const Items& items) {
    Timeline timeline(model_);
    fill(timeline, items);
    if (timeline.item_count() == 0) return items;
    auto [item, stage] = timeline.item(static_cast<int>(random_.below(timeline.item_count())));
    Shaver::Limits how = limits(budget(), random_.uniform(0, 1));
    if (item.kind == Event::Kind::run) {
      how.stays = item.id;
      while (!timeline.reruns_of(item.id).empty()) timeline.remove(item, timeline.reruns_of(item.id).back());
    } else {
      how.stays = model_.value(item.id).node;
      timeline.remove(item, stage);
    }
    timeline.prune();
    return Shaver(timeline, random_).repair(how) ? items_of(timeline) : items;
  }

  std::optional<Items> shaved_at_random() {
    Timeline timeline(model_);
    if (!Shaver(timeline, random_).repair(limits(budget(), random_.uniform(0.1, 2)))) return {};
    return items_of(timeline);
  }

  bool is_over() const { return best_cost_ <= attempt_.enough() - model_.base_cost || attempt_.deadline.is_over(); }

  struct Effort {
    std::int64_t iterations;
    std::function<double()> elapsed;
    std::uint64_t seed;
    double heat = 1;
  };

  // Leaves what it found in `last_`, and returns what that costs.
  double anneal(const Items& start, const Effort& effort) {
    Timeline timeline(model_);
    fill(timeline, start);
    Annealer::Limits annealing{.budget = budget(), .price = attempt_.certificate.price};
    annealing.iterations = effort.iterations;
    annealing.heat = effort.heat;
    annealing.elapsed = effort.elapsed;
    annealing.should_stop = [this, count = 0]() mutable { return ++count % 16 == 0 && attempt_.deadline.is_over(); };
    annealing.enough = [this] { return attempt_.enough() - model_.base_cost; };
    annealing.improved = [this, report = attempt_.seldom_report()](const Timeline& better) {
      if (better.extra_cost() >= best_cost_) return;
      report([&] { return attempt_.written(better.events()); });
    };
    if (attempt_.sample) annealing.visited = [this](const Timeline& seen) { sample(seen); };
    Annealer(timeline, effort.seed).run(annealing);
    offer(timeline);
    last_ = items_of(timeline);
    return timeline.extra_cost();
  }

  // Of the schedules that are nearly as cheap as the best, some have a layout.
  void sample(const Timeline& seen) {
    double placed = attempt_.placed_cost() - model_.base_cost;
    if (best_cost_ >= placed || seen.extra_cost() > best_cost_ + 0.1 * (placed - best_cost_)) return;
    double start = attempt_.deadline.seconds();
    if (start < next_sample_) return;
    SharedSchedule schedule = attempt_.written(seen.events());
    attempt_.sample(std::move(schedule));
    double end = attempt_.deadline.seconds();
    next_sample_ = end + 5 * (end - start);
  }

  const Attempt& attempt_;
  const Model& model_;
  Random random_;
  std::optional<Items> best_;
  Items start_;  // what the other solvers found, repaired
  Items last_;
  double best_cost_ = 0;
  double next_sample_ = 0;  // seconds
};

}  // namespace

// With a time limit a second thread does the same with other random choices, once it has nothing else to do.
std::vector<Schedule> solve_ruin_and_recreate(const Attempt& attempt) {
  using namespace std::chrono_literals;
  Search search(attempt);
  Attempt beside = attempt.beside();
  SharedSchedule found;
  beside.report = [&](SharedSchedule better) { found = std::move(better); };
  Search other(beside);
  {
    std::jthread helper;
    if (attempt.may_search_beside()) {
      helper = std::jthread([&](std::stop_token is_over) {
        while (!attempt.has_free_core() && !is_over.stop_requested()) std::this_thread::sleep_for(5ms);
        if (!is_over.stop_requested()) other.run();
      });
    }
    search.run();
  }
  if (found) attempt.report(std::move(found));
  return {};
}

}  // namespace reprise::plan
