// SPDX-License-Identifier: Apache-2.0
#include "cli/planning.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"

namespace reprise::cli {
namespace {

std::string budget_error(const std::string& text) {
  try {
    parse_bytes(text, std::int64_t{1} << 40);
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

std::string solver_list() {
  std::string list;
  for (std::string_view name : solver_names()) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

Check is_solver() {
  return check(
      [](const std::string& text) {
        std::vector<std::string_view> known = solver_names();
        bool is_known = std::find(known.begin(), known.end(), text) != known.end();
        return is_known ? std::string() : fmt::format("there is no solver '{}': choose from {}", text, solver_list());
      },
      "NAME");
}

std::string words(const PlanProgress& progress, double base_cost) {
  std::string cost = progress.cost ? fmt::format("time x{:.4f}", *progress.cost / std::max(base_cost, 1e-300))
                                   : std::string("nothing fits yet");
  return fmt::format("{}, at best x{:.4f}, {}", cost, progress.lower_bound / std::max(base_cost, 1e-300),
                     progress.solver);
}

void expect_no_words_for_models(const PlanningOptions& options) {
  expect_words_for(options.file, options.network);
  bool has_any = options.batch > 0 || options.estimate || !options.profile.empty() || !options.disk.empty() ||
                 !options.network.freeze.empty() || !options.network.train.empty();
  if (has_any)
    throw WrongCommand(fmt::format(
        "--batch, --estimate, --profile, --disk, --freeze and --train are for models and ONNX files; '{}' is a "
        "problem, which says all that itself",
        options.file));
}

double base_cost_of(const Problem& problem) {
  double cost = 0;
  for (const Problem::Node& node : problem.nodes()) cost += node.cost;
  return cost;
}

}  // namespace

Check is_budget() { return check(budget_error, "SIZE"); }

std::int64_t known_bytes(const std::string& budget) {
  return budget.empty() || budget.find('%') != std::string::npos ? onnx_usual_budget : parse_bytes(budget);
}

void add_planning_options(CLI::App& verb, PlanningOptions& options) {
  add_option(verb, "problem", options.file,
             "A PROBLEM.json file, or a built-in model (`reprise models`) or ONNX file: its training step",
             {.is_required = true, .type = "PROBLEM.json|MODEL|FILE.onnx"});
  add_search_options(verb, options);
}

void add_search_options(CLI::App& verb, PlanningOptions& options) {
  add_option(verb, "--batch", options.batch, "Samples in a model's batch; its own number if left out",
             {.check = positive()});
  add_flag(verb, "--estimate", options.estimate, "Estimate a model's times instead of timing every op once");
  add_profile_option(verb, options.profile);
  add_option(verb, "--disk", options.disk, "Folder on a disk that a model's values may move to", {.type = "DIR"});
  add_option(verb, "--solver", options.solvers, "Use only these solvers: " + solver_list(),
             {.check = is_solver(), .delimiter = ','});
  add_option(verb, "--without", options.without, "Use all solvers but these", {.check = is_solver(), .delimiter = ','});
  add_option(verb, "--time-limit", options.time_limit,
             "Seconds to search, in two threads; without it the moves are counted, and equal input gives equal output",
             {.check = positive()});
  add_option(verb, "--iterations", options.iterations,
             "Moves each search may try; if left out 20000, in `plan --time-limit` any number",
             {.check = not_negative()});
  add_option(verb, "--seed", options.seed, "Seed of the searches");
  add_option(verb, "--threads", options.threads, "2: the second raises the bound and, with a time limit, searches too",
             {.check = between(1, 64)});
  add_network_options(verb, options.network);
  add_flag(verb, "--json", options.json, "Print JSON on standard output and nothing else there");
}

ModelCommand model_command(const PlanningOptions& options) {
  return {.name = options.file,
          .batch = options.batch,
          .estimate = options.estimate,
          .profile = options.profile,
          .network = options.network,
          .disk = options.disk,
          .budget = options.known_budget};
}

Problem problem_to_plan(const PlanningOptions& options, Progress& progress) {
  expect_model_or_path(options.file);
  if (!is_model(options.file)) {
    expect_no_words_for_models(options);
    return load_problem(options.file);
  }
  progress.show(options.estimate ? "recording a step" : "recording a step and timing its ops");
  return problem_of_model(model_command(options));
}

Status refused(const NoScheduleFits& why, bool as_json) {
  if (as_json) {
    nlohmann::ordered_json json = {{"feasible", false}, {"min_budget_bytes", why.smallest_budget}};
    fmt::print("{}\n", json.dump());
    std::fflush(stdout);  // what would fit is told later
  }
  fmt::print(stderr, "reprise: {}\n", why.what());
  return does_not_fit;
}

int search_threads(const PlanningOptions& options) {
  if (options.threads > 0) return options.threads;
  return options.time_limit > 0 ? std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, 2) : 1;
}

PlanOptions plan_options(const Problem& problem, const PlanningOptions& options, Progress& progress) {
  PlanOptions plan{
      .solvers = options.solvers, .without = options.without, .seed = options.seed, .threads = search_threads(options)};
  if (options.iterations >= 0) plan.iterations = options.iterations;
  if (options.time_limit > 0) plan.time_limit = options.time_limit;
  plan.progress = [&progress, limit = options.time_limit, base_cost = base_cost_of(problem)](const PlanProgress& now) {
    progress.show(words(now, base_cost), limit > 0 ? now.seconds / limit : -1);
  };
  return plan;
}

nlohmann::ordered_json to_json_object(const PlanResult& r) {
  nlohmann::ordered_json json = {{"feasible", r.feasible}, {"budget_bytes", r.budget}};
  auto add = [&](const char* key, auto value) { json[key] = r.feasible ? nlohmann::ordered_json(value) : nullptr; };
  add("peak_bytes", r.peak);
  add("layout_bytes", r.layout_bytes);
  json["min_budget_bytes"] = r.min_budget;
  json["min_budget_bound_bytes"] = r.min_budget_bound;
  json["keep_all_bytes"] = r.keep_all_peak;
  json["base_cost"] = r.base_cost;
  add("cost", r.cost);
  add("overhead", r.overhead());
  add("lower_bound", r.lower_bound);
  add("gap", r.gap());
  add("recomputed", r.recomputed);
  add("paged_bytes", paged_bytes(r));
  add("solver", r.solver);
  json["plan_seconds"] = r.seconds;
  return json;
}

std::vector<std::pair<std::string, std::string>> settings_of(const PlanningOptions& options, const PlanResult& plan) {
  std::vector<std::pair<std::string, std::string>> settings = {{"planned", options.file}};
  if (options.batch > 0) settings.emplace_back("batch", std::to_string(options.batch));
  if (is_model(options.file)) settings.emplace_back("times of ops", options.estimate ? "estimated" : "measured");
  if (!options.disk.empty()) settings.emplace_back("disk", options.disk);
  settings.emplace_back("solver", plan.solver);
  settings.emplace_back("seed", std::to_string(options.seed));
  settings.emplace_back("threads", std::to_string(search_threads(options)));
  const std::int64_t moves = options.iterations >= 0 ? options.iterations : PlanOptions{}.iterations;
  settings.emplace_back(
      "search", options.time_limit > 0 ? fmt::format("{} s", options.time_limit) : fmt::format("{} moves", moves));
  settings.emplace_back("planned in", fmt::format("{:.2f} s", plan.seconds));
  return settings;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
    fail("[file] cannot write '{}': check the folder and its permissions", path);
}

}  // namespace reprise::cli
