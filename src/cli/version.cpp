// SPDX-License-Identifier: Apache-2.0
// `reprise version`
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/verbs.h"
#include "reprise/base.h"

namespace reprise::cli {
namespace {

nlohmann::ordered_json facts() {
#if defined(__clang__)
  std::string compiler = "clang " __clang_version__;
#else
  std::string compiler = "gcc " __VERSION__;
#endif
#if defined(NDEBUG)
  bool has_assertions = false;
#else
  bool has_assertions = true;
#endif
  return {{"version", version()},
          {"compiler", compiler},
          {"assertions", has_assertions},
          {"cores", std::thread::hardware_concurrency()}};
}

}  // namespace

std::function<Status()> add_version(CLI::App& verb) {
  auto json = std::make_shared<bool>(false);
  add_flag(verb, "--json", *json, "Print one JSON object: version, compiler, assertions, cores");
  return [json] {
    if (*json)
      fmt::print("{}\n", facts().dump());
    else
      fmt::print("reprise {}\n", version());
    return done;
  };
}

}  // namespace reprise::cli
