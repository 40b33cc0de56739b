// SPDX-License-Identifier: Apache-2.0
// Parses the command line, runs the verb, and turns what happened into an exit status.
#include "cli/cli.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "base/spelling.h"
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
    {"train", "Train a model on data within a budget", add_train},
    {"bench", "Measure a model's training step within a budget", add_bench},
    {"grad", "Loss and gradients of an ONNX file's network, within a budget", add_grad},
    {"inspect", "Show what a model holds: parameters, bytes, flops, ops, shapes, what trains", add_inspect},
    {"models", "List the built-in models", add_models},
    {"ops", "List the ops there are", add_ops},
    {"plan", "Find the cheapest schedule of a problem within a budget", add_plan},
    {"sweep", "Show the whole trade-off between memory and time", add_sweep},
    {"check", "Judge a saved plan", add_check},
    {"report", "Write a page that shows a plan or a run: memory over time, every value, the trade-off", add_report},
    {"pack", "Place buffers with known lifetimes in one arena, as low as can be", add_pack},
    {"version", "Print the version", add_version},
    {"completion", "Print a completion script for a shell", add_completion},
    {"man", "Print the manual page", add_man},
};

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  auto meant = nearest(word, known);
  return meant ? fmt::format("'{}' is not known: did you mean '{}'?", word, *meant) : std::string();
}

// What a command that could not be parsed was most likely meant to say, or nothing.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
  if (app.get_subcommands().empty()) {
    std::vector<std::string> names;
    for (const Verb& verb : verbs) names.push_back(verb.name);
    names.push_back("--help");
    if (argc < 2) return {};
    std::string meant = did_you_mean(argv[1], names);
    return meant.empty() ? fmt::format("'{}' is not known: `reprise --help` lists what is", argv[1]) : meant;
  }
  const CLI::App& verb = *app.get_subcommands().front();
  std::vector<std::string> options;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    bool is_known = std::find(options.begin(), options.end(), word) != options.end();
    if (!word.starts_with("--") || is_known) continue;
    if (std::string meant = did_you_mean(word, options); !meant.empty()) return meant;
  }
  return {};
}

int run_verb(int argc, char** argv) {
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
    if (app.exit(e) == 0) return done;
    if (std::string meant = suggestion(app, argc, argv); !meant.empty()) fmt::print(stderr, "{}\n", meant);
    return wrong_command;
  } catch (const WrongCommand& e) {
    fmt::print(stderr, "reprise: {}\n", e.what());
    return wrong_command;
  } catch (const std::exception& e) {
    fmt::print(stderr, "reprise: {}\n", e.what());
    return failed;
  }
  return status;
}

}  // namespace

int run(int argc, char** argv) {
  int status = run_verb(argc, argv);
  // A result that is short is written only now: a full disk must not pass for success.
  bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::ferror(stdout) == 0) return status;
  fmt::print(stderr, "reprise: cannot write to standard output: {}\n",
             is_flushed ? "some of it is lost" : std::strerror(errno));
  return status == done ? failed : status;
}

}  // namespace reprise::cli
