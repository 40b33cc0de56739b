// SPDX-License-Identifier: Apache-2.0
#include "plan/portfolio.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

// Whether the bound for every order is far below the one for this order: a search for orders then comes first.
bool is_order_decisive(const Model& model, const Certificate& certificate) {
  return certificate.this_order.extra - certificate.any_order.extra > 0.02 * model.base_cost ||
         certificate.least_budget < certificate.least_budget_this_order;
}

}  // namespace

void move_to(const Problem& problem, Placed placed, Planned& plan) {
  if (placed.schedule) {
    plan.judged.schedule = std::make_shared<const Schedule>(std::move(*placed.schedule));
    plan.judged.verdict = validate(problem, *plan.judged.schedule);
    if (!plan.judged.verdict) fail("[internal] a schedule that was moved is not valid: {}", plan.judged.verdict.why);
  }
  placed.schedule.reset();
  plan.placed = std::move(placed);
}

Portfolio::Portfolio(const Problem& problem, const PlanOptions& options, Placer placer, const Deadline& deadline)
    : problem_(problem),
      options_(options),
      told_(options),
      placer_(std::move(placer)),
      deadline_(deadline),
      target_(options.budget),
      aim_(target_) {
  check_names(options.solvers);
  check_names(options.without);
  auto all = std::make_shared<const Schedule>(keep_all(problem));
  base_ = {all, validate(problem, *all), "keep_all"};
  if (!base_.verdict) fail("[plan] the base order is no schedule: {}", base_.verdict.why);
  candidate_ = lowest_ = base_;
}

void Portfolio::offer(const Solver& solver, SharedSchedule schedule) {
  Verdict verdict = validate(problem_, *schedule);
  if (!verdict) fail("[internal] solver '{}' made a schedule that is not valid: {}", solver.name, verdict.why);
  bool is_lowest = solver.seeks_lowest_peak && verdict.peak < lowest_.verdict.peak;
  bool is_candidate = is_better(verdict, candidate_.verdict, aim_);
  if (!is_lowest && !is_candidate) return;
  Judged judged{std::move(schedule), verdict, std::string(solver.name)};
  if (is_lowest) lowest_ = judged;
  if (!is_candidate) return;
  candidate_ = std::move(judged);
  is_settled_ = false;
  if (may_settle_early()) settle();
}

void Portfolio::take_start(SharedSchedule start) {
  Verdict verdict = validate(problem_, *start);
  if (!verdict) fail("[plan] the schedule to start from is not valid: {}", verdict.why);
  if (is_better(verdict, candidate_.verdict, aim_)) candidate_ = {std::move(start), verdict, "start"};
}

bool Portfolio::is_timed() const { return std::isfinite(deadline_.limit()); }

void Portfolio::run(const Model& model, const Certificate& certificate, SharedSchedule start,
                    const std::function<double()>& enough) {
  if (start) take_start(std::move(start));
  settle();
  constexpr double few[] = {0.5, 0.7, 0.85, 0.95}, many[] = {0.2, 0.42, 0.62, 0.8, 0.9};
  constexpr int small = 64;  // so many nodes are searched through in no time
  is_decisive_ = is_timed() && model.node_count() > small && is_order_decisive(model, certificate);
  std::span<const double> shares = few;  // of the time, at the end of each stretch
  if (is_decisive_) shares = many;
  // Without a time limit the later ones are for layouts that do not fit.
  const int stretches = is_timed() ? static_cast<int>(shares.size()) : 6;
  if (is_decisive_) find_first({model, certificate, enough, deadline_, 0});
  const int most_rounds = 24;
  for (int round = 0, stretch = 0; stretch < stretches && round < most_rounds; ++round) {
    Deadline deadline = deadline_.at_share(is_timed() ? shares[static_cast<std::size_t>(stretch)] : 1);
    run_round({model, certificate, enough, deadline, round});
    bool is_hopeless = certificate.least_budget > options_.budget || (!is_timed() && !best_ && failed_peak_ == none);
    bool is_done = best_ && failures_ == 0 && !is_timed();
    if (is_hopeless || is_done || is_enough(enough()) || deadline_.is_over()) return;
    bool goes_on = is_timed() && is_stale() && !deadline.is_over();  // with the rest of the stretch
    if (!goes_on) ++stretch;
    raise_target();
  }
}

// Something that fits, soon: where orders decide, layouts lose a few percent, so much less is asked for at first.
void Portfolio::find_first(const Round& round) {
  for (double share : {0.95, 0.97, 0.93, 0.88}) {
    if (best_) break;
    target_ = static_cast<std::int64_t>(share * static_cast<double>(options_.budget));
    Deadline soon = deadline_.at_share(0.03 + deadline_.seconds() / deadline_.limit());
    Round hasty{round.model, round.certificate, round.enough, soon, round.number, true};
    for (const Solver& solver : all_solvers()) {
      if (solver.solve != solve_order_search || !is_chosen(solver)) continue;
      run_solver(solver, hasty);
      settle();
    }
  }
  target_ = aim_ = options_.budget - options_.budget / 66;
  failures_ = 0;
  refused_.reset();
}

