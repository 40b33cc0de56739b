// SPDX-License-Identifier: Apache-2.0
// Solver: simulated annealing over whole sequences. Runs are shifted, alone or with the ancestors only they use, and
// values are made again where that lowers the peak; then the order found is polished by ruin and recreate. Graphs with
// much freedom of order gain more from this than from recomputing.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/index.h"
#include "plan/annealer.h"
#include "plan/calm.h"
#include "plan/sequence.h"
#include "plan/solver.h"

namespace reprise::plan {
namespace {

std::vector<int> runs_of(const Model& model, const Schedule& schedule) {
  std::vector<int> node_of(model.nodes.size()), runs;
  for (int i = 0; i < model.node_count(); ++i) node_of[at(model.node(i).original)] = i;
  for (Step step : schedule.steps) {
    if (step.kind == Step::Kind::run) runs.push_back(node_of[at(step.id)]);
  }
  return runs;
}

class OrderSearch {
 public:
  explicit OrderSearch(const Attempt& attempt)
      : attempt_(attempt), model_(attempt.model), sequence_(attempt.problem, attempt.model), random_(attempt.seed()) {}

  struct Limits {
    std::int64_t iterations;
    double until;       // share of the time that is left
    double hot = 0.01;  // temperature at the beginning
    double cost = 1;    // weight of the cost beside that of the peak
    bool is_first_enough = false;
  };

  void anneal(std::vector<int> start, const Limits& limits) {
    sequence_.set(std::move(start), budget());
    cost_weight_ = limits.cost;
    double energy = energy_of(sequence_.load());
    auto over = attempt_.clock(limits.until);
    auto report = attempt_.seldom_report();
    const double hot = limits.hot, cold = 1e-4;
    double done = 0;
    for (std::int64_t i = 0; i < limits.iterations && done < 1; ++i) {
      if (i % 64 == 0) {
        done = std::max(static_cast<double>(i) / static_cast<double>(limits.iterations), over());
        if (attempt_.deadline.is_over() || best_cost_ <= attempt_.enough() - model_.base_cost) return;
        if (has_news_) report([this] { return std::make_shared<const Schedule>(schedule()); });
        has_news_ = false;
        if (attempt_.is_stale()) return;
      }
      next_ = sequence_.runs();
      if (!move()) continue;
      Load load = sequence_.load_of(next_);
      double energy_next = energy_of(load), temperature = hot * std::pow(cold / hot, done);
      if (energy_next > energy - temperature * std::log(std::max(random_.unit(), 1e-300))) continue;
      sequence_.accept(next_);
      energy = energy_next;
      if (load.peak > budget() || load.extra_cost >= best_cost_) continue;
      best_cost_ = load.extra_cost;
      best_ = sequence_.runs();
      has_news_ = true;
      if (limits.is_first_enough) return;
    }
  }

  /// Another sequence within the budget, if it is cheaper.
  void take(const std::vector<int>& runs) {
    sequence_.set(runs, budget());
    if (sequence_.load().peak > budget() || sequence_.load().extra_cost >= best_cost_) return;
    best_cost_ = sequence_.load().extra_cost;
    best_ = runs;
  }

  // Lowers the load of the best at busy moments, at no cost: what is less tight is easier to place.
  void calm(const Limits& limits) {
    auto free = static_cast<std::int64_t>(0.9 * static_cast<double>(budget()));
    sequence_.set(best_, free);
    double load = share_of(sequence_.load().over), least = load;
    const std::int64_t before = sequence_.load().peak;  // of two that cost the same, the lower counts as better
    auto over = attempt_.clock(limits.until);
    const double hot = 3e-4, cold = 3e-7;
    double done = 0;
    for (std::int64_t i = 0; i < limits.iterations && done < 1; ++i) {
      if (i % 64 == 0) done = std::max(static_cast<double>(i) / static_cast<double>(limits.iterations), over());
      next_ = sequence_.runs();
      if (!move()) continue;
      Load tried = sequence_.load_of(next_);
      if (tried.peak > budget() || tried.extra_cost > best_cost_) continue;
      double temperature = hot * std::pow(cold / hot, done);
      if (share_of(tried.over) > load - temperature * std::log(std::max(random_.unit(), 1e-300))) continue;
      sequence_.accept(next_);
      load = share_of(tried.over);
      if (load >= least || tried.peak > before) continue;
      least = load;
      best_ = sequence_.runs();
    }
  }

