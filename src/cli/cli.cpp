// SPDX-License-Identifier: Apache-2.0
// Parses the command line, runs the verb, and turns what happened into an exit status.
#include "cli/cli.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "cli/verbs.h"
#include "reprise/base.h"

namespace reprise::cli {
namespace {

struct Verb {
  const char* name;
  const char* purpose;
  AddVerb add;
};
constexpr Verb verbs[] = {
    {"ops", "List the ops there are", add_ops},
    {"pack", "Place buffers with known lifetimes in one arena, as low as can be", add_pack},
    {"version", "Print the version", add_version},
};

}  // namespace

int run(int argc, char** argv) {
  CLI::App app{"reprise: train in the memory you have", "reprise"};
  app.require_subcommand(1);
  Status status = done;
  for (const Verb& verb : verbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.purpose);
    sub->callback([&status, work = verb.add(*sub)] { status = work(); });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? done : wrong_command;
  } catch (const std::exception& e) {
    fmt::print(stderr, "reprise: {}\n", e.what());
    return failed;
  }
  return status;
}

}  // namespace reprise::cli
