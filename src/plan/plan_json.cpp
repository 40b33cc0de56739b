// SPDX-License-Identifier: Apache-2.0
// plan.json: the steps, the layout, the promises, and the problem they are about.
#include <array>

#include "base/error.h"
#include "plan/json.h"
#include "reprise/plan_io.h"

namespace reprise {
namespace plan {
namespace {

constexpr std::array kinds = {Step::Kind::run,     Step::Kind::drop,     Step::Kind::page_out,
                              Step::Kind::page_in, Step::Kind::compress, Step::Kind::expand};
constexpr std::array<std::string_view, 3> placement_kinds = {"value", "compressed", "scratch"};

int node_named(const Problem& problem, const Field& name) {
  int node = problem.find(name.text());
  if (node < 0) name.wrong("the name of a node of the problem");
  return node;
}

Step read_step(const Problem& problem, const Field& step) {
  step.must_be_list();
  if (step.size() != 2) step.wrong("a word and a name, such as [\"run\", \"conv1\"]");
  std::string word = step.at(std::size_t{0}).text();
  for (Step::Kind kind : kinds) {
    if (to_string(kind) != word) continue;
    Field name = step.at(1);
    return {kind, kind == Step::Kind::run ? node_named(problem, name) : value_named(problem, name)};
  }
  step.at(std::size_t{0}).wrong("run, drop, page_out, page_in, compress or expand");
}

int read_step_number(const Field& number, std::size_t step_count) {
  std::int64_t step = number.whole_number();
  if (step < 0 || step > static_cast<std::int64_t>(step_count)) {
    number.wrong(fmt::format("the number of a step, 0 to {}", step_count));
  }
  return static_cast<int>(step);
}

Placement::Kind read_placement_kind(const Field& row) {
  if (!row.has("kind")) return Placement::Kind::value;
  std::string word = row.at("kind").text();
  for (std::size_t kind = 0; kind < placement_kinds.size(); ++kind) {
    if (placement_kinds[kind] == word) return static_cast<Placement::Kind>(kind);
  }
  row.at("kind").wrong("value, compressed or scratch");
}

Placement read_placement(const Problem& problem, const Field& row, std::size_t step_count) {
  row.must_be_object().check_spelling({"value", "from", "to", "offset", "bytes", "kind"});
  Placement placement{.kind = read_placement_kind(row)};
  bool is_scratch = placement.kind == Placement::Kind::scratch;
  placement.id = is_scratch ? node_named(problem, row.at("value")) : value_named(problem, row.at("value"));
  placement.from = read_step_number(row.at("from"), step_count);
  placement.to = read_step_number(row.at("to"), step_count);
  placement.offset = row.at("offset").whole_number();
  placement.bytes = row.at("bytes").whole_number();
  return placement;
}

SavedPlan read_plan(const Field& file, Problem problem) {
  SavedPlan plan{.problem = std::move(problem)};
  Field steps = file.at("steps");
  steps.must_be_list();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    plan.schedule.steps.push_back(read_step(plan.problem, steps.at(i)));
  }
  if (file.has("layout")) {
    Field rows = file.at("layout");
    rows.must_be_list();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      plan.layout.push_back(read_placement(plan.problem, rows.at(i), steps.size()));
    }
  }
  plan.budget_bytes = file.at("budget_bytes").whole_number();
  plan.peak_bytes = file.at("peak_bytes").whole_number();
  plan.cost = file.at("cost").number();
  plan.lower_bound = file.at("lower_bound").number();
  return plan;
}

void check_plan_keys(const Field& file) {
  file.must_be_object().check_spelling(
      {"steps", "layout", "budget_bytes", "peak_bytes", "cost", "lower_bound", "problem"});
}

Json row_json(const Problem& problem, const Placement& row) {
  bool is_scratch = row.kind == Placement::Kind::scratch;
  Json json = {{"value", is_scratch ? problem.node(row.id).name : file_name(problem, row.id)},
               {"from", row.from},
               {"to", row.to},
               {"offset", row.offset},
               {"bytes", row.bytes}};
  if (row.kind != Placement::Kind::value) json["kind"] = placement_kinds[static_cast<std::size_t>(row.kind)];
  return json;
}

// A list with one element a line.
template <class List, class Write>
std::string lines(const List& list, const Write& write) {
  std::string text;
  for (const auto& element : list) text += (text.empty() ? "\n  " : ",\n  ") + dump(write(element));
  return text;
}

template <class Read>
SavedPlan load(const std::string& path, const Read& read) {
  std::string text = read_file(path);
  try {
    return read(text);
  } catch (const Error& e) {
    fail("{}: {}", path, e.what());
  }
}

}  // namespace
}  // namespace plan

SavedPlan plan_from_json(std::string_view text) {
  plan::Json json = plan::parse_json("plan", text);
  plan::Field file(json, "the plan");
  plan::check_plan_keys(file);
  if (!file.has("problem")) fail("[plan] the plan does not carry its problem: give that as well (--problem FILE)");
  return plan::read_plan(file, plan::read_problem(file.at("problem")));
}

SavedPlan plan_from_json(std::string_view text, const Problem& problem) {
  plan::Json json = plan::parse_json("plan", text);
  plan::Field file(json, "the plan");
  plan::check_plan_keys(file);
  return plan::read_plan(file, problem);
}

SavedPlan load_plan(const std::string& path) {
  return plan::load(path, [](const std::string& text) { return plan_from_json(text); });
}

SavedPlan load_plan(const std::string& path, const Problem& problem) {
  return plan::load(path, [&](const std::string& text) { return plan_from_json(text, problem); });
}

std::string to_json(const SavedPlan& saved) {
  const Problem& problem = saved.problem;
  auto step_json = [&](Step step) {
    bool is_run = step.kind == Step::Kind::run;
    return plan::Json{to_string(step.kind), is_run ? problem.node(step.id).name : plan::file_name(problem, step.id)};
  };
  auto layout_json = [&](const Placement& row) { return plan::row_json(problem, row); };
  return fmt::format(
      "{{\"steps\": [{}],\n \"layout\": [{}],\n \"budget_bytes\": {}, \"peak_bytes\": {}, \"cost\": {}, "
      "\"lower_bound\": {},\n \"problem\": {}}}\n",
      plan::lines(saved.schedule.steps, step_json), plan::lines(saved.layout, layout_json), saved.budget_bytes,
      saved.peak_bytes, plan::dump(saved.cost), plan::dump(saved.lower_bound), to_json(problem));
}

}  // namespace reprise