  bool has_found() const { return !best_.empty(); }
  /// The best found.
  Schedule schedule() const {
    std::vector<Event> events;
    for (int node : best_) events.push_back({Event::Kind::run, node});
    return to_schedule(attempt_.problem, model_, events);
  }
  double best_cost() const { return best_cost_; }
  const std::vector<int>& best() const { return best_; }

 private:
  std::int64_t budget() const { return attempt_.options.budget; }

  // In shares of the base cost. A peak that is 1 % too high is half as bad as a cost that is 1 % higher; all that is
  // above the budget counts, so that a move that lowers one of several peaks is a gain.
  double energy_of(const Load& load) const {
    double whole = std::max(1.0, static_cast<double>(budget()));
    double excess = std::max(0.0, static_cast<double>(load.peak) - whole) / whole;
    return cost_weight_ * load.extra_cost / std::max(model_.base_cost, 1e-300) + 0.5 * excess + 5 * share_of(load.over);
  }

  // Bytes above something, summed over all runs, as a share of the budget on average.
  double share_of(double over) const {
    return over / std::max(1.0, static_cast<double>(budget())) / static_cast<double>(model_.node_count());
  }

  bool move() {
    double which = random_.unit();
    if (which < 0.55) return shift();
    if (which < 0.75) return shift_with_ancestors();
    if (which < 0.88) return insert();
    return remove();
  }

  // A position, often near the peak.
  int pick() {
    int length = sequence_.length();
    if (random_.chance(0.5)) return static_cast<int>(random_.below(length));
    return std::clamp(sequence_.load().peak_at + static_cast<int>(random_.between(-12, 12)), 0, length - 1);
  }

  int pick_target(int from, Sequence::Range range) {
    if (random_.chance(0.5)) return static_cast<int>(random_.between(range.low, range.high));
    int near = from + static_cast<int>(random_.between(-8, 9));
    return std::clamp(near, range.low, range.high);
  }

  bool shift() {
    int from = pick();
    Sequence::Range range = sequence_.range(from);
    if (range.low > range.high) return false;
    int to = pick_target(from, range);
    if (to == from || to == from + 1) return false;
    auto begin = next_.begin();
    if (to < from)
      std::rotate(begin + to, begin + from, begin + from + 1);
    else
      std::rotate(begin + from, begin + from + 1, begin + to);
    return true;
  }

  // Gathers the run and those ancestors whose values nothing else reads, and puts them side by side somewhere.
  bool shift_with_ancestors() {
    int from = pick();
    if (!sequence_.is_first(from)) return false;
    int node = next_[at(from)];
    if (std::count(next_.begin(), next_.end(), node) != 1) return false;  // a second run reads the ancestors too
    Sequence::Range range = sequence_.range(from);
    group_.assign(1, node);
    for (std::size_t k = 0; k < group_.size() && group_.size() < 8; ++k) {
      for (int v : model_.inputs[group_[k]]) {
        int maker = model_.value(v).node;
        if (is_only_for_group(maker)) group_.push_back(maker);
      }
    }
    if (group_.size() < 2) return false;
    range.low =
        sequence_.pinned_count();  // the group brings some of its inputs along; what comes from outside bounds it
    for (int member : group_) {
      range.low = std::max(range.low, sequence_.readers_done(member));
      for (int v : model_.inputs[member]) {
        int maker = model_.value(v).node;
        if (!is_in_group(maker)) range.low = std::max(range.low, sequence_.first(maker) + 1);
      }
    }
    if (range.low > range.high) return false;
    int to = pick_target(from, range);
    return gather(to);
  }

  bool is_in_group(int node) const { return std::find(group_.begin(), group_.end(), node) != group_.end(); }

  bool is_only_for_group(int maker) const {
    if (is_in_group(maker) || model_.node(maker).last_stage < model_.node_count()) return false;
    const Model::Node& node = model_.node(maker);
    if (std::count(next_.begin(), next_.end(), maker) != 1) return false;
    for (int v = node.first_value; v < node.first_value + node.value_count; ++v) {
      for (int reader : model_.readers[v]) {
        if (!is_in_group(reader)) return false;
      }
    }
    return true;
  }

