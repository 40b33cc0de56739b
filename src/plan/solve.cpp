// SPDX-License-Identifier: Apache-2.0
// Joins the parts: the portfolio searches, the bound proves, the result tells.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "plan/portfolio.h"

namespace reprise {
namespace {

using plan::Certificate;
using plan::Deadline;
using plan::Judged;
using plan::Model;
using plan::Portfolio;

void check(const PlanOptions& options) {
  if (options.budget < 0) fail("[plan] the budget is {} bytes: give one >= 0", options.budget);
  if (options.iterations < 0) fail("[plan] {} iterations: give a number >= 0", options.iterations);
  if (!(options.time_limit >= 0)) fail("[plan] the time limit is {} seconds: give one >= 0", options.time_limit);
  if (options.threads < 1) fail("[plan] {} threads: give at least 1", options.threads);
}

int recomputed_values(const Problem& problem, const Schedule& schedule) {
  std::vector<int> runs(problem.nodes().size(), 0);
  for (Step step : schedule.steps) {
    if (step.kind == Step::Kind::run) ++runs[static_cast<std::size_t>(step.id)];
  }
  int count = 0;
  for (int n = 0; n < problem.node_count(); ++n) {
    if (runs[static_cast<std::size_t>(n)] > 1) count += problem.node(n).value_count;
  }
  return count;
}

// Name of the node that runs at the peak, and what it needs, in words.
void describe_peak(const Problem& problem, const Judged& judged, PlanResult& result) {
  const Step& step = judged.schedule.steps[static_cast<std::size_t>(judged.verdict.peak_step)];
  int index = step.kind == Step::Kind::run ? step.id : problem.value(step.id).node;
  const Problem::Node& node = problem.node(index);
  std::int64_t inputs = 0, outputs = 0;
  for (int v : node.inputs) inputs += problem.value(v).bytes;
  for (int k = 0; k < node.value_count; ++k) outputs += problem.value(node.first_value + k).bytes;
  result.where = node.name;
  result.split = fmt::format("inputs {}, outputs {}, scratch {}", format_bytes(inputs), format_bytes(outputs),
                             format_bytes(node.scratch));
}

// Whether the first runs of the schedule are in base order.
bool is_base_order(const Problem& problem, const Schedule& schedule) {
  int next = 0;
  for (Step step : schedule.steps) {
    if (step.kind != Step::Kind::run || step.id < next) continue;
    if (step.id > next) return false;
    ++next;
  }
  return next == problem.node_count();
}

// The cost below which nothing can be found, as far as is known while the search runs. Written by one thread and read
// by another.
class SharedBound {
 public:
  void raise_to(double cost) {
    if (cost > cost_.load()) cost_.store(cost);
  }
  double cost() const { return cost_.load(); }

 private:
  std::atomic<double> cost_ = 0;
};

Binding binding_of(const Model& model, const Certificate::Bound& bound, std::int64_t budget, bool any_order) {
  Binding binding;
  if (bound.node < 0) return binding;
  plan::Moment moment(model, bound.node, any_order ? plan::Scope::any_order : plan::Scope::this_order);
  binding.node = model.node(bound.node).original;
  binding.node_bytes = moment.own_bytes();
  binding.free_bytes = budget - moment.own_bytes();
  binding.needed_bytes = moment.needed_bytes();
  binding.any_order = any_order;
  return binding;
}

constexpr int branches = 300;  // cuts spent on raising the bound of each binding moment

class Solving {
 public:
  Solving(const Problem& problem, const PlanOptions& options)
      : problem_(problem),
        options_(options),
        deadline_(options),
        model_(plan::make_model(problem)),
        portfolio_(problem, options, deadline_) {}

  PlanResult solve() {
    portfolio_.improved = [this](std::string_view solver) { tell(solver); };
    certificate_ = plan::prove(model_, options_.budget, [this] { return deadline_.is_over(); });
    // A schedule may be in any order, so only the bound for every order ends the search for sure.
    proved_.raise_to(model_.base_cost + certificate_.any_order.extra);
    bool hopeless = certificate_.least_budget > options_.budget;
    if (options_.threads > 1 && !hopeless)
      search_beside_raising();
    else
      raise_then_search(hopeless);
    return result();
  }

