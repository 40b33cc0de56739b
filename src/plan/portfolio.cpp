// SPDX-License-Identifier: Apache-2.0
#include "plan/portfolio.h"

#include <algorithm>

#include "base/error.h"

namespace reprise::plan {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<std::string_view> known = solver_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (std::string_view solver : known) list += (list.empty() ? "" : ", ") + std::string(solver);
    fail("[plan] there is no solver '{}': choose from {}", name, list);
  }
}

// Less is better: within the budget first, then cost, then peak.
bool is_better(const Verdict& a, const Verdict& b, std::int64_t budget) {
  bool a_fits = a.peak <= budget, b_fits = b.peak <= budget;
  if (a_fits != b_fits) return a_fits;
  if (!a_fits) return a.peak != b.peak ? a.peak < b.peak : a.cost < b.cost;
  return a.cost != b.cost ? a.cost < b.cost : a.peak < b.peak;
}

}  // namespace

Portfolio::Portfolio(const Problem& problem, const PlanOptions& options, const Deadline& deadline)
    : problem_(problem), options_(options), deadline_(deadline) {
  check_names(options.solvers);
  check_names(options.without);
  Schedule base = keep_all(problem);
  best_ = {base, validate(problem, base), "keep_all"};
  if (!best_.verdict) fail("[plan] the base order is no schedule: {}", best_.verdict.why);
  lowest_ = best_;
}

void Portfolio::offer(const Solver& solver, const Schedule& schedule) {
  Verdict verdict = validate(problem_, schedule);
  if (!verdict) fail("[internal] solver '{}' made a schedule that is not valid: {}", solver.name, verdict.why);
  if (solver.seeks_lowest_peak && verdict.peak < lowest_.verdict.peak)
    lowest_ = {schedule, verdict, std::string(solver.name)};
  if (!is_better(verdict, best_.verdict, options_.budget)) return;
  best_ = {schedule, verdict, std::string(solver.name)};
  if (improved) improved(solver.name);
}

void Portfolio::take_start(const Schedule& start) {
  Verdict verdict = validate(problem_, start);
  if (!verdict) fail("[plan] the schedule to start from is not valid: {}", verdict.why);
  if (is_better(verdict, best_.verdict, options_.budget)) best_ = {start, verdict, "start"};
}

void Portfolio::run(const Model& model, const Certificate& certificate, const std::function<double()>& enough) {
  if (options_.start) take_start(*options_.start);
  bool is_hopeless = certificate.least_budget > options_.budget;
  for (const Solver& solver : all_solvers()) {
    if (deadline_.is_over()) return;
    if (is_feasible() && best_.verdict.cost <= std::max(enough(), proved_cost_)) return;
    bool chosen = options_.solvers.empty() || contains(options_.solvers, solver.name);
    if (!chosen || contains(options_.without, solver.name) || (is_hopeless && !solver.seeks_lowest_peak)) continue;
    Schedule seed = best_.schedule;
    Verdict seed_verdict = best_.verdict;
    auto report = [&](const Schedule& schedule) { offer(solver, schedule); };
    Attempt attempt{problem_, options_, deadline_, model, certificate, seed, seed_verdict, report, enough};
    attempt.prove_cost = [&](double cost) { proved_cost_ = std::max(proved_cost_, cost); };
    attempt.prove_budget = [&](std::int64_t budget) { proved_budget_ = std::max(proved_budget_, budget); };
    for (const Schedule& found : solver.solve(attempt)) report(found);
  }
}

}  // namespace reprise::plan
