// SPDX-License-Identifier: Apache-2.0
#include "cli/planning.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reprise/memory.h"

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

CLI::Validator is_solver() {
  return CLI::Validator(
      [](std::string& text) {
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

double base_cost_of(const Problem& problem) {
  double cost = 0;
  for (const Problem::Node& node : problem.nodes()) cost += node.cost;
  return cost;
}

// The buffers of all rows that need memory, and which row each is.
struct Buffers {
  std::vector<Buffer> buffers;
  std::vector<std::size_t> rows;
};

Buffers buffers_of(const Problem& problem, const std::vector<Placement>& rows) {
  Buffers result;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Placement& row = rows[r];
    if (row.bytes == 0 || row.from == row.to) continue;
    Buffer buffer{.lower = row.from, .upper = row.to, .size = row.bytes};
    bool is_value = row.kind == Placement::Kind::value;
    int input = is_value ? problem.value(row.id).in_place_of : -1;
    for (std::size_t b = 0; input >= 0 && b < result.buffers.size(); ++b) {
      const Placement& other = rows[result.rows[b]];
      bool is_taken = other.kind == Placement::Kind::value && other.id == input && other.to == row.from;
      bool is_free = std::none_of(result.buffers.begin(), result.buffers.end(),
                                  [&](const Buffer& known) { return known.takes_over == b; });
      if (is_taken && is_free) buffer.takes_over = b;
    }
    result.buffers.push_back(std::move(buffer));
    result.rows.push_back(r);
  }
  return result;
}

}  // namespace

CLI::Validator is_budget() { return CLI::Validator(budget_error, "SIZE"); }

void add_planning_options(CLI::App& verb, PlanningOptions& options) {
  verb.add_option("problem", options.file, "The problem: a PROBLEM.json file")->required()->type_name("PROBLEM.json");
  verb.add_option("--solver", options.solvers, "Use only these solvers: " + solver_list())
      ->check(is_solver())
      ->delimiter(',');
  verb.add_option("--without", options.without, "Use all solvers but these")->check(is_solver())->delimiter(',');
  verb.add_option("--time-limit", options.time_limit,
                  "Seconds to search; without it the moves are counted, and equal input gives equal output")
      ->check(CLI::PositiveNumber);
  verb.add_option("--iterations", options.iterations, "Moves each search may try")->check(CLI::NonNegativeNumber);
  verb.add_option("--seed", options.seed, "Seed of the searches");
  verb.add_option("--threads", options.threads, "2: one searches while the other raises the bound")
      ->check(CLI::Range(1, 64));
  verb.add_flag("--json", options.json, "Print JSON on standard output and nothing else there");
}

PlanOptions plan_options(const Problem& problem, const PlanningOptions& options, Progress& progress) {
  PlanOptions plan{.solvers = options.solvers,
                   .without = options.without,
                   .seed = options.seed,
                   .iterations = options.iterations,
                   .threads = options.threads};
  if (options.time_limit > 0) plan.time_limit = options.time_limit;
  plan.progress = [&progress, limit = options.time_limit, base_cost = base_cost_of(problem)](const PlanProgress& now) {
    progress.show(words(now, base_cost), limit > 0 ? now.seconds / limit : -1);
  };
  return plan;
}

Planned place(const Problem& problem, PlanResult result) {
  Planned planned{.result = std::move(result)};
  if (!planned.result) return planned;
  planned.layout = lives(problem, planned.result.schedule);
  Buffers parts = buffers_of(problem, planned.layout);
  PackResult packed = pack(parts.buffers, {.capacity = planned.result.budget - problem.resident_bytes()});
  for (std::size_t b = 0; b < parts.rows.size(); ++b) planned.layout[parts.rows[b]].offset = packed.layout.offsets[b];
  planned.layout_bytes = packed.height + problem.resident_bytes();
  return planned;
}

Planned plan_and_place(const Problem& problem, const PlanningOptions& options, std::int64_t budget,
                       Progress& progress) {
  PlanOptions plan = plan_options(problem, options, progress);
  plan.budget = budget;
  Planned planned = place(problem, solve(problem, plan));
  for (int again = 0; again < 5 && planned.result && planned.layout_bytes > budget; ++again) {
    double share = static_cast<double>(budget) / static_cast<double>(planned.layout_bytes);
    plan.budget = static_cast<std::int64_t>(static_cast<double>(plan.budget) * share);
    PlanResult tighter = solve(problem, plan);
    if (!tighter) break;
    tighter.budget = budget;
    tighter.lower_bound = planned.result.lower_bound;  // of the budget that counts
    tighter.seconds += planned.result.seconds;
    planned = place(problem, std::move(tighter));
  }
  return planned;
}

nlohmann::ordered_json to_json_object(const Planned& planned) {
  const PlanResult& r = planned.result;
  nlohmann::ordered_json json = {{"feasible", r.feasible}, {"budget_bytes", r.budget}};
  auto add = [&](const char* key, auto value) { json[key] = r.feasible ? nlohmann::ordered_json(value) : nullptr; };
  add("peak_bytes", r.peak);
  add("layout_bytes", planned.layout_bytes);
  json["min_budget_bytes"] = r.min_budget;
  json["keep_all_bytes"] = r.keep_all_peak;
  json["base_cost"] = r.base_cost;
  add("cost", r.cost);
  add("overhead", r.overhead());
  add("lower_bound", r.lower_bound);
  add("gap", r.gap());
  add("recomputed", r.recomputed);
  add("solver", r.solver);
  json["plan_seconds"] = r.seconds;
  return json;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
    fail("[file] cannot write '{}': check the folder and its permissions", path);
}

}  // namespace reprise::cli
