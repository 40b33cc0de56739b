// SPDX-License-Identifier: Apache-2.0
// `reprise report`: the page of a saved plan, of a run, or of what a model's training step would be.
#include "reprise/report.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/model.h"
#include "cli/planning.h"
#include "cli/verbs.h"

namespace reprise::cli {
namespace {

struct ReportCommand {
  PlanningOptions planning;
  std::string budget, output = "report.html", trace, svg, metrics, title;
  int points = 8, run = 0;
};

// A plan has steps; a problem has none.
bool is_plan(const std::string& path) {
  std::ifstream file(path);
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  return json.is_object() && json.contains("steps");
}

std::string title_of(const ReportCommand& command) {
  return std::filesystem::path(command.planning.file).filename().string();
}

report::Run planned(const ReportCommand& command, Progress& progress) {
  Problem problem = problem_to_plan(command.planning, progress);
  PlanOptions options = plan_options(problem, command.planning, progress);
  options.budget = parse_bytes(command.budget, peak(problem, keep_all(problem)));
  report::Run run{.title = title_of(command), .plan = solve(problem, options)};
  run.settings = settings_of(command.planning, run.plan);
  return run;
}

// A step of the model is compiled and run, and the last run's times are shown. The first run pays for what is only done
// once, so there are two at least.
report::Run measured(const ReportCommand& command, Progress& progress) {
  ModelCommand name = model_command(command.planning);
  name.seed = command.planning.seed;
  BuiltInModel model = make_model(name);
  StepOptions options = step_options(name);
  progress.show("timing ops and planning");
  Problem problem = problem_of(TrainStep(model.loss, model.parameters, model.rule, options).graph(model.batch),
                               {.measure = options.measure, .profile = options.profile, .disk = options.disk});
  save_profile(name, options);
  options.planning = plan_options(problem, command.planning, progress);
  options.budget = parse_bytes(command.budget, peak(problem, keep_all(problem)));
  options.timeline = true;
  TrainStep step(model.loss, model.parameters, model.rule, options);
  std::vector<Tensor> batch = model.random_batch(command.planning.seed);
  for (int i = 0; i <= command.run; ++i) step.run(batch);
  report::Run run{.title = title_of(command), .plan = step.plan(), .timeline = step.timeline()};
  run.settings = settings_of(command.planning, run.plan);
  run.settings.emplace_back("steps run", std::to_string(command.run));
  for (Moment& m : run.timeline) m.name = run.plan.problem->node(m.node).name;  // the op's name goes with the step
  return run;
}

report::Run gathered(const ReportCommand& command, Progress& progress) {
  const std::string& source = command.planning.file;
  if (std::filesystem::is_directory(source)) return report::load(source);
  if (!is_model(source) && is_plan(source)) return {.title = title_of(command), .plan = result_of(load_plan(source))};
  if (command.budget.empty()) fail("[report] '{}' is not a plan yet: give the --budget to plan it for", source);
  return command.run > 0 ? measured(command, progress) : planned(command, progress);
}

// Half a second for each budget, unless the command says otherwise.
void add_curve(const ReportCommand& command, report::Run& run, Progress& progress) {
  if (command.points == 0 || !run.curve.empty() || run.plan.problem->node_count() == 0) return;
  PlanOptions options = plan_options(*run.plan.problem, command.planning, progress);
  if (command.planning.time_limit == 0) options.time_limit = 0.5;
  run.curve = report::points(sweep(*run.plan.problem, command.points, options));
}

void print(const ReportCommand& command, const report::Run& run) {
  if (!command.planning.json) {
    fmt::print("{}\n{}\n", run.plan.summary(), command.output);
    return;
  }
  nlohmann::ordered_json json = to_json_object(run.plan);
  json["report"] = command.output;
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status run_report(ReportCommand command) {
  expect_writable({command.output, command.trace, command.svg});
  command.planning.known_budget = known_bytes(command.budget);
  Progress progress;
  expect_model_or_path(command.planning.file);
  if (command.run > 0 && !is_model(command.planning.file)) {
    fmt::print(stderr, "reprise: --run runs a model, and '{}' is none\n", command.planning.file);
    return wrong_command;
  }
  report::Run run = gathered(command, progress);
  if (!run.plan) {
    progress.clear();
    fmt::print(stderr, "reprise: {}\n", run.plan.why());
    return does_not_fit;
  }
  if (!command.title.empty()) run.title = command.title;
  if (!command.metrics.empty()) run.metrics = command.metrics;
  add_curve(command, run, progress);
  progress.clear();
  report::html(run.page(), command.output);
  if (!command.trace.empty()) report::trace(run.page(), command.trace);
  if (!command.svg.empty()) report::svg(run.page(), command.svg);
  print(command, run);
  return done;
}

Status run_or_refuse(const ReportCommand& command) try { return run_report(command); } catch (const NoScheduleFits& e) {
  fmt::print(stderr, "reprise: {}\n", e.what());
  return does_not_fit;
}

}  // namespace

std::function<Status()> add_report(CLI::App& verb) {
  auto command = std::make_shared<ReportCommand>();
  add_option(verb, "source", command->planning.file,
             "What to show: a saved plan, the folder of a run, a PROBLEM.json file, a built-in model or an ONNX file",
             {.is_required = true, .type = "plan.json|RUN_DIR|PROBLEM.json|MODEL|FILE.onnx"});
  add_option(verb, "--budget", command->budget,
             "For a model or a problem: bytes there are, 512MiB, 2GB, or 50% of what keeping everything takes",
             {.check = is_budget()});
  add_option(verb, "-o,--output", command->output, "The page", {.type = "FILE.html", .shows_default = true});
  add_option(verb, "--trace", command->trace, "Also write a trace for Perfetto or chrome://tracing",
             {.type = "FILE.json"});
  add_option(verb, "--svg", command->svg, "Also draw the memory picture", {.type = "FILE.svg"});
  add_option(verb, "--metrics", command->metrics, "Show losses and learning rates from this file, a JSON object a line",
             {.type = "FILE.jsonl"});
  add_option(verb, "--title", command->title, "What the page is called", {.type = "TEXT"});
  add_option(verb, "--points", command->points,
             "Budgets of the trade-off curve, half a second each unless --time-limit says more; 0: no curve",
             {.check = between(0, 200), .shows_default = true});
  add_option(verb, "--run", command->run,
             "Run so many steps of the model on random data and show the times of the last",
             {.check = between(1, 10'000)});
  add_search_options(verb, command->planning);
  add_footer(verb,
             "Examples:\n"
             "  reprise report gpt4s --budget 50%                      what half the memory would mean\n"
             "  reprise report gpt4s --budget 50% --run 3              with times that were measured\n"
             "  reprise report plan.json -o plan.html --svg plan.svg   a plan that `reprise plan -o` saved\n"
             "  reprise report run/                                    what `reprise train --save run/` did\n"
             "  reprise report plan.json --trace trace.json            open trace.json in Perfetto\n"
             "The page is one file that loads nothing else.");
  return [command] { return run_or_refuse(*command); };
}

}  // namespace reprise::cli
