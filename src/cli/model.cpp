// SPDX-License-Identifier: Apache-2.0
#include "cli/model.h"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <filesystem>

#include "base/spelling.h"
#include "cli/cli.h"
#include "compile/page_file.h"
#include "reprise/onnx.h"

namespace reprise::cli {

void add_model_options(CLI::App& verb, ModelCommand& command) {
  add_option(verb, "--batch", command.batch, "Samples in a batch; the model's own number if left out",
             {.check = positive()});
  add_option(verb, "--seed", command.seed, "Seed of weights and data");
  add_option(verb, "--optimizer", command.optimizer, "Instead of the model's own: " + optim::rule_names(),
             {.check = one_of(optim::rule_names())});
  add_option(verb, "--lr", command.lr, "Learning rate instead of the optimizer's own", {.check = positive()});
  add_option(verb, "--threads", command.threads, "Threads that compute; all cores if left out",
             {.check = between(1, 1024)});
  add_flag(verb, "--estimate", command.estimate, "Plan by estimated times instead of timing every op once");
  add_profile_option(verb, command.profile);
  add_network_options(verb, command.network);
  add_option(verb, "--disk", command.disk, "Folder on a disk that values may move to where that fits or is faster",
             {.type = "DIR"});
}

void add_profile_option(CLI::App& verb, std::string& profile) {
  add_option(verb, "--profile", profile, "Times of a model's ops: read from this file if it is there, and written back",
             {.type = "FILE"});
}

BuiltInModel make_model(const ModelCommand& command) {
  if (command.threads > 0) omp_set_num_threads(command.threads);
  expect_words_for(command.name, command.network);
  BuiltInModel model =
      is_onnx_path(command.name)
          ? onnx_model(command.name, onnx_options(command.network, command.batch, command.seed, command.budget))
          : built_in_model(command.name, {.batch = command.batch, .seed = command.seed});
  if (!command.optimizer.empty()) model.rule = optim::rule_named(command.optimizer);
  if (command.lr > 0) model.rule.rate = command.lr;
  choose_trained(model, {command.network.train, command.network.freeze});
  return model;
}

StepOptions step_options(const ModelCommand& command) {
  StepOptions options{
      .measure = !command.estimate, .profile = std::make_shared<Profile>(), .disk = {.folder = command.disk}};
  if (!command.profile.empty() && std::filesystem::exists(command.profile))
    *options.profile = Profile::load(command.profile);
  return options;
}

void save_profile(const ModelCommand& command, const StepOptions& options) {
  if (!command.profile.empty()) options.profile->save(command.profile);
}

std::string paging_words(std::int64_t bytes, const std::string& folder) {
  bool is_memory = !folder.empty() && is_in_memory(folder);
  return fmt::format("{} a step go to disk and come back{}", format_bytes(bytes),
                     is_memory ? fmt::format("; but '{}' is in memory itself: name a folder on a disk", folder) : "");
}

bool is_model(const std::string& word) {
  return is_onnx_path(word) ||
         std::ranges::any_of(built_in_models(), [&](const ModelInfo& info) { return info.name == word; });
}

namespace {

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const ModelInfo& info : built_in_models()) names.push_back(info.name);
  return names;
}

// "did you mean 'gpt6'? There are mlp16, gpt6 ..."
std::string models_to_choose(const std::string& word) {
  std::string all;
  for (std::string_view name : model_names()) all.append(all.empty() ? "" : ", ").append(name);
  std::optional<std::string_view> meant = nearest(word, model_names());
  return (meant ? fmt::format("did you mean '{}'? There are ", *meant) : std::string("choose from ")) + all;
}

}  // namespace

Check is_model_name() {
  return check(
      [](const std::string& text) {
        return is_model(text)
                   ? ""
                   : fmt::format("there is no model '{}': {}, or name a FILE.onnx", text, models_to_choose(text));
      },
      "");
}

void expect_model_or_path(const std::string& text) {
  bool is_path = text.find_first_of("./") != std::string::npos || std::filesystem::exists(text);
  if (!is_model(text) && !is_path)
    throw WrongCommand(fmt::format("there is neither a model nor a file '{}': {}; the path of a file must exist", text,
                                   models_to_choose(text)));
}

Problem problem_of_model(const ModelCommand& command) {
  BuiltInModel model = make_model(command);
  StepOptions options = step_options(command);
  TrainStep step(model.loss, model.parameters, model.rule, options);
  Problem problem = problem_of(step.graph(model.batch),
                               {.measure = options.measure, .profile = options.profile, .disk = options.disk});
  save_profile(command, options);
  return problem;
}

std::int64_t bytes_if_all_trained(const ModelCommand& command) {
  if (command.network.freeze.empty() && command.network.train.empty()) return 0;
  ModelCommand all = command;
  all.estimate = true;
  all.profile.clear();
  all.network.freeze.clear();
  all.network.train.clear();
  Problem problem = problem_of_model(all);
  return peak(problem, keep_all(problem));
}

}  // namespace reprise::cli
