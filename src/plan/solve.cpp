// SPDX-License-Identifier: Apache-2.0
// The planner's front door. Offsets that are multiples of an alignment make values as large as the next multiple, so
// sizes are rounded up before anything else; what is found is placed with the sizes given.
#include <algorithm>
#include <bit>
#include <cmath>
#include <future>

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
  Planner(const Problem& problem, const PlanOptions& options)
      : problem_(problem), options_(options), deadline_(options), aligned_(problem.aligned(options.alignment)) {}

  PlanResult solve() const {
    Solving solving(aligned_, options_for(options_.budget), placer(options_.budget));
    solving.run();
    if (solving.best()) return finish(with_smallest(solving, tightened(*solving.best())));
    // The tightest plan there is decides. Without a time limit it does not depend on the budget, so that the smallest
    // budget that is named is one that does.
    if (is_timed() || options_.budget == 0) return fall_back(solving, solving);
    Solving tightest(aligned_, options_for(0), placer(0));
    tightest.run();
    return fall_back(solving, tightest);
  }

 private:
  bool is_timed() const { return std::isfinite(options_.time_limit); }
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

  bool may_reorder() const {
    auto names = [](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), "order_search") != list.end();
    };
    return (options_.solvers.empty() || names(options_.solvers)) && !names(options_.without);
  }

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
      Placed lower = place(plan.judged.schedule, goal);
      if (lower.bytes > goal) {
        std::optional<Placed> fitted = fit(plan.judged.schedule, lower, goal + (lower.bytes - goal) / 2);
        if (fitted) lower = std::move(*fitted);
      }
      if (lower.bytes >= plan.placed.bytes) break;
      plan::move_to(aligned_, std::move(lower), plan);
    }
    return plan;
  }

  PlanResult with_smallest(const Solving& solving, const Planned& plan) const {
    PlanResult result = solving.result(plan);
    result.min_budget = result.layout_bytes;
    if (solving.lowest().verdict.peak < result.peak)
      result.min_budget = std::min(result.min_budget, place(solving.lowest().schedule, unlimited).bytes);
    return result;
  }

  PlanResult fall_back(const Solving& solving, const Solving& tightest) const {
    std::int64_t bound = tightest.result(std::nullopt).min_budget_bound - slack();
    Planned lowest = smallest({tightest.lowest(), place(tightest.lowest().schedule, unlimited)}, bound);
    bool fits = lowest.placed.bytes <= options_.budget;
    PlanResult result = fits ? solving.result(lowest) : tightest.result(std::nullopt);
    result.min_budget = lowest.placed.bytes;
    result.min_budget_bound = std::max(result.min_budget_bound, solving.result(std::nullopt).min_budget_bound);
    return finish(std::move(result));
  }

  std::optional<Planned> search(std::int64_t budget, double gap) const {
    PlanOptions options = options_for(budget);
    options.gap = gap;
    Solving solving(aligned_, options, placer(budget));
    solving.run_without_raising();
    return solving.best();
  }

  // A plan for the budget: the first that fits is enough, but only a search like that for a user's budget says that
  // there is none. Its layout, which only had to fit, is as low as it can be had.
  std::optional<Planned> any_plan(std::int64_t budget) const {
    std::optional<Planned> found = search(budget, std::numeric_limits<double>::infinity());
    if (!found) found = search(budget, 0);
    if (!found) return found;
    Placed lower = place(found->judged.schedule, unlimited);
    if (lower.bytes < found->placed.bytes) plan::move_to(aligned_, std::move(lower), *found);
    return found;
  }

  // Asks for less than what was found until nothing is found: one byte less than the budget named is then refused. What
  // is asked does not depend on the budget given, so that the one named is found again. In problems of very many nodes
  // each question would take minutes.
  Planned smallest(Planned lowest, std::int64_t bound) const {
    if (problem_.node_count() > 4000) return lowest;
    std::int64_t refused = bound - 1, less = 1;
    while (lowest.placed.bytes > std::max(options_.budget, refused + 1) && !deadline_.is_over()) {
      std::int64_t budget = std::max(refused + 1, lowest.placed.bytes - less);
      std::optional<Planned> found = any_plan(budget);
      if (!found && less == 1) break;
      if (found) lowest = std::move(*found);
      if (!found) refused = budget;
      if (lowest.placed.bytes <= refused)
        refused = bound - 1;  // a larger budget was refused, and this one found by luck
      // Ever larger steps, then halves of what is left between, and one of a byte at the end.
      std::int64_t left = lowest.placed.bytes - refused, little = lowest.placed.bytes / 4096;
      less = std::max<std::int64_t>(1, std::min(found ? 16 * less : left > little ? left : 1, left / 2));
    }
    return lowest;
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
  plan::Deadline deadline_;
  Problem aligned_;
  mutable std::uint64_t calm_seed_ = options_.seed;
};

}  // namespace

PlanResult solve(const Problem& problem, const PlanOptions& options) {
  check(options);
  bool is_empty = problem.node_count() == 0;
  PlanResult result = is_empty ? empty_result(problem, options) : Planner(problem, options).solve();
  result.problem = std::make_shared<const Problem>(problem);
  return result;
}

}  // namespace reprise
