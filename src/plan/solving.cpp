// SPDX-License-Identifier: Apache-2.0
#include "plan/solving.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "base/error.h"

namespace reprise::plan {
namespace {

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

// Of what a node reads, each once, and through views.
std::int64_t bytes_read(const Problem& problem, const Problem::Node& node) {
  std::vector<int> read;
  for (int v : problem.inputs(node)) read.push_back(problem.value(v).view_of < 0 ? v : problem.value(v).view_of);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  std::int64_t bytes = 0;
  for (int v : read) bytes += problem.value(v).bytes;
  return bytes;
}

// Name of the node that runs at the peak, and what it needs, in words.
void describe_peak(const Problem& problem, const Judged& judged, PlanResult& result) {
  const Step& step = judged.schedule->steps[static_cast<std::size_t>(judged.verdict.peak_step)];
  int index = step.kind == Step::Kind::run ? step.id : problem.value(step.id).node;
  const Problem::Node& node = problem.node(index);
  std::int64_t outputs = 0;
  for (int k = 0; k < node.value_count; ++k) outputs += problem.value(node.first_value + k).bytes;
  result.where = node.name;
  result.split = fmt::format("inputs {}, outputs {}, scratch {}", format_bytes(bytes_read(problem, node)),
                             format_bytes(outputs), format_bytes(node.scratch));
}

Binding binding_of(const Model& model, const Certificate::Bound& bound, std::int64_t budget, bool any_order) {
  Binding binding;
  if (bound.node < 0) return binding;
  Moment moment(model, bound.node, any_order ? Scope::any_order : Scope::this_order);
  binding.node = model.node(bound.node).original;
  binding.node_bytes = moment.own_bytes();
  binding.free_bytes = budget - moment.own_bytes();
  binding.needed_bytes = moment.needed_bytes();
  binding.any_order = any_order;
  return binding;
}

constexpr int branches = 300;  // cuts spent on raising the bound of each binding moment

}  // namespace

bool is_base_order(const Problem& problem, const Schedule& schedule) {
  int next = 0;
  for (Step step : schedule.steps) {
    if (step.kind != Step::Kind::run || step.id < next) continue;
    if (step.id > next) return false;
    ++next;
  }
  return next == problem.node_count();
}

Solving::Solving(const Problem& problem, PlanOptions options, SharedSchedule start, Placer placer)
    : problem_(problem),
      start_(std::move(start)),
      options_(std::move(options)),
      deadline_(options_),
      model_(make_model(problem)),
      portfolio_(problem, options_, std::move(placer), deadline_) {}

void Solving::prove_first_bound() {
  portfolio_.improved = [this](std::string_view solver) { tell(solver); };
  certificate_ = prove(model_, options_.budget, [this] { return deadline_.is_over(); });
  // A schedule may be in any order, so only the bound for every order ends the search for sure.
  proved_.raise_to(model_.base_cost + certificate_.any_order.extra);
  raised_ = certificate_;
}

void Solving::run_without_raising() {
  prove_first_bound();
  search();
}

bool Solving::is_decided_by_order() const {
  double apart = certificate_.this_order.extra - certificate_.any_order.extra;
  return certificate_.least_budget <= options_.budget &&
         (certificate_.least_budget_this_order > options_.budget || apart > 0.02 * model_.base_cost);
}

void Solving::run() {
  if (std::isinf(options_.gap)) return run_without_raising();  // nobody asks how good it is
  prove_first_bound();
  bool is_hopeless = certificate_.least_budget > options_.budget;
  if (options_.threads > 1 && !is_hopeless)
    search_beside_raising();
  else
    raise_then_search(is_hopeless);
}

void Solving::tell(std::string_view solver) const {
  if (!options_.progress) return;
  PlanProgress progress{.seconds = deadline_.seconds(), .lower_bound = proved_.cost(), .solver = solver};
  if (best()) progress.cost = best()->judged.verdict.cost;
  options_.progress(progress);
}

void Solving::search() {
  portfolio_.run(model_, certificate_, std::exchange(start_, nullptr), [this] { return enough(); });
}

void Solving::raise_then_search(bool is_hopeless) {
  if (!is_hopeless) raise_bound();
  search();
}

// Raises in another thread. Without a time limit the search must not depend on when that happens, so it learns of it
// only if there is one.
void Solving::search_beside_raising() {
  portfolio_.has_free_core = [this] { return is_raised_.load(); };
  std::jthread raiser([this] {
    raise_bound_until(options_.time_limit);
    is_raised_ = true;
  });
  search();
  is_done_ = true;
}

void Solving::raise_bound() { raise_bound_until(0.2 * options_.time_limit); }

void Solving::raise_bound_until(double seconds) {
  bool is_timed = std::isfinite(options_.time_limit);
  auto should_stop = [&] { return (is_done_ && is_timed) || deadline_.is_over() || deadline_.seconds() > seconds; };
  raise(raised_, model_, options_.budget, branches, should_stop);
  bool is_learnt = options_.threads == 1 || is_timed;
  if (is_learnt) proved_.raise_to(model_.base_cost + raised_.any_order.extra);
}

PlanResult Solving::result(const Planned* plan) const {
  PlanResult result;
  result.budget = options_.budget;
  result.base_cost = model_.base_cost;
  result.value_count = problem_.value_count();
  result.keep_all_peak = portfolio_.base().verdict.peak;
  result.min_budget_bound = std::max(raised_.least_budget, portfolio_.proved_budget());
  const Judged& shown = plan ? plan->judged : portfolio_.lowest();
  tell_bounds(*shown.schedule, result);
  describe_peak(problem_, shown, result);
  result.seconds = deadline_.seconds();
  if (!plan) return result;
  result.feasible = true;
  result.schedule = *shown.schedule;
  result.layout_bytes = plan->placed.bytes;
  result.peak = shown.verdict.peak;
  result.cost = shown.verdict.cost;
  result.lower_bound = std::min(result.lower_bound, result.cost);  // rounding
  result.solver = shown.solver;
  result.recomputed = recomputed_values(problem_, *shown.schedule);
  return result;
}

void Solving::tell_bounds(const Schedule& schedule, PlanResult& result) const {
  bool in_base_order = is_base_order(problem_, schedule);
  const Certificate::Bound& bound = in_base_order ? raised_.this_order : raised_.any_order;
  bool for_any_order = !in_base_order || raised_.any_order.extra >= raised_.this_order.extra;
  result.lower_bound = std::max(result.base_cost + bound.extra, portfolio_.proved_cost());
  result.lower_bound_any_order = std::max(result.base_cost + raised_.any_order.extra, portfolio_.proved_cost());
  result.binding = binding_of(model_, for_any_order ? raised_.any_order : bound, options_.budget, for_any_order);
}

}  // namespace reprise::plan
