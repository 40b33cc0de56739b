// SPDX-License-Identifier: Apache-2.0
// A run in a folder: plan.json as `reprise plan` writes it, and run.json with what else the page shows.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "report/text.h"
#include "reprise/report.h"

namespace reprise::report {
namespace {

using nlohmann::json;
constexpr int format_version = 1;

std::string path_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("[report] cannot read '{}': check the path", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

json run_json(const Page& page) {
  json run = {{"format", format_version}, {"title", page.title}, {"settings", json::array()}};
  for (const auto& [name, value] : page.settings) run["settings"].push_back({name, value});
  for (const Point& p : page.curve) run["curve"].push_back({p.budget, p.time, p.bound});
  for (const Moment& m : page.timeline)
    run["timeline"].push_back({m.node, m.recompute, m.begin, m.end, m.live_bytes, m.is_drop, m.is_move});
  return run;
}

void read_run(const json& file, Run& run) {
  if (file.at("format") != format_version)
    fail("[report] run.json has format {}, this version reads {}", file.at("format").dump(), format_version);
  run.title = file.at("title").get<std::string>();
  for (const auto& pair : file.at("settings"))
    run.settings.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  if (file.contains("curve"))
    for (const auto& p : file.at("curve"))
      run.curve.push_back({p.at(0).get<std::int64_t>(), p.at(1).get<double>(), p.at(2).get<double>()});
  if (!file.contains("timeline")) return;
  for (const auto& m : file.at("timeline")) {
    Moment moment{.node = m.at(0).get<std::int32_t>(),
                  .recompute = m.at(1).get<bool>(),
                  .begin = m.at(2).get<double>(),
                  .end = m.at(3).get<double>(),
                  .live_bytes = m.at(4).get<std::int64_t>(),
                  .is_drop = m.at(5).get<bool>(),
                  .is_move = m.size() > 6 && m.at(6).get<bool>()};  // not in older files
    if (moment.node < 0 || moment.node >= run.plan.problem->node_count())
      fail("[report] run.json names node {} of {}: it is not of this plan", moment.node,
           run.plan.problem->node_count());
    moment.name = run.plan.problem->node(moment.node).name;  // which the plan holds
    run.timeline.push_back(moment);
  }
}

}  // namespace

void save(const Page& page, const std::string& folder) {
  if (!page.plan) fail("[report] the page has no plan");
  std::filesystem::create_directories(folder);
  write_file(path_in(folder, "plan.json"), to_json(saved(*page.plan)));
  write_file(path_in(folder, "run.json"), run_json(page).dump(1, ' ', true, json::error_handler_t::replace) + "\n");
}

Run load(const std::string& folder) {
  if (!std::filesystem::exists(path_in(folder, "plan.json")))
    fail("[report] '{}' holds no plan.json: give a folder that `reprise train --save` wrote, or a plan", folder);
  Run run{.title = std::filesystem::path(folder).filename().string(),
          .plan = result_of(load_plan(path_in(folder, "plan.json")))};
  if (std::filesystem::exists(path_in(folder, "metrics.jsonl"))) run.metrics = path_in(folder, "metrics.jsonl");
  if (!std::filesystem::exists(path_in(folder, "run.json"))) return run;
  try {
    read_run(json::parse(read_file(path_in(folder, "run.json"))), run);
  } catch (const json::exception& e) {
    fail("[report] '{}' cannot be understood: {}", path_in(folder, "run.json"), e.what());
  }
  return run;
}

}  // namespace reprise::report
