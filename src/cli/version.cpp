// SPDX-License-Identifier: Apache-2.0
// `reprise version`
#include <fmt/core.h>

#include <memory>

#include "cli/verbs.h"
#include "reprise/base.h"

namespace reprise::cli {

std::function<Status()> add_version(CLI::App& verb) {
  auto json = std::make_shared<bool>(false);
  add_flag(verb, "--json", *json, "Print one JSON object");
  return [json] {
    if (*json)
      fmt::print("{{\"version\": \"{}\"}}\n", version());
    else
      fmt::print("reprise {}\n", version());
    return done;
  };
}

}  // namespace reprise::cli
