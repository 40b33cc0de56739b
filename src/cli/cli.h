// SPDX-License-Identifier: Apache-2.0
// The command line: every verb is a row of `verbs` (cli.cpp), a function that adds its options to a sub-command and
// gives the function that runs it.
#pragma once

#include <functional>

#include "reprise/base.h"

namespace CLI {
class App;
}
namespace reprise::cli {

/// Exit status, the same for every verb.
enum Status : int { done = 0, failed = 1, wrong_command = 2, does_not_fit = 3, diverged = 4 };

/// What was asked for cannot be meant: ends with the status wrong_command.
class WrongCommand : public Error {
 public:
  using Error::Error;
};

/// Adds a verb's options to `verb` and returns what runs it; the status it returns is the program's.
using AddVerb = std::function<Status()> (*)(CLI::App& verb);

int run(int argc, char** argv);

}  // namespace reprise::cli
