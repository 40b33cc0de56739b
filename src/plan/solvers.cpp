// SPDX-License-Identifier: Apache-2.0
// The table of solvers. A solver is added by a row here.
#include <algorithm>
#include <cmath>

#include "plan/solver.h"

namespace reprise {
namespace plan {
namespace {

constexpr Solver table[] = {
    {"keep_all", solve_keep_all, true},
    {"segments", solve_segments, true},
    {"chain_dp", solve_chain_dp, true},
    {"min_cut", solve_min_cut},
    {"descend", solve_descend, true},
    {"exact", solve_exact, true},
    {"ruin_and_recreate", solve_ruin_and_recreate, false, true},
    {"order_search", solve_order_search, false, true},
};

}  // namespace

std::span<const Solver> all_solvers() { return table; }

std::int64_t Attempt::scaled_iterations() const {
  double share = std::min(1.0, 200.0 / (1.0 + model.node_count()));
  return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options.iterations)));
}

double Attempt::too_dear(double known) const {
  return std::min(5 * model.base_cost, 2 * known + 0.05 * model.base_cost);
}

double Attempt::too_dear() const {
  return too_dear(best_verdict.peak <= options.budget ? best_verdict.cost - model.base_cost : forbidden);
}

bool Attempt::may_search_beside() const { return options.threads > 1 && std::isfinite(deadline.limit()); }

Attempt Attempt::beside() const {
  Attempt other{problem, options, deadline, model, certificate, best, best_verdict, [](SharedSchedule) {}, enough};
  other.refused = refused;
  other.is_hasty = is_hasty;
  other.round = round;
  other.thread = 1;
  return other;
}

std::function<double()> Attempt::clock(double share) const {
  if (!std::isfinite(deadline.limit())) return [] { return 0.0; };
  double start = deadline.seconds(), length = std::max(1e-6, share * (deadline.limit() - start));
  return [this, start, length] { return (deadline.seconds() - start) / length; };
}

std::function<void(const std::function<SharedSchedule()>&)> Attempt::seldom_report() const {
  return [this, next = 0.0](const std::function<SharedSchedule()>& write) mutable {
    double start = deadline.seconds();
    if (start < next) return;
    report(write());
    next = deadline.seconds() + 10 * (deadline.seconds() - start);
  };
}

std::vector<Schedule> solve_keep_all(const Attempt& attempt) { return {keep_all(attempt.problem)}; }

}  // namespace plan

std::vector<std::string_view> solver_names() {
  std::vector<std::string_view> names;
  for (const plan::Solver& solver : plan::all_solvers()) names.push_back(solver.name);
  return names;
}

}  // namespace reprise
