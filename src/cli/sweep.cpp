// SPDX-License-Identifier: Apache-2.0
// `reprise sweep`: the whole trade-off between memory and time.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/planning.h"
#include "cli/verbs.h"

namespace reprise::cli {
namespace {

struct SweepCommand {
  PlanningOptions planning;
  std::vector<std::string> budgets;
  int points = 12;
};

std::vector<PlanResult> curve_of(const SweepCommand& command, const Problem& problem, Progress& progress) {
  PlanOptions options = plan_options(problem, command.planning, progress);
  std::int64_t whole = peak(problem, keep_all(problem));
  std::vector<std::int64_t> budgets;
  for (const std::string& text : command.budgets) budgets.push_back(parse_bytes(text, whole));
  return budgets.empty() ? sweep(problem, command.points, options) : sweep(problem, budgets, options);
}

void print_text(const std::vector<PlanResult>& curve) {
  double largest = 0;
  for (const PlanResult& r : curve) {
    if (r) largest = std::max(largest, r.overhead());
  }
  fmt::print("{:>12} {:>7} {:>12} {:>9} {:>8}  extra time (# found, . proved)\n", "budget", "of all", "peak", "time",
             "gap");
  for (const PlanResult& r : curve) {
    double share =
        100 * static_cast<double>(r.budget) / static_cast<double>(std::max<std::int64_t>(1, r.keep_all_peak));
    if (!r) {
      fmt::print("{:>12} {:>5.1f} % {:>12} {:>9} {:>8}  no schedule fits\n", format_bytes(r.budget), share, "-", "-",
                 "-");
      continue;
    }
    auto length = [&](double extra) { return static_cast<std::size_t>(largest > 0 ? 40 * extra / largest + 0.5 : 0); };
    double bound = r.base_cost > 0 ? r.lower_bound / r.base_cost - 1 : 0;
    std::string bar(length(bound), '.');
    bar.resize(std::max(bar.size(), length(r.overhead())), '#');
    fmt::print("{:>12} {:>5.1f} % {:>12} {:>9} {:>6.2f} %  {}\n", format_bytes(r.budget), share, format_bytes(r.peak),
               fmt::format("x{:.4f}", 1 + r.overhead()), 100 * r.gap(), bar);
  }
}

Status run_sweep(const SweepCommand& command) {
  Progress progress;
  Problem problem = problem_to_plan(command.planning, progress);
  std::vector<PlanResult> curve = curve_of(command, problem, progress);
  progress.clear();
  if (command.planning.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PlanResult& point : curve) list.push_back(to_json_object(point));
    fmt::print("{}\n", list.dump());
  } else {
    print_text(curve);
  }
  bool any = std::any_of(curve.begin(), curve.end(), [](const PlanResult& point) { return point.feasible; });
  if (any) return done;
  fmt::print(stderr, "reprise: {}\n", curve.back().why());
  return does_not_fit;
}

}  // namespace

std::function<Status()> add_sweep(CLI::App& verb) {
  auto command = std::make_shared<SweepCommand>();
  add_planning_options(verb, command->planning);
  add_option(verb, "--budgets", command->budgets, "Only these budgets, such as 30%,50%,2GB",
             {.check = is_budget(), .delimiter = ','});
  add_option(verb, "--points", command->points, "How many budgets, from the smallest that does to keeping everything",
             {.check = between(1, 1000)});
  add_footer(verb,
             "Examples:\n"
             "  reprise sweep net.json                         twelve budgets, as a table and a picture\n"
             "  reprise sweep net.json --budgets 30%,50%,80%   these three\n"
             "  reprise sweep net.json --points 40 --json      a list of what `reprise plan --json` prints");
  return [command] { return run_sweep(*command); };
}

}  // namespace reprise::cli
