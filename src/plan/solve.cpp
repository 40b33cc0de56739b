// SPDX-License-Identifier: Apache-2.0
// The planner's front door. Offsets that are multiples of an alignment make values as large as the next multiple, so
// sizes are rounded up before anything else; what is found is placed with the sizes given.
#include <algorithm>
#include <bit>
#include <cmath>
#include <future>
#include <memory>

#include "base/error.h"
#include "plan/calm.h"
#include "plan/fit.h"
#include "plan/solving.h"

namespace reprise {
namespace {

using plan::Placed;
using plan::Planned;
using plan::Solving;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
constexpr double rounding = 1e-9;  // costs so near to each other are equal: sums in other orders differ

void check(const PlanOptions& options) {
  if (options.budget < 0) fail("[plan] the budget is {} bytes: give one >= 0", options.budget);
  if (options.iterations < 0) fail("[plan] {} iterations: give a number >= 0", options.iterations);
  if (!(options.time_limit >= 0)) fail("[plan] the time limit is {} seconds: give one >= 0", options.time_limit);
  if (options.threads < 1) fail("[plan] {} threads: give at least 1", options.threads);
}

std::int64_t all_bytes(const Problem& problem) {
  std::int64_t bytes = problem.resident_bytes();
  for (const Problem::Value& value : problem.values()) bytes += value.bytes;
  for (const Problem::Node& node : problem.nodes()) bytes += node.scratch;
  return bytes;
}

PlanResult empty_result(const Problem& problem, const PlanOptions& options) {
  PlanResult result;
  result.budget = options.budget;
  result.peak = result.keep_all_peak = result.min_budget = result.min_budget_bound = problem.resident_bytes();
  result.layout_bytes = problem.resident_bytes();
  result.feasible = result.peak <= options.budget;
  return result;
}

class Planner {
 public:
  // Searches go on from `start`, if it is not null; the options have none.
  Planner(const Problem& problem, const PlanOptions& options, plan::SharedSchedule start)
      : problem_(problem),
        options_(options),
        start_(std::move(start)),
        deadline_(options),
        aligned_(problem.aligned(options.alignment)) {}

  // What fits is decided by searches for any plan at all, which count moves and not seconds, so that the answer is the
  // same however hard and with whatever luck a good plan is sought. Within a time limit what is found fits, too.
  PlanResult solve() const {
    if (is_timed()) return solve_in_time();
    Decision decision = decide(options_.budget);
    if (decision.found && std::isinf(options_.gap))
      return finish(with_smallest(std::move(decision.solving), tightened(std::move(*decision.found))));
    decision.solving.reset();  // another search would be beside it
    return decision.found ? solve_fitting(std::move(*decision.found)) : fall_back();
  }

 private:
  struct Decision {
    std::unique_ptr<Solving> solving;
    std::optional<Planned> found;
  };

  bool is_timed() const { return std::isfinite(options_.time_limit); }
  // Where a search takes minutes, only what takes little time in proportion to the nodes is tried to decide what fits.
  bool is_large() const { return problem_.node_count() > 4000; }
  // So few nodes are searched through in no time.
  bool is_small() const { return problem_.node_count() <= 64; }
  bool is_aligned() const { return options_.alignment == 1 || aligned_ == problem_; }

  // By how much less the sizes given may need than the aligned ones: the last value need not fill its last multiple.
  std::int64_t slack() const { return is_aligned() ? 0 : options_.alignment - 1; }

  // The budget in which the aligned sizes must fit: the last value need not fill its last multiple. More than
  // everything at once is never needed; searches rely on there being a size that does not fit.
  PlanOptions options_for(std::int64_t budget) const {
    PlanOptions options = options_;
    options.time_limit -= deadline_.seconds();
    options.budget = std::min(budget, all_bytes(aligned_));
    std::int64_t room = options.budget - problem_.resident_bytes(), unit = options_.alignment;
    if (!is_aligned() && room > 0) options.budget += (unit - room % unit) % unit;
    return options;
  }

