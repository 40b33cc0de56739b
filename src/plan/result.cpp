// SPDX-License-Identifier: Apache-2.0
// A result in words.
#include <fmt/core.h>

#include <algorithm>

#include "reprise/plan.h"

namespace reprise {

double PlanResult::overhead() const { return base_cost > 0 ? cost / base_cost - 1 : 0; }

double PlanResult::gap() const { return cost > lower_bound && lower_bound > 0 ? cost / lower_bound - 1 : 0; }

std::string PlanResult::summary() const {
  if (!feasible) return why();
  std::string best =
      gap() < 5e-5 ? "the best possible" : fmt::format("at most {:.2g} % above the best possible", 100 * gap());
  return fmt::format("budget {} | peak {} | time x{:.2f} | {} of {} values recomputed | {}",
                     budget == std::numeric_limits<std::int64_t>::max() ? "unlimited" : format_bytes(budget),
                     format_bytes(peak), 1 + overhead(), recomputed, value_count, best);
}

std::string PlanResult::why() const {
  if (!feasible) {
    std::string least = format_bytes(min_budget_bound), most = format_bytes(min_budget);
    std::string smallest = min_budget_bound == min_budget ? most
                           : least == most                ? "about " + most
                                                          : fmt::format("between {} and {}", least, most);
    std::string given = format_bytes(budget);
    if (given == most && budget != min_budget) given = fmt::format("{} bytes", budget);
    std::string how = budget < min_budget_bound ? ""
                      : is_decided              ? " as far as was searched"
                                                : fmt::format(" as far as was searched in {:.2g} s", seconds);
    return fmt::format("no schedule fits {}{}: the smallest budget is {} ({} bytes would do), reached at '{}' ({})",
                       given, how, smallest, min_budget, where, split);
  }
  if (binding.node < 0) return "everything fits: nothing needs to be recomputed";
  return fmt::format(
      "'{}' binds: with its {} in memory there is room for {} of the {} needed later; the bound holds for {}",
      problem ? problem->node(binding.node).name : where, format_bytes(binding.node_bytes),
      format_bytes(binding.free_bytes), format_bytes(binding.needed_bytes),
      binding.any_order ? "every order" : "the base order of first runs");
}

}  // namespace reprise