 private:
  double enough() const { return proved_.cost() * (1 + options_.gap) * (1 + 1e-12); }

  void tell(std::string_view solver) const {
    if (!options_.progress) return;
    PlanProgress progress{.seconds = deadline_.seconds(), .lower_bound = proved_.cost(), .solver = solver};
    if (portfolio_.best().verdict.peak <= options_.budget) progress.cost = portfolio_.best().verdict.cost;
    options_.progress(progress);
  }

  void search() {
    portfolio_.run(model_, certificate_, [this] { return enough(); });
  }

  void raise_then_search(bool hopeless) {
    raised_ = certificate_;
    if (!hopeless) raise_bound(0.2 * options_.time_limit);
    search();
  }

  // Raises in another thread. Without a time limit the search must not depend on when that happens, so it learns of it
  // only if there is one.
  void search_beside_raising() {
    raised_ = certificate_;
    std::jthread raiser([this] { raise_bound(options_.time_limit); });
    search();
    is_done_ = true;
  }

  void raise_bound(double until) {
    bool is_timed = std::isfinite(options_.time_limit);
    auto should_stop = [&] { return (is_done_ && is_timed) || deadline_.is_over() || deadline_.seconds() > until; };
    plan::raise(raised_, model_, options_.budget, branches, should_stop);
    bool is_learnt = options_.threads == 1 || is_timed;
    if (is_learnt) proved_.raise_to(model_.base_cost + raised_.any_order.extra);
  }

  PlanResult result() {
    PlanResult result;
    result.budget = options_.budget;
    result.base_cost = model_.base_cost;
    result.keep_all_peak = base_.verdict.peak;
    const Judged& best = portfolio_.best();
    result.feasible = best.verdict.peak <= options_.budget;
    result.min_budget = portfolio_.lowest().verdict.peak;
    result.min_budget_bound = std::min(result.min_budget, std::max(raised_.least_budget, portfolio_.proved_budget()));
    bool in_base_order = is_base_order(problem_, best.schedule);
    const Certificate::Bound& bound = in_base_order ? raised_.this_order : raised_.any_order;
    bool for_any_order = !in_base_order || raised_.any_order.extra >= raised_.this_order.extra;
    result.lower_bound = std::max(result.base_cost + bound.extra, portfolio_.proved_cost());
    result.lower_bound_any_order = std::max(result.base_cost + raised_.any_order.extra, portfolio_.proved_cost());
    result.binding = binding_of(model_, for_any_order ? raised_.any_order : bound, options_.budget, for_any_order);
    describe_peak(problem_, result.feasible ? best : portfolio_.lowest(), result);
    if (result.feasible) {
      result.schedule = best.schedule;
      result.peak = best.verdict.peak;
      result.cost = best.verdict.cost;
      result.lower_bound = std::min(result.lower_bound, result.cost);  // rounding
      result.solver = best.solver;
      result.recomputed = recomputed_values(problem_, best.schedule);
    }
    result.seconds = deadline_.seconds();
    return result;
  }

  const Problem& problem_;
  const PlanOptions& options_;
  Deadline deadline_;
  Model model_;
  Portfolio portfolio_;
  Judged base_ = portfolio_.best();
  Certificate certificate_, raised_;
  SharedBound proved_;
  std::atomic<bool> is_done_ = false;
};

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
  result.feasible = result.peak <= options.budget;
  return result;
}

}  // namespace

PlanResult solve(const Problem& problem, const PlanOptions& options) {
  check(options);
  if (problem.node_count() == 0) return empty_result(problem, options);
  // More than everything at once is never needed; searches rely on there being a size that does not fit.
  PlanOptions bounded = options;
  bounded.budget = std::min(options.budget, all_bytes(problem));
  PlanResult result = Solving(problem, bounded).solve();
  result.budget = options.budget;
  return result;
}

}  // namespace reprise
