// SPDX-License-Identifier: Apache-2.0
// The table of solvers. A solver is added by a row here.
#include "plan/solver.h"

namespace reprise {
namespace plan {
namespace {

constexpr Solver table[] = {
    {"keep_all", solve_keep_all},
};

}  // namespace

std::span<const Solver> all_solvers() { return table; }

std::vector<Schedule> solve_keep_all(const Attempt& attempt) { return {keep_all(attempt.problem)}; }

}  // namespace plan

std::vector<std::string_view> solver_names() {
  std::vector<std::string_view> names;
  for (const plan::Solver& solver : plan::all_solvers()) names.push_back(solver.name);
  return names;
}

}  // namespace reprise
