// SPDX-License-Identifier: Apache-2.0
// Problems and plans as files: PROBLEM.json and plan.json. docs/planner.md lists every key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/plan.h"

namespace reprise {

/// Reads a problem; throws Error with the line and column, or the node, and what to do about it.
///
///   {"nodes": [{"name": "a", "cost": 1, "bytes": 100, "inputs": []},
///              {"name": "b", "cost": 2, "bytes": [50, 8], "inputs": ["a"], "scratch": 16}],
///    "outputs": ["b:1"], "resident_bytes": 0}
REPRISE_API Problem problem_from_json(std::string_view text);
/// The same, from a file.
REPRISE_API Problem load_problem(const std::string& path);
/// The problem as JSON, one node a line. Reading it gives an equal problem.
REPRISE_API std::string to_json(const Problem& problem);

/// A plan as it is saved: what to do, where everything lies, and what was promised. It carries its problem, so that it
/// can be judged alone.
struct SavedPlan {
  Problem problem;
  Schedule schedule;
  std::vector<Placement> layout;
  std::int64_t budget_bytes = 0;
  std::int64_t peak_bytes = 0;
  double cost = 0;
  double lower_bound = 0;
  friend bool operator==(const SavedPlan&, const SavedPlan&) = default;
};

/// Reads a plan that carries its problem under "problem".
REPRISE_API SavedPlan plan_from_json(std::string_view text);
/// Reads a plan of `problem`; one that the file carries is not looked at.
REPRISE_API SavedPlan plan_from_json(std::string_view text, const Problem& problem);
REPRISE_API SavedPlan load_plan(const std::string& path);
REPRISE_API SavedPlan load_plan(const std::string& path, const Problem& problem);
REPRISE_API std::string to_json(const SavedPlan& plan);
/// What there is to save of a feasible plan.
REPRISE_API SavedPlan saved(const PlanResult& plan);
/// A saved plan as a result: what the file does not tell (who found it, the smallest budget) is left out. Throws Error
/// where the judge refuses the schedule.
REPRISE_API PlanResult result_of(const SavedPlan& plan);

}  // namespace reprise
