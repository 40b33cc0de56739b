// SPDX-License-Identifier: Apache-2.0
// `reprise check`: the judges, on a saved plan.
#include <fmt/core.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "reprise/plan_io.h"

namespace reprise::cli {
namespace {

struct CheckCommand {
  std::string plan, problem;
  bool json = false;
};

// Empty, or the first thing that is wrong: the schedule, the promises about it, or the layout.
std::string complaint(const SavedPlan& plan) {
  Verdict schedule = validate(plan.problem, plan.schedule, plan.budget_bytes);
  if (!schedule) return "schedule: " + schedule.why;
  if (schedule.peak != plan.peak_bytes)
    return fmt::format("peak_bytes is {}, but the schedule reaches {}", plan.peak_bytes, schedule.peak);
  if (!(std::abs(schedule.cost - plan.cost) <= 1e-9 * std::max(1.0, std::abs(schedule.cost))))
    return fmt::format("cost is {}, but the steps cost {}", plan.cost, schedule.cost);
  if (!(plan.lower_bound <= plan.cost * (1 + 1e-9)))
    return fmt::format("lower_bound is {}, above the cost of {}", plan.lower_bound, plan.cost);
  if (plan.layout.empty()) return {};
  Verdict layout = validate(plan.problem, plan.schedule, plan.layout, plan.budget_bytes);
  return layout ? std::string() : "layout: " + layout.why;
}

void print_praise(const SavedPlan& plan) {
  fmt::print("ok: {} steps, peak {} of {}, cost {}{}\n", plan.schedule.steps.size(), format_bytes(plan.peak_bytes),
             format_bytes(plan.budget_bytes), plan.cost,
             plan.layout.empty() ? "; it has no layout" : fmt::format(", {} rows of layout", plan.layout.size()));
}

// A plan that cannot be read is not ok either.
std::string read_and_judge(const CheckCommand& command, SavedPlan& plan) {
  try {
    plan = command.problem.empty() ? load_plan(command.plan) : load_plan(command.plan, load_problem(command.problem));
    return complaint(plan);
  } catch (const Error& e) {
    return e.what();
  }
}

Status run_check(const CheckCommand& command) {
  SavedPlan plan;
  std::string why = read_and_judge(command, plan);
  if (command.json) {
    nlohmann::ordered_json json = {{"ok", why.empty()}, {"why", why}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else if (why.empty()) {
    print_praise(plan);
  }
  if (why.empty()) return done;
  fmt::print(stderr, "reprise: {}\n", why);
  return failed;
}

}  // namespace

std::function<Status()> add_check(CLI::App& verb) {
  auto command = std::make_shared<CheckCommand>();
  add_option(verb, "plan", command->plan, "The plan, as written by `reprise plan -o`",
             {.is_required = true, .type = "plan.json"});
  add_option(verb, "--problem", command->problem, "Its problem, if the plan does not carry that",
             {.type = "PROBLEM.json"});
  add_flag(verb, "--json", command->json, "Print one JSON object");
  add_footer(
      verb,
      "Replays the schedule by definition and compares all pairs of the layout; shares no code with the planner.\n"
      "Examples:\n"
      "  reprise plan net.json --budget 50% -o plan.json && reprise check plan.json\n"
      "  reprise check other.json --problem net.json --json      {\"ok\": true, \"why\": \"\"}\n"
      "The status is 1 if something is wrong.");
  return [command] { return run_check(*command); };
}

}  // namespace reprise::cli