  plan::Placer placer(std::int64_t budget) const {
    return {[this, budget](const Schedule& schedule) { return place(schedule, budget); },
            [this, budget](const Schedule& schedule) {
              return plan::place(problem_, schedule, {options_.alignment, budget, 4e-4 * options_.time_limit});
            },
            budget};
  }

  // Seconds for a search of a layout, a share of all; 0 without a time limit. Leaves a little for what comes after.
  double placing_seconds(double share) const {
    double left = 0.98 * options_.time_limit - deadline_.seconds();
    return is_timed() ? std::max(0.01, std::min(share * options_.time_limit, left)) : 0;
  }

  Placed place(const Schedule& schedule, std::int64_t budget) const {
    bool is_limited = budget < all_bytes(aligned_), calms = is_limited && is_timed() && may_calm(schedule);
    Placed placed =
        plan::place(problem_, schedule,
                    {options_.alignment, is_limited ? budget : unlimited, placing_seconds(calms ? 0.01 : 0.03)});
    if (!is_limited || placed.bytes <= budget) return placed;
    if (calms) return calm(schedule, std::move(placed), budget);
    if (std::optional<Placed> fitted = fit(schedule, placed, budget)) return std::move(*fitted);
    return placed;
  }

  bool may_calm(const Schedule& schedule) const {
    auto is_plain = [](Step step) { return step.kind == Step::Kind::run || step.kind == Step::Kind::drop; };
    return may_reorder() && problem_.node_count() <= 600 && std::ranges::all_of(schedule.steps, is_plain);
  }

  // Places calmer schedules, one after the other, in all threads, and leaves the one with the lowest layout.
  Placed calm(const Schedule& schedule, Placed best, std::int64_t budget) const {
    const plan::Model model = plan::make_model(aligned_);
    auto place_calmed = [&](Schedule start, std::uint64_t seed) {
      Schedule calmed =
          plan::calm(aligned_, model, start, {.budget = budget, .seconds = placing_seconds(0.01), .seed = seed});
      Placed placed = plan::place(problem_, calmed, {options_.alignment, budget, placing_seconds(0.03)});
      placed.schedule = std::move(calmed);
      return placed;
    };
    auto take = [&](Placed placed) {
      if (placed.bytes < best.bytes) best = std::move(placed);
    };
    const double end = deadline_.seconds() + placing_seconds(0.1);
    while (best.bytes > budget && deadline_.seconds() < end && !options_.cancel.stop_requested()) {
      std::future<Placed> other;
      if (options_.threads > 1) other = std::async(std::launch::async, place_calmed, schedule, ++calm_seed_);
      take(place_calmed(best.schedule.value_or(schedule), ++calm_seed_));
      if (other.valid()) take(other.get());
    }
    return best;
  }

  bool may_reorder() const { return !chosen({"order_search"}).empty(); }

