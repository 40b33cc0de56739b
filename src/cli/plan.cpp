// SPDX-License-Identifier: Apache-2.0
// `reprise plan`
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "cli/planning.h"
#include "cli/verbs.h"
#include "compile/build.h"
#include "compile/problem_of.h"
#include "report/reasons.h"
#include "report/text.h"
#include "reprise/report.h"

namespace reprise::cli {
namespace {

using report::Decision;

struct PlanCommand {
  PlanningOptions planning;
  std::string budget, output, html;
  int rows = 8;
};

std::string costs(const Decision& d) {
  return fmt::format("{:>9} {:>10}", report::percent(d.again), report::percent(d.rate));
}

void print_table(const Problem& problem, const report::Reasons& reasons, const char* title,
                 const std::vector<Decision>& decisions) {
  if (decisions.empty()) return;
  fmt::print("\n{:<34} {:>10} {:>4} {:>9} {:>10}  why\n", title, "bytes", "runs", "again", "for 1 %");
  for (const Decision& d : decisions)
    fmt::print("  {:<32} {:>10} {:>4} {}  {}\n", report::shortened(problem.value_name(d.value), 32),
               format_bytes(d.bytes), d.runs, costs(d), report::sentence(problem, reasons, d.reason));
}

void print_decisions(const PlanResult& r, std::size_t rows) {
  report::Reasons reasons = report::reasons_for(r);
  print_table(*r.problem, reasons, "largest recomputed", report::largest_recomputed(r, reasons, rows));
  print_table(*r.problem, reasons, "largest moved to disk", report::largest_moved(r, reasons, rows));
  print_table(*r.problem, reasons, "largest kept", report::largest_kept(r, reasons, rows));
  if (reasons.binding >= 0 && r.base_cost > 0)
    fmt::print(
        "\nagain: share of a step's time; for 1 %: for each hundredth of what keeping everything takes,\n"
        "which is worth {} while '{}' runs\n",
        report::percent(reasons.worth), r.problem->node(reasons.binding).name);
}

void print_text(const PlanCommand& command, const Problem& problem, const PlanResult& r, std::int64_t all_trained) {
  fmt::print("{}\n", r.summary());
  fmt::print("  {} nodes, {} values; keeping everything takes {}; the smallest budget is {}{}\n", problem.node_count(),
             problem.value_count(), format_bytes(r.keep_all_peak), format_bytes(r.min_budget),
             r.min_budget == r.min_budget_bound ? "" : " as far as was searched");
  double above = r.peak > 0 ? 100 * (static_cast<double>(r.layout_bytes) / static_cast<double>(r.peak) - 1) : 0;
  fmt::print("  arena {} ({:.2f} % above the peak); found by {} in {:.2f} s\n", format_bytes(r.layout_bytes), above,
             r.solver, r.seconds);
  if (all_trained > 0)
    fmt::print("  frozen parameters save {}: with all of them trained keeping everything would take {}\n",
               format_bytes(all_trained - r.keep_all_peak), format_bytes(all_trained));
  if (paged_bytes(r) > 0) fmt::print("  {}\n", paging_words(paged_bytes(r), command.planning.disk));
  fmt::print("  {}\n", r.why());
}

void write_files(const PlanCommand& command, const PlanResult& r) {
  if (!command.output.empty()) write_file(command.output, to_json(saved(r)));
  if (!command.html.empty())
    report::html(
        {.title = "Plan of " + command.planning.file, .plan = &r, .settings = settings_of(command.planning, r)},
        command.html);
}

// The smallest budget, which a plan that fits has not looked for. That search takes time of its own where time is
// limited, and a minute or more where there are many nodes: then it is what was found on the way.
void name_smallest(PlanResult& r, const Problem& problem, PlanOptions options, int most_nodes) {
  if (!r || std::isfinite(options.time_limit) || problem.node_count() > most_nodes) return;
  options.budget = 0;
  PlanResult least = solve(problem, options);
  r.min_budget = std::min(r.min_budget, least.min_budget);
  r.min_budget_bound = std::max(r.min_budget_bound, least.min_budget_bound);
  r.seconds += least.seconds;
}

// What fits must not depend on a model's times.
PlanResult plan_model(const PlanCommand& command, const Problem& problem, PlanOptions options) {
  options.alignment = arena_alignment;
  ModelCommand model = model_command(command.planning);
  model.estimate = true;
  model.profile.clear();
  auto estimated = std::make_shared<const Problem>(problem_of_model(model));
  PlanResult r = settled([&] { return estimated; }, [&] { return std::make_shared<const Problem>(problem); }, options);
  name_smallest(r, *estimated, options, 20'000);
  return r;
}

PlanResult plan_problem(const Problem& problem, PlanOptions options) {
  options.settle = true;
  PlanResult r = solve(problem, options);
  name_smallest(r, problem, options, 1'000);
  return r;
}

Status run_plan(PlanCommand command) {
  expect_writable({command.output, command.html});
  expect_kept(command.planning.file, {command.output, command.html});
  if (!command.output.empty() && command.output == command.html)
    fail("-o and --html both name '{}': the one would be written over the other", command.output);
  Progress progress;
  command.planning.known_budget = known_bytes(command.budget);
  Problem problem = problem_to_plan(command.planning, progress);
  std::int64_t budget = parse_bytes(command.budget, peak(problem, keep_all(problem)));
  PlanOptions options = plan_options(problem, command.planning, progress);
  options.budget = budget;
  if (command.planning.time_limit > 0 && command.planning.iterations < 0)  // all of the time is for the search
    options.iterations = std::numeric_limits<std::int32_t>::max();
  PlanResult r =
      is_model(command.planning.file) ? plan_model(command, problem, options) : plan_problem(problem, options);
  std::int64_t all_trained =
      is_model(command.planning.file) ? bytes_if_all_trained(model_command(command.planning)) : 0;
  progress.clear();
  if (command.planning.json) {
    nlohmann::ordered_json json = to_json_object(r);
    if (all_trained > 0) json["all_trained_bytes"] = all_trained;
    fmt::print("{}\n", json.dump());
  }
  if (!r) {
    fmt::print(stderr, "reprise: {}\n", r.why());
    return does_not_fit;
  }
  if (!command.planning.json) {
    print_text(command, problem, r, all_trained);
    print_decisions(r, static_cast<std::size_t>(command.rows));
  }
  write_files(command, r);
  return done;
}

}  // namespace

std::function<Status()> add_plan(CLI::App& verb) {
  auto command = std::make_shared<PlanCommand>();
  add_planning_options(verb, command->planning);
  add_option(verb, "--budget", command->budget, "Bytes there are: 512MiB, 2GB, or 50% of what keeping everything takes",
             {.is_required = true, .check = is_budget()});
  add_option(verb, "-o,--output", command->output, "Write the plan to this file, for `reprise check` and others",
             {.type = "plan.json"});
  add_option(verb, "--html", command->html, "Write a page that shows the plan to this file", {.type = "plan.html"});
  add_option(verb, "--rows", command->rows, "How many of the largest values to list, kept and recomputed",
             {.check = between(0, 1000), .shows_default = true});
  add_footer(
      verb,
      "Examples:\n"
      "  reprise plan net.json --budget 50%                    half of what keeping everything takes\n"
      "  reprise plan net.json --budget 512MiB -o plan.json    and what to do, step by step\n"
      "  reprise plan net.json --budget 50% --html plan.html   and where every byte is, as a page\n"
      "  reprise plan net.json --budget 2GB --time-limit 10 --json\n"
      "  reprise plan resnet50 --budget 50%                    a training step of a built-in model\n"
      "  reprise plan net.onnx --budget 600MB --train 'fc.*'   one of an ONNX file, only its last layer trained\n"
      "The status is 3 if no schedule fits; the message then names the smallest budget that would do.\n"
      "A problem is {\"nodes\": [{\"name\": \"a\", \"cost\": 1.5, \"bytes\": 4096, \"inputs\": []}, ...], \"outputs\": "
      "[\"a\"]},\n"
      "nodes in an order in which they can run; docs/planner.md has every key.");
  return [command] { return run_plan(*command); };
}

}  // namespace reprise::cli
