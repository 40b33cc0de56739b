// SPDX-License-Identifier: Apache-2.0
// What the verbs that plan share: their options, progress, and results as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "reprise/plan_io.h"

namespace reprise::cli {

struct PlanningOptions {
  std::string file;  // or the name of a model
  NetworkWords network = {};
  std::int64_t batch = 0;  // of a model
  bool estimate = false;   // a model's times instead of measuring them
  std::string profile;     // a file of times of a model's ops
  std::string disk;        // a folder that a model's values may move to
  std::vector<std::string> solvers, without;
  double time_limit = 0;         // seconds; 0: none
  std::int64_t iterations = -1;  // -1: the usual number
  std::uint64_t seed = 1;
  int threads = 0;  // 0: one, or two if time is limited
  bool json = false;
  std::int64_t known_budget = onnx_usual_budget;  // bytes, for the nodes of an ONNX file
};

/// The problem, and how to search.
void add_planning_options(CLI::App& verb, PlanningOptions& options);
/// How to search alone.
void add_search_options(CLI::App& verb, PlanningOptions& options);
/// Says whether a text is a budget such as 512MiB, 2GB or 50%.
Check is_budget();
/// Its bytes, which an ONNX file is read within; the usual ones where it is a share of what is not known yet, or none.
std::int64_t known_bytes(const std::string& budget);

/// The model that `file` names.
ModelCommand model_command(const PlanningOptions& options);
/// The problem of the file, or of a training step of the model named.
Problem problem_to_plan(const PlanningOptions& options, Progress& progress);
/// Tells that nothing fits, as words and, if asked for, as JSON.
Status refused(const NoScheduleFits& why, bool as_json);
/// How many threads search.
int search_threads(const PlanningOptions& options);
/// The planner's options, telling of progress as it goes.
PlanOptions plan_options(const Problem& problem, const PlanningOptions& options, Progress& progress);

/// The keys that other programs rely on.
nlohmann::ordered_json to_json_object(const PlanResult& result);

/// What a report says of how it was planned.
std::vector<std::pair<std::string, std::string>> settings_of(const PlanningOptions& options, const PlanResult& plan);

void write_file(const std::string& path, const std::string& text);

}  // namespace reprise::cli