  bool gather(int to) {
    moved_.clear();
    placed_.clear();
    for (int i = 0; i < static_cast<int>(next_.size()); ++i) {
      bool moves = sequence_.is_first(i) && is_in_group(next_[at(i)]);
      if (moves) moved_.push_back(next_[at(i)]);
    }
    for (int i = 0; i <= static_cast<int>(next_.size()); ++i) {
      if (i == to) placed_.insert(placed_.end(), moved_.begin(), moved_.end());
      if (i == static_cast<int>(next_.size())) break;
      bool moves = sequence_.is_first(i) && is_in_group(next_[at(i)]);
      if (!moves) placed_.push_back(next_[at(i)]);
    }
    next_.swap(placed_);
    return true;
  }

  // Makes a value again before it is next read after the peak, or after some other place.
  bool insert() {
    int after = random_.chance(0.7) ? sequence_.load().peak_at : static_cast<int>(random_.below(sequence_.length()));
    if (after == 0) return false;
    int node = next_[at(static_cast<int>(random_.below(after)))];
    if (!sequence_.may_run_again(node)) return false;
    int read = sequence_.next_read(node, after);
    if (read < 0) return false;
    int high = std::min(read, sequence_.overwritten_at(node));
    if (high <= after) return false;
    int place = random_.chance(0.6) ? high : static_cast<int>(random_.between(after + 1, high));
    place = std::max(place, sequence_.pinned_count());
    next_.insert(next_.begin() + place, node);
    return true;
  }

  bool remove() {
    int extra = sequence_.length() - model_.node_count();
    if (extra == 0) return false;
    std::int64_t left = random_.below(extra);
    for (int i = 0; i < sequence_.length(); ++i) {
      if (sequence_.is_first(i) || left-- > 0) continue;
      next_.erase(next_.begin() + i);
      return true;
    }
    return false;
  }

