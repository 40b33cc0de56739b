// SPDX-License-Identifier: Apache-2.0
// `reprise models`
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "reprise/models.h"

namespace reprise::cli {

std::function<Status()> add_models(CLI::App& verb) {
  auto json = std::make_shared<bool>(false);
  add_flag(verb, "--json", *json, "Print one JSON object");
  return [json] {
    nlohmann::ordered_json list = nlohmann::json::array();
    for (const ModelInfo& info : built_in_models()) {
      list.push_back({{"name", info.name}, {"description", info.description}});
      if (!*json) fmt::print("{:<10} {}\n", info.name, info.description);
    }
    if (*json) fmt::print("{}\n", nlohmann::ordered_json{{"models", list}}.dump());
    return done;
  };
}

}  // namespace reprise::cli
