// SPDX-License-Identifier: Apache-2.0
// The verbs, one per file.
#pragma once

#include "cli/cli.h"
#include "cli/options.h"

namespace reprise::cli {

std::function<Status()> add_train(CLI::App& verb);
std::function<Status()> add_bench(CLI::App& verb);
std::function<Status()> add_grad(CLI::App& verb);
std::function<Status()> add_inspect(CLI::App& verb);
std::function<Status()> add_models(CLI::App& verb);
std::function<Status()> add_ops(CLI::App& verb);
std::function<Status()> add_plan(CLI::App& verb);
std::function<Status()> add_sweep(CLI::App& verb);
std::function<Status()> add_check(CLI::App& verb);
std::function<Status()> add_report(CLI::App& verb);
std::function<Status()> add_pack(CLI::App& verb);
std::function<Status()> add_version(CLI::App& verb);
std::function<Status()> add_completion(CLI::App& verb);
std::function<Status()> add_man(CLI::App& verb);

}  // namespace reprise::cli