// A layout did not fit. Where orders decide, it is sought again twice. Then what it loses between lives is left free,
// and more if that was not enough before; but what is known to fit is never given up.
void Portfolio::lower_target(std::int64_t lost) {
  if (is_decisive_) lost /= 2;  // some of what is lost can be won back by shifts
  failed_peak_ = candidate_.verdict.peak;
  refused_ = candidate_.schedule;
  ++failures_;
  if (is_tried_again()) return;
  target_ = std::max<std::int64_t>(0, std::min(failed_peak_ - 1, options_.budget - lost - (failures_ - 1) * lost / 2));
  if (!best_) return;
  candidate_ = placed_;
  is_settled_ = true;
}

// After a round: if nothing was found for the target, half of what was given up is taken back; if a layout did fit, the
// next may use more.
void Portfolio::raise_target() {
  if (!fits_aim() && failed_peak_ != none) target_ += (failed_peak_ - target_) / 2;
  if (failures_ == 0) target_ += (options_.budget - target_) / 3 * 2;
}

bool Portfolio::is_chosen(const Solver& solver) const {
  bool chosen = options_.solvers.empty() || contains(options_.solvers, solver.name);
  return chosen && !contains(options_.without, solver.name);
}

void Portfolio::run_round(const Round& round) {
  bool is_hopeless = round.certificate.least_budget > options_.budget;
  for (const Solver& solver : all_solvers()) {
    if (round.deadline.is_over() || is_enough(round.enough())) return;
    if (!is_chosen(solver) || (is_hopeless && !solver.seeks_lowest_peak)) continue;
    if (round.number > 0 && !solver.searches_on) continue;
    run_solver(solver, round);
    settle();
  }
}

void Portfolio::run_solver(const Solver& solver, const Round& round) {
  if (is_tried_again() && solver.solve == solve_order_search) is_settled_ = false;
  SharedSchedule seed = candidate_.schedule, refused = refused_;
  Verdict seed_verdict = candidate_.verdict;
  auto report = [&](SharedSchedule schedule) { offer(solver, std::move(schedule)); };
  told_.budget = aim_ = target_;
  Attempt attempt{problem_, told_,        round.deadline, round.model, round.certificate,
                  *seed,    seed_verdict, report,         round.enough};
  attempt.round = round.number;
  attempt.has_free_core = has_free_core;
  attempt.refused = refused.get();
  attempt.is_hasty = round.is_hasty;
  attempt.is_stale = [this] { return is_stale(); };
  if (is_timed()) attempt.sample = [&](SharedSchedule schedule) { sample(solver, std::move(schedule)); };
  attempt.placed_cost = [this] { return placed_cost(); };
  bool is_lowered = told_.budget < options_.budget;
  attempt.prove_cost = [&](double cost) {
    if (!is_lowered) proved_cost_ = std::max(proved_cost_, cost);
  };
  attempt.prove_budget = [&](std::int64_t budget) { proved_budget_ = std::max(proved_budget_, budget); };
  for (Schedule& found : solver.solve(attempt)) report(std::make_shared<const Schedule>(std::move(found)));
}

// Seeks a layout of the candidate, which becomes the best if it fits.
void Portfolio::settle() {
  std::optional<Planned> nearest = std::exchange(nearest_, std::nullopt);
  if (is_settled_ || !fits_aim()) return;
  if (is_timed() && candidate_.verdict.cost >= placed_cost()) {  // nothing to win
    failures_ = 0;
    return;
  }
  is_settled_ = true;
  double start = deadline_.seconds();
  Placed placed = placer_.place(*candidate_.schedule);
  std::int64_t lost = placed.bytes - candidate_.verdict.peak;
  bool has_time = !deadline_.at_share(0.95).is_over();
  if (placed.bytes > placer_.budget && nearest && nearest->placed.bytes < placed.bytes && has_time) {
    Placed other = placer_.place(*nearest->judged.schedule);
    lost = std::min(lost, other.bytes - nearest->judged.verdict.peak);
    if (other.bytes <= placer_.budget) adopt(nearest->judged, std::move(other));
  }
  double end = deadline_.seconds();
  next_settling_ = end + 20 * (end - start);
  if (placed.bytes > placer_.budget) return lower_target(lost);
  failures_ = 0;
  if (candidate_.verdict.cost < placed_cost()) refused_.reset();
  adopt(candidate_, std::move(placed));
}

// One of many schedules that cost less than the best plan: some have layouts although the cheapest has none.
void Portfolio::sample(const Solver& solver, SharedSchedule schedule) {
  Verdict verdict = validate(problem_, *schedule);
  Judged judged{std::move(schedule), std::move(verdict), std::string(solver.name)};
  if (!judged.verdict)
    fail("[internal] solver '{}' made a schedule that is not valid: {}", solver.name, judged.verdict.why);
  Placed placed = placer_.place_quickly(*judged.schedule);
  if (placed.bytes <= placer_.budget) return adopt(judged, std::move(placed));
  if (!nearest_ || placed.bytes < nearest_->placed.bytes) nearest_ = {std::move(judged), std::move(placed)};
}

void Portfolio::adopt(const Judged& judged, Placed placed) {
  if (best_ && judged.verdict.cost >= best_->judged.verdict.cost) return;
  Planned plan{judged, {}};
  move_to(problem_, std::move(placed), plan);
  best_ = std::move(plan);
  placed_ = judged;
  if (improved) improved(judged.solver);
}

}  // namespace reprise::plan