  // A layout of the same runs in another order. What is placed may have an order of its own already.
  std::optional<Placed> fit(const Schedule& given, const Placed& placed, std::int64_t budget) const {
    const Schedule& schedule = placed.schedule ? *placed.schedule : given;
    constexpr std::int64_t far = 25;  // a layout that exceeds the budget by more than a 25th is not mended by shifts
    if (placed.bytes - budget > budget / far || problem_.node_count() > 2000 || !may_reorder()) return {};
    plan::FitLimits limits{
        .budget = budget, .alignment = options_.alignment, .iterations = 40'000, .seed = options_.seed};
    if (is_timed()) {
      limits.iterations = std::numeric_limits<std::int64_t>::max();
      limits.should_stop = [this, end = deadline_.seconds() + placing_seconds(0.06)] {
        return deadline_.seconds() >= end || options_.cancel.stop_requested();
      };
    }
    std::optional<plan::Fitted> fitted = plan::fit(problem_, plan::make_model(aligned_), schedule, placed, limits);
    if (!fitted) return {};
    fitted->placed.schedule = std::move(fitted->schedule);
    return std::move(fitted->placed);
  }

  // With a layout at most 1 % above the peak, or as near to that as is found.
  Planned tightened(Planned plan) const {
    if (options_.budget >= all_bytes(aligned_)) return plan;
    for (int tries = 0; tries < 3 && !deadline_.is_over(); ++tries) {
      std::int64_t goal = plan.judged.verdict.peak + plan.judged.verdict.peak / 100;
      if (plan.placed.bytes <= goal) break;
      Placed lower = place(*plan.judged.schedule, goal);
      if (lower.bytes > goal) {
        std::optional<Placed> fitted = fit(*plan.judged.schedule, lower, goal + (lower.bytes - goal) / 2);
        if (fitted) lower = std::move(*fitted);
      }
      if (lower.bytes >= plan.placed.bytes) break;
      plan::move_to(aligned_, std::move(lower), plan);
    }
    return plan;
  }

  // With the smallest budget that is known to do. Without a time limit a lucky search does not count.
  PlanResult with_smallest(std::unique_ptr<Solving> solving, std::optional<Planned> plan) const {
    PlanResult result = told(*solving, *plan);
    plan.reset();
    result.min_budget = result.layout_bytes;
    if (solving->lowest().verdict.peak < result.peak)
      result.min_budget = std::min(result.min_budget, place(*solving->lowest().schedule, unlimited).bytes);
    solving.reset();  // another search would be beside it
    bool is_known = is_timed() || result.min_budget >= options_.budget || decide(result.min_budget).found;
    if (!is_known) result.min_budget = options_.budget;
    return result;
  }

  PlanResult told(const Solving& solving, const Planned& plan) const {
    PlanResult result = solving.result(&plan);
    result.layout = plan::layout_of(problem_, result.schedule, plan.placed.offsets);
    return result;
  }

  PlanResult solve_in_time() const {
    std::unique_ptr<Solving> solving = searching(options_.budget);
    solving->run();
    if (std::optional<Planned> best = solving->take_best())
      return finish(with_smallest(std::move(solving), tightened(std::move(*best))));
    Planned lowest{solving->lowest(), place(*solving->lowest().schedule, unlimited)};
    return lowest.placed.bytes <= options_.budget ? finish(told(*solving, lowest)) : refused(*solving, lowest);
  }

  // The best plan for a budget that does: what is known, if nothing better is found.
  PlanResult solve_fitting(Planned known) const {
    std::unique_ptr<Solving> solving = searching(options_.budget);
    solving->run();
    Planned best = best_of(*solving, std::move(known), options_.budget);
    if (problem_.node_count() <= 2000) best = cheapest_of_less(std::move(best), solving->least_cost());
    return finish(with_smallest(std::move(solving), tightened(std::move(best))));
  }

  // Of a search that is over and what is known to fit.
  Planned best_of(Solving& solving, Planned known, std::int64_t budget) const {
    Planned best = cheaper(std::move(known), solving.take_best());
    if (is_small() && solving.has_refused_a_layout())
      for (const std::string& name : lone_solvers()) best = cheaper(std::move(best), alone(name, budget));
    return best;
  }

  // A search for less memory sometimes ends with a cheaper plan. So all twentieths of what keeping everything takes are
  // searched for, too, from the next one below the budget down to where nothing as cheap can be, or two in a row are
  // clearly dearer; and last the smallest budget that does. So a budget is not planned dearer than those of them that
  // are less, and of plans that cost the same the one for the least memory is taken.
  Planned cheapest_of_less(Planned best, double least_cost) const {
    constexpr int shares = 20, most_dearer = 2;
    constexpr double clearly = 1.03;
    int dearer = 0;  // in a row
    const auto all = static_cast<double>(peak(aligned_, keep_all(aligned_)));
    if (static_cast<double>(options_.budget) >= all) return best;
    PlanOptions quiet = options_;
    quiet.progress = {};  // it would seem to go back
    quiet.threads = 1;
    const Planner planner(problem_, quiet, start_);
    for (int share = shares - 1; share > 0; --share) {
      const auto budget = static_cast<std::int64_t>(share / static_cast<double>(shares) * all);
      if (budget >= options_.budget) continue;
      bool is_enough = options_.gap > 0 && best.judged.verdict.cost <= (1 + options_.gap) * least_cost;
      if (is_enough || options_.cancel.stop_requested()) break;
      ForLess less = planner.best_for_less(budget, best.judged.verdict.cost, least_cost);
      if (!less.found) break;
      dearer = less.found->judged.verdict.cost > clearly * best.judged.verdict.cost ? dearer + 1 : 0;
      if (less.found->judged.verdict.cost <= best.judged.verdict.cost * (1 + rounding)) best = std::move(*less.found);
      if (less.is_last || dearer == most_dearer) break;
    }
    return best;
  }

  struct ForLess {
    std::optional<Planned> found;
    bool is_last = true;  // nothing as cheap is to be found for still less
  };

  // The best plan for the budget or, if nothing is found for that, for the smallest that does, unless that is as much
  // as the budget given, or nothing can be cheaper anyway. None if it is proved that none costs as little as that.
  ForLess best_for_less(std::int64_t budget, double cost, double least_cost) const {
    std::unique_ptr<Solving> solving = searching(budget);
    auto is_hopeless = [&] { return solving->least_cost() > cost * (1 + rounding); };
    solving->prove_first_bound();
    if (is_hopeless()) return {};
    solving->raise_bound();
    if (is_hopeless()) return {};
    if (std::optional<Planned> known = decide(budget).found) {
      solving->search();
      return {best_of(*solving, std::move(*known), budget), false};
    }
    constexpr int many_nodes = 1000;  // the smallest budget takes a minute or more there
    if (problem_.node_count() > many_nodes || cost <= least_cost * (1 + rounding)) return {};
    Planned lowest = tightest(budget).lowest;
    const std::int64_t smallest = std::max(budget, lowest.placed.bytes);
    if (smallest >= options_.budget) return {};
    solving = searching(smallest);
    solving->run();
    return {best_of(*solving, std::move(lowest), smallest)};
  }

  static Planned cheaper(Planned known, std::optional<Planned> other) {
    return other && other->judged.verdict.cost <= known.judged.verdict.cost ? std::move(*other) : known;
  }

  std::unique_ptr<Solving> searching(std::int64_t budget) const {
    return std::make_unique<Solving>(aligned_, options_for(budget), start_, placer(budget));
  }

  // Searches that end elsewhere if they do not start from what others found: where the cheapest schedule has no layout,
  // another that is nearly as cheap may have one.
  std::vector<std::string> lone_solvers() const {
    std::vector<std::string> names = chosen({"ruin_and_recreate", "order_search"});
    return options_.solvers.size() == 1 ? std::vector<std::string>() : names;
  }

  std::optional<Planned> alone(const std::string& name, std::int64_t budget) const {
    PlanOptions options = options_for(budget);
    options.solvers = {name};
    Solving solving(aligned_, options, nullptr, placer(budget));
    solving.run_without_raising();
    return solving.take_best();
  }

  // The tightest plan there is decides. It does not depend on the budget, so that the smallest budget that is named is
  // one that does.
  PlanResult fall_back() const {
    auto [tight, lowest] = tightest(options_.budget);
    if (lowest.placed.bytes > options_.budget) return refused(*tight, lowest);
    if (!std::isinf(options_.gap)) return solve_fitting(std::move(lowest));
    std::unique_ptr<Solving> solving = searching(options_.budget);
    solving->prove_first_bound();
    return finish(with_smallest(std::move(solving), std::move(lowest)));
  }

  struct Tightest {
    std::unique_ptr<Solving> solving;
    Planned lowest;
  };

  // Or one that fits the budget, if there is one on the way.
  Tightest tightest(std::int64_t budget) const {
    auto solving = std::make_unique<Solving>(aligned_, options_for(0), start_, placer(0));
    solving->run_without_raising();
    std::int64_t bound = solving->result(nullptr).min_budget_bound - slack();
    Planned lowest{solving->lowest(), place(*solving->lowest().schedule, unlimited)};
    if (options_.names_smallest) lowest = smallest(std::move(lowest), bound, budget);
    return {std::move(solving), std::move(lowest)};
  }

  PlanResult refused(const Solving& solving, const Planned& lowest) const {
    PlanResult result = solving.result(nullptr);
    result.min_budget = lowest.placed.bytes;
    result = finish(std::move(result));
    result.is_decided = (!is_timed() && options_.names_smallest) || options_.budget < result.min_budget_bound;
    return result;
  }

  // Whether there is a plan for the budget: the first that fits is enough.
  Decision decide(std::int64_t budget) const {
    Decision decision = search(budget, quick_solvers(), {});
    if (decision.found || !may_reorder()) return decision;
    bool is_refuted = decision.solving->result(nullptr).min_budget_bound > budget;
    if (is_refuted || !(is_small() || decision.solving->is_decided_by_order())) return decision;
    Decision reordered = search(budget, {"order_search"}, {});
    return reordered.found ? std::move(reordered) : std::move(decision);
  }

  // Less than a plan that is known needs. An order that was found is searched on from; the base order is left only
  // where nothing else is left to ask.
  std::optional<Planned> improve(const Planned& known, std::int64_t budget) const {
    const plan::SharedSchedule& start = known.judged.schedule;
    if (is_large() || chosen(near_solvers()).empty()) return decide(budget).found;
    if (std::optional<Planned> found = search(budget, near_solvers(), start).found) return found;
    if (plan::is_base_order(aligned_, *start) || !may_reorder()) return {};
    return search(budget, {"order_search"}, start).found;
  }

  // Descents do not look at the budget: what they find is known before anything is refused.
  std::vector<std::string> quick_solvers() const {
    if (is_large()) return {"keep_all", "segments", "chain_dp"};
    return {"keep_all", "segments", "chain_dp", "min_cut", "exact", "ruin_and_recreate"};
  }
  static std::vector<std::string> near_solvers() { return {"chain_dp", "min_cut", "ruin_and_recreate"}; }

  // Some of the solvers that were chosen, until something fits.
  Decision search(std::int64_t budget, const std::vector<std::string>& some, plan::SharedSchedule start) const {
    PlanOptions options = options_for(budget);
    options.solvers = chosen(some);
    if (options.solvers.empty()) options.solvers = {"keep_all"};
    bool is_order = some.size() == 1;
    options.gap = is_order ? 0 : std::numeric_limits<double>::infinity();
    Decision decision{
        std::make_unique<Solving>(aligned_, std::move(options), start ? std::move(start) : start_, placer(budget)), {}};
    decision.solving->run_without_raising();
    decision.found = decision.solving->take_best();
    return decision;
  }

  std::vector<std::string> chosen(const std::vector<std::string>& some) const {
    auto names = [](const std::vector<std::string>& list, const std::string& name) {
      return std::ranges::find(list, name) != list.end();
    };
    std::vector<std::string> those;
    for (const std::string& name : some)
      if ((options_.solvers.empty() || names(options_.solvers, name)) && !names(options_.without, name))
        those.push_back(name);
    return those;
  }

  // A layout that only had to fit, as low as it can be had.
  Planned lowered(Planned found) const {
    Placed lower = place(*found.judged.schedule, unlimited);
    if (lower.bytes < found.placed.bytes) plan::move_to(aligned_, std::move(lower), found);
    return found;
  }

  // Asks for less than what was found until nothing is found: one byte less than the budget named is then refused. What
  // is asked does not depend on the budget given, so that the one named is found again. Large problems whose tightest
  // plan is far from the bound are left with that: no solver that is quick enough knows how to plan them.
  Planned descended(Planned lowest, std::int64_t bound, std::int64_t enough) const {
    if (is_large() && lowest.placed.bytes > bound + bound / 4) return lowest;
    const int precision = problem_.node_count() > 1000 ? 64 : 256;  // an answer takes seconds there
    auto little = [&] { return std::max<std::int64_t>(1, lowest.placed.bytes / precision); };
    std::int64_t refused = bound - 1, less = std::clamp<std::int64_t>(lowest.placed.bytes - bound, 1, 2 * little());
    while (lowest.placed.bytes > std::max(enough, refused + 1) && !deadline_.is_over()) {
      std::int64_t budget = std::max(refused + 1, lowest.placed.bytes - less);
      bool is_last = budget + 1 == lowest.placed.bytes;
      std::optional<Planned> found = is_last ? decide(budget).found : improve(lowest, budget);
      if (!found && is_last) break;
      if (found) lowest = lowered(std::move(*found));
      if (!found) refused = budget;
      if (lowest.placed.bytes <= refused)
        refused = bound - 1;  // a larger budget was refused, and this one found by luck
      // Ever larger steps, then halves of what is left between, and one of a byte at the end.
      std::int64_t left = lowest.placed.bytes - refused;
      less = std::max<std::int64_t>(1, std::min(found             ? 2 * std::max(less, little())
                                                : left > little() ? left
                                                                  : 1,
                                                left / 2));
    }
    return lowest;
  }

  Planned smallest(Planned lowest, std::int64_t bound, std::int64_t enough) const {
    lowest = descended(std::move(lowest), bound, enough);
    while (is_small() && may_reorder() && lowest.placed.bytes > std::max(enough, bound)) {
      std::optional<Planned> lower = lower_by_orders(lowest.placed.bytes);
      if (!lower) break;
      lowest = descended(std::move(*lower), bound, enough);
    }
    return lowest;
  }

  // Orders are found more easily with some room, and often need less than they were given, or do after another search.
  std::optional<Planned> lower_by_orders(std::int64_t known) const {
    for (int part : {5, 12, 50}) {
      std::optional<Planned> found = alone("order_search", known + known / part);
      if (found) found = lowered(std::move(*found));
      if (found && found->placed.bytes >= known)
        found = search(known - 1, {"order_search"}, found->judged.schedule).found;
      if (found) return lowered(std::move(*found));
    }
    return {};
  }

  // In the sizes and for the budget given.
  PlanResult finish(PlanResult result) const {
    result.budget = options_.budget;
    result.seconds = deadline_.seconds();
    if (!is_aligned()) {
      result.min_budget_bound -= slack();
      result.keep_all_peak = peak(problem_, keep_all(problem_));
      if (result) result.peak = peak(problem_, result.schedule);
    }
    result.min_budget_bound = std::min(result.min_budget_bound, result.min_budget);
    return result;
  }

  const Problem& problem_;
  const PlanOptions& options_;
  plan::SharedSchedule start_;
  plan::Deadline deadline_;
  Problem aligned_;
  mutable std::uint64_t calm_seed_ = options_.seed;
};

// Of a search without a time limit, for which any plan will do.
PlanOptions settling(PlanOptions options) {
  options.time_limit = std::numeric_limits<double>::infinity();
  options.gap = std::numeric_limits<double>::infinity();
  options.iterations = std::min(options.iterations, PlanOptions{}.iterations);
  return options;
}

}  // namespace

PlanResult solve(const Problem& problem, PlanOptions options) {
  check(options);
  plan::SharedSchedule start;
  if (options.start) start = std::make_shared<const Schedule>(std::move(*options.start));
  options.start.reset();
  bool is_empty = problem.node_count() == 0;
  PlanResult result = is_empty ? empty_result(problem, options) : Planner(problem, options, start).solve();
  constexpr int most_nodes = 20'000;  // with more it takes many minutes
  bool is_open = !result && !result.is_decided && !options.cancel.stop_requested();
  if (is_open && options.settle && problem.node_count() <= most_nodes) {
    const double seconds = result.seconds;
    const PlanOptions patient = settling(options);
    result = Planner(problem, patient, start).solve();
    result.seconds += seconds;
  }
  result.problem = std::make_shared<const Problem>(problem);
  return result;
}

}  // namespace reprise
