// SPDX-License-Identifier: Apache-2.0
// What the verbs that work on a model share: which model, which step, which times.
#pragma once

#include <memory>
#include <string>

#include "cli/network.h"
#include "cli/options.h"
#include "reprise/models.h"
#include "reprise/train.h"

namespace reprise::cli {

struct ModelCommand {
  std::string name;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
  std::string optimizer;
  double lr = 0;
  int threads = 0;
  bool estimate = false;
  std::string profile;
  NetworkWords network = {};
  std::string disk = {};                    // a folder
  std::int64_t budget = onnx_usual_budget;  // bytes that an ONNX file is read within
};

/// Adds all of these but the model's name.
void add_model_options(CLI::App& verb, ModelCommand& command);
void add_profile_option(CLI::App& verb, std::string& profile);

/// The model with the optimizer asked for; sets the number of threads.
BuiltInModel make_model(const ModelCommand& command);
/// Loads the profile file if there is one; `save_profile` writes it back.
StepOptions step_options(const ModelCommand& command);
void save_profile(const ModelCommand& command, const StepOptions& options);

/// What a plan that moves values says of it: how much, and where to.
std::string paging_words(std::int64_t bytes, const std::string& folder);

/// Whether a positional argument names a model, built in or in an ONNX file, and not a problem or plan.
bool is_model(const std::string& word);
/// Says whether a text names a model, and which built-in one it was likely meant to.
Check is_model_name();
/// WrongCommand where the text is neither a model nor a path that is there; what looks like a path is left to whoever
/// opens it.
void expect_model_or_path(const std::string& text);
/// A training step of the model, for planning.
Problem problem_of_model(const ModelCommand& command);
/// What keeping everything would take if all parameters were trained; 0 where they are.
std::int64_t bytes_if_all_trained(const ModelCommand& command);

}  // namespace reprise::cli