  const Attempt& attempt_;
  const Model& model_;
  Sequence sequence_;
  Random random_;
  std::vector<int> next_, group_, moved_, placed_;
  std::vector<int> best_;
  double best_cost_ = forbidden;
  double cost_weight_ = 1;
  bool has_news_ = false;  // the best was found a moment ago
};

// First runs of a sequence, as node numbers of the problem.
std::vector<int> order_of(const Model& model, const std::vector<int>& runs) {
  std::vector<char> seen(model.nodes.size(), 0);
  std::vector<int> order;
  for (int node : runs) {
    if (!seen[at(node)]) order.push_back(model.node(node).original);
    seen[at(node)] = 1;
  }
  return order;
}

// Whether the first runs are in the model's order.
bool is_in_order(const std::vector<int>& runs) {
  int next = 0;
  for (int node : runs) {
    if (node > next) return false;
    next += node == next;
  }
  return true;
}

// Ruin and recreate in the order of a sequence, starting from what it makes again.
void polish(const Attempt& attempt, const std::vector<int>& runs, double until, std::vector<Schedule>& found) {
  std::vector<int> order = order_of(attempt.model, runs), place(attempt.model.nodes.size());
  Model model = make_model(attempt.problem, order);
  for (int i = 0; i < model.node_count(); ++i) place[at(model.node(i).original)] = i;
  Timeline timeline(model);
  int next = 0;
  for (int node : runs) {
    int i = place[at(attempt.model.node(node).original)];
    if (i == next)
      ++next;
    else if (timeline.can_insert(timeline.run_of(i), next))
      timeline.insert(timeline.run_of(i), next);
  }
  timeline.commit();
  Random random(attempt.options.seed);
  double price = attempt.certificate.price > 0 ? attempt.certificate.price
                                               : model.base_cost / static_cast<double>(1 + attempt.options.budget);
  Annealer::Limits limits{.budget = attempt.options.budget, .price = price, .iterations = attempt.scaled_iterations()};
  limits.elapsed = attempt.clock(until);
  limits.should_stop = [&attempt] { return attempt.deadline.is_over(); };
  limits.enough = [&] { return attempt.enough() - model.base_cost; };
  Shaver shaver(timeline, random);
  if (!shaver.repair(
          {attempt.options.budget, price, 0, 2 * model.node_count(), 5 * model.base_cost, limits.should_stop}))
    return;
  Annealer(timeline, attempt.seed()).run(limits);
  found.push_back(to_schedule(attempt.problem, model, timeline.events()));
}

// Where a search begins, and where it goes on if it finds nothing from there.
struct Start {
  const std::vector<int>&first, &second;
  OrderSearch::Limits limits;
};

// Orders first, then what is made again in the best of them.
void find(const Attempt& attempt, OrderSearch& search, const Start& start, std::vector<Schedule>& found) {
  search.anneal(start.first, start.limits);
  if (attempt.is_stale()) return;
  search.anneal(search.has_found() ? search.best() : start.second,
                {.iterations = start.limits.iterations, .until = 0.6});
  if (!search.has_found() || search.best_cost() <= 0 || attempt.is_stale()) return;
  polish(attempt, search.best(), 0.6, found);
  if (!found.empty()) search.take(runs_of(attempt.model, found.back()));
}

// Something within the budget, soon.
void find_first(const Attempt& attempt, OrderSearch& search, const Start& start) {
  search.anneal(start.first, start.limits);
  if (search.has_found() && !attempt.is_stale())
    search.calm(
        {.iterations = std::min<std::int64_t>(start.limits.iterations, 200 * attempt.model.node_count()), .until = 1});
}

using Work = std::function<void(const Attempt&, OrderSearch&, std::vector<Schedule>&)>;

// With a time limit a second thread, if there may be one, does the same with other random choices. The better of both
// counts; the first, if the first is enough.
void search_in_threads(const Attempt& attempt, OrderSearch& search, const Work& work, std::vector<Schedule>& found) {
  if (!attempt.may_search_beside()) return work(attempt, search, found);
  std::atomic<bool> is_over = false;
  Attempt beside = attempt.beside();
  beside.is_stale = [&] { return is_over.load(); };
  OrderSearch other(beside);
  std::vector<Schedule> others;
  {
    std::jthread helper([&] { work(beside, other, others); });
    work(attempt, search, found);
    is_over = attempt.is_stale() || (attempt.is_hasty && search.has_found());
  }
  found.insert(found.end(), others.begin(), others.end());
  if (other.has_found()) search.take(other.best());
}

constexpr int largest = 4000;  // nodes; a move takes time in proportion

}  // namespace

Schedule calm(const Problem& problem, const Model& model, const Schedule& schedule, const CalmLimits& limits) {
  PlanOptions options{.budget = limits.budget, .seed = limits.seed};
  options.time_limit = limits.seconds;
  Deadline deadline(options);
  Certificate none;
  Verdict verdict = validate(problem, schedule);
  Attempt attempt{problem,           options, deadline, model, none, schedule, verdict, [](SharedSchedule) {},
                  [] { return 0.0; }};
  OrderSearch search(attempt);
  search.take(runs_of(model, schedule));
  if (!search.has_found()) return schedule;
  search.calm({.iterations = limits.iterations, .until = 1});
  return search.schedule();
}

std::vector<Schedule> solve_order_search(const Attempt& attempt) {
  const Model& model = attempt.model;
  double best = attempt.best_verdict.cost - model.base_cost;
  bool fits = attempt.best_verdict.peak <= attempt.options.budget;
  bool may_gain = !fits || best > attempt.certificate.any_order.extra + 2e-3 * model.base_cost;
  if (model.node_count() > largest || !may_gain) return {};
  std::vector<Schedule> found;
  std::vector<int> known = runs_of(model, attempt.best), base(model.nodes.size());
  for (std::size_t i = 0; i < base.size(); ++i) base[i] = static_cast<int>(i);
  if (attempt.refused) {
    std::vector<int> refused = runs_of(model, *attempt.refused);
    if (!is_in_order(refused)) known = std::move(refused);
  }
  OrderSearch search(attempt);
  std::int64_t iterations = 10 * attempt.scaled_iterations();
  if (attempt.is_hasty) {
    Start start{base, base, {.iterations = iterations, .until = 0.9, .cost = 0.1, .is_first_enough = true}};
    search_in_threads(
        attempt, search, [&](auto& a, auto& s, auto&) { find_first(a, s, start); }, found);
    if (search.has_found()) found.push_back(search.schedule());
    return found;
  }
  // A good order found before is a better start than the base order, and is not to be shaken up.
  bool is_rough = fits && best > attempt.certificate.any_order.extra + 0.03 * model.base_cost;
  bool is_good = !is_in_order(known) && !is_rough;
  Start start{is_good ? known : base, known, {.iterations = iterations, .until = 0.5, .hot = is_good ? 0.002 : 0.01}};
  search_in_threads(
      attempt, search, [&](auto& a, auto& s, auto& f) { find(a, s, start, f); }, found);
  if (!search.has_found()) return found;
  if (!attempt.is_stale())
    search.calm({.iterations = std::min<std::int64_t>(iterations, 400 * model.node_count()), .until = 1});
  found.push_back(search.schedule());
  return found;
}

}  // namespace reprise::plan
