// SPDX-License-Identifier: Apache-2.0
// `reprise sweep`: the whole trade-off between memory and time.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/planning.h"
#include "cli/plot.h"
#include "cli/verbs.h"
#include "report/sections.h"

namespace reprise::cli {
namespace {

struct SweepCommand {
  PlanningOptions planning;
  std::vector<std::string> budgets;
  std::string html, svg;
  int points = 12;
};

std::vector<PlanResult> curve_of(const SweepCommand& command, const Problem& problem, Progress& progress) {
  PlanOptions options = plan_options(problem, command.planning, progress);
  std::int64_t whole = peak(problem, keep_all(problem));
  std::vector<std::int64_t> budgets;
  for (const std::string& text : command.budgets) budgets.push_back(parse_bytes(text, whole));
  return budgets.empty() ? sweep(problem, command.points, options) : sweep(problem, budgets, options);
}

// The budget of the knee, or -1.
std::int64_t knee_budget(const std::vector<report::Point>& points) {
  int knee = report::knee(points);
  return knee < 0 ? -1 : points[static_cast<std::size_t>(knee)].budget;
}

void print_table(const std::vector<PlanResult>& curve, std::int64_t knee) {
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
    fmt::print("{:>12} {:>5.1f} % {:>12} {:>9} {:>6.2f} %  {}{}\n", format_bytes(r.budget), share, format_bytes(r.peak),
               fmt::format("x{:.4f}", 1 + r.overhead()), 100 * r.gap(), bar, r.budget == knee ? " <- the knee" : "");
  }
}

void print_text(const std::vector<PlanResult>& curve) {
  std::vector<report::Point> points = report::points(curve);
  print_table(curve, knee_budget(points));
  if (points.size() > 2) fmt::print("\n{}", text_plot(points));
  if (std::string words = report::knee_sentence(points); !words.empty()) fmt::print("\n{}\n", words);
}

// The page shows the plan at the knee, or else the cheapest, within the whole curve.
void write_files(const SweepCommand& command, const std::vector<PlanResult>& curve) {
  std::vector<report::Point> points = report::points(curve);
  if (!command.svg.empty()) report::svg(points, command.svg);
  if (command.html.empty()) return;
  std::int64_t knee = knee_budget(points);
  auto shown = std::find_if(curve.begin(), curve.end(), [&](const PlanResult& r) { return r && r.budget == knee; });
  const PlanResult& plan = shown == curve.end() ? curve.back() : *shown;
  report::html({.title = "Trade-off of " + command.planning.file,
                .plan = &plan,
                .curve = points,
                .settings = settings_of(command.planning, plan)},
               command.html);
}

// The largest.
std::int64_t known_budget(const std::vector<std::string>& budgets) {
  std::int64_t most = known_bytes(budgets.empty() ? std::string() : budgets[0]);
  for (const std::string& text : budgets) most = std::max(most, known_bytes(text));
  return most;
}

Status run_sweep(SweepCommand command) {
  expect_writable({command.svg, command.html});
  Progress progress;
  command.planning.known_budget = known_budget(command.budgets);
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
  if (any) {
    write_files(command, curve);
    return done;
  }
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
             {.check = between(2, 1000), .shows_default = true});
  add_option(verb, "--svg", command->svg, "Draw the curve to this file", {.type = "FILE.svg"});
  add_option(verb, "--html", command->html, "Write a page with the curve and the plan at its knee",
             {.type = "FILE.html"});
  add_footer(verb,
             "Examples:\n"
             "  reprise sweep net.json                         twelve budgets, as a table and a picture\n"
             "  reprise sweep net.json --budgets 30%,50%,80%   these three\n"
             "  reprise sweep net.json --html trade.html       as a page\n"
             "  reprise sweep net.onnx --batch 16              a training step of an ONNX file\n"
             "  reprise sweep net.json --points 40 --json      a list of what `reprise plan --json` prints");
  return [command] { return run_sweep(*command); };
}

}  // namespace reprise::cli
