// SPDX-License-Identifier: Apache-2.0
#include "cli/train_command.h"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "reprise/optim.h"
#include "reprise/plan_io.h"
#include "trainer/metrics.h"

namespace reprise::cli {
namespace {

Check is_budget_or_auto() {
  return check(
      [](const std::string& text) -> std::string {
        if (text == "auto") return {};
        try {
          parse_bytes(text, std::int64_t{1} << 40);
        } catch (const Error& e) {
          return std::string(e.what()) + ", or auto";
        }
        return {};
      },
      "SIZE|auto");
}

Check is_share() {
  return check(
      [](const std::string& text) -> std::string {
        double share = -1;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
        bool is_one = error == std::errc() && end == text.data() + text.size() && share >= 0 && share < 1;
        return is_one ? "" : fmt::format("'{}' is not a share from 0 to below 1", text);
      },
      "SHARE");
}

Check is_metrics_file() {
  return check(
      [](const std::string& path) -> std::string {
        try {
          expect_metrics_path(path);
        } catch (const Error& e) {
          return e.what();
        }
        return {};
      },
      "FILE");
}

void add_run_options(CLI::App& verb, TrainCommand& c) {
  add_option(
      verb, "--budget", c.budget,
      "Bytes for everything: 512MiB, 2GB, 50% of what the run takes without limit, or auto: what the machine has",
      {.check = is_budget_or_auto(), .shows_default = true});
  add_option(verb, "--data", c.data, "A text, CSV, IDX, npy/npz file or a folder of images; shipped data if left out",
             {.type = "PATH", .is_once = true});
  add_option(verb, "--data-kind", c.data_kind, "How to read it if its name does not say: text, idx, csv, npz, images",
             {.check = one_of("text,idx,csv,npz,images")});
  add_option(verb, "--steps", c.steps, "Steps to train; 1000 if --epochs is left out too", {.check = positive()});
  add_option(verb, "--epochs", c.epochs, "Times to go through the data, instead of steps", {.check = positive()});
  add_option(verb, "--batch", c.batch, "Samples in a batch; the model's own number if left out", {.check = positive()});
  add_option(verb, "--accumulate", c.accumulate,
             "Work through a batch in so many parts, or auto: as many as run fastest within the budget",
             {.check = is_parts()});
  add_option(verb, "--seed", c.seed, "Seed of weights and of the order of samples; 1 if left out",
             {.check = not_negative()});
  add_option(verb, "--threads", c.threads, "Threads that compute; all cores if left out", {.check = between(1, 1024)});
}

void add_learning_options(CLI::App& verb, TrainCommand& c) {
  add_option(verb, "--optimizer", c.optimizer, "Instead of the model's own: " + optim::rule_names(),
             {.check = one_of(optim::rule_names())});
  add_option(verb, "--lr", c.lr, "Learning rate instead of the optimizer's own", {.check = positive()});
  add_option(verb, "--schedule", c.schedule, "How the rate changes over the steps: " + schedule_names(),
             {.check = one_of(schedule_names())});
  add_option(verb, "--warmup", c.warm_up, "Steps in which the rate grows to its full size", {.check = not_negative()});
  add_option(verb, "--clip-norm", c.clip_norm, "Largest norm of all gradients together", {.check = not_negative()});
  add_option(verb, "--clip-value", c.clip_value, "Largest magnitude of an element of a gradient",
             {.check = not_negative()});
  add_network_options(verb, c.network);
  add_option(verb, "--check-finite", c.check_finite,
             "on: a loss or gradient that is NaN or infinite stops the run before the weights change, with status 4; "
             "loss: only the loss is checked; auto: on if it fits the budget, else loss; off",
             {.check = one_of("auto,on,loss,off"), .shows_default = true});
  add_option(verb, "--validation", c.validation, "Share of the samples that validate; 0.1 if left out, 0: none",
             {.check = is_share()});
  add_option(verb, "--validate-samples", c.validate_samples, "How many of them at each evaluation; 1024 if left out",
             {.check = positive()});
  add_option(
      verb, "--evaluate-every", c.evaluate_every,
      "Steps between evaluations; a tenth of the run if left out, more where an evaluation takes longer than that",
      {.check = positive()});
  add_option(verb, "--patience", c.patience, "Stop after so many evaluations without improvement",
             {.check = not_negative()});
}

void add_file_options(CLI::App& verb, TrainCommand& c) {
  add_option(verb, "--save", c.save, "Folder for snapshots, metrics.jsonl and plan.json", {.type = "DIR"});
  add_option(verb, "--save-every", c.save_every, "Steps between snapshots; there is one at the end in any case",
             {.check = positive()});
  add_option(verb, "--keep", c.keep, "Newest snapshots that stay, besides the best on validation",
             {.check = between(1, 1'000'000), .shows_default = true});
  add_option(verb, "--resume", c.resume, "Go on from this folder's newest snapshot that is whole, bit for bit",
             {.type = "DIR"});
  add_option(verb, "--metrics", c.metrics, "Also write a line a step to this .csv or .jsonl file",
             {.type = "FILE", .check = is_metrics_file()});
  add_option(verb, "--report", c.report,
             "Write a page about the run: memory, plan, trade-off, and with --save or --metrics FILE.jsonl the losses",
             {.type = "FILE.html"});
  add_option(verb, "--weights-in", c.weights_in, "Start from these weights: .safetensors or .npz", {.type = "FILE"});
  add_option(verb, "--out", c.out, "ONNX: write the file again at the end, with what was learned",
             {.type = "FILE.onnx"});
  add_option(verb, "--weights-out", c.weights_out, "Write the weights at the end: .safetensors or .npz",
             {.type = "FILE"});
}

void add_planning_options(CLI::App& verb, TrainCommand& c) {
  add_option(verb, "--time-limit", c.time_limit, "Seconds to search for a better plan; longer only until one fits",
             {.check = positive(), .shows_default = true});
  add_option(verb, "--iterations", c.iterations, "Moves each search may try, instead of a time", {.check = positive()});
  add_option(verb, "--disk", c.disk, "Folder on a disk that values may move to where that fits or is faster",
             {.type = "DIR"});
  add_flag(verb, "--estimate", c.estimate, "Plan by estimated times instead of timing every op once");
  add_profile_option(verb, c.profile);
  add_flag(verb, "--dry-run", c.dry_run, "Show what the run would be, and stop there");
  add_flag(verb, "--quiet", c.quiet, "Say nothing while it runs");
  add_flag(verb, "--json", c.json, "Print JSON on standard output and nothing else there");
}

std::optional<FiniteCheck> check_named(const std::string& name) {
  if (name == "auto") return std::nullopt;
  if (name == "on") return FiniteCheck::gradients;
  return name == "loss" ? FiniteCheck::loss : FiniteCheck::off;
}

// What the command gives replaces what the recipe has; what defines the run's numbers from the start may not change.
class Merge {
 public:
  explicit Merge(const std::optional<Resumable>& from) : from_(from) {
    if (from) recipe.threads = from->recipe.threads;
  }

  template <class T, class Field>
  void fixed(const char* option, bool is_given, const T& value, Field& field) {
    if (!is_given) return;
    if (from_ && field != static_cast<Field>(value))
      fail("[train] '{}' was trained with another {}: leave that out, or begin a new run", from_->path, option);
    field = static_cast<Field>(value);
  }
  template <class T, class Field>
  static void free(bool is_given, const T& value, Field& field) {
    if (is_given) field = static_cast<Field>(value);
  }

  Recipe recipe;

 private:
  const std::optional<Resumable>& from_;
};

}  // namespace

void add_train_options(CLI::App& verb, TrainCommand& command) {
  add_option(verb, "model", command.model, "A built-in model (see `reprise models`) or an ONNX file",
             {.type = "MODEL|FILE.onnx", .check = is_model_name()});
  add_run_options(verb, command);
  add_learning_options(verb, command);
  add_file_options(verb, command);
  add_planning_options(verb, command);
  add_footer(
      verb,
      "Examples:\n"
      "  reprise train gpt4s --budget 40%                          on the text that ships with the project\n"
      "  reprise train digits --budget 40% --epochs 20 --save run --save-every 100\n"
      "  reprise train --resume run --budget 50%                   go on, within another budget\n"
      "  reprise train gpt4s --data book.txt --budget auto --schedule cosine --warmup 100 --clip-norm 1\n"
      "  reprise train gpt6 --budget 200MiB --dry-run              only show the plan\n"
      "  reprise train net.onnx --data photos/ --budget 600MB --out tuned.onnx             a model you bring\n"
      "  reprise train net.onnx --data photos/ --budget 40% --classes 5 --train 'fc.*' --out tuned.onnx\n"
      "Ctrl-C finishes the step, saves if --save is given, and ends with status 130. The status is 3 if nothing\n"
      "fits, and 4 if the loss or a gradient is not finite.");
}

std::string TrainCommand::metrics_for_report() const {
  for (const std::string& path : metrics)
    if (path.ends_with(".jsonl")) return path;
  return save.empty() ? "" : save + "/metrics.jsonl";
}

std::shared_ptr<void> held_folder(const TrainCommand& command) {
  const std::string& folder = command.save.empty() ? command.resume : command.save;
  bool is_missing = command.save.empty() && !std::filesystem::exists(folder);
  return command.dry_run || folder.empty() || is_missing ? nullptr : hold_folder(folder);
}

std::optional<Resumable> resumed(TrainCommand& command) {
  if (command.resume.empty()) {
    if (!command.save.empty() && newest_snapshot(command.save))
      fail("[train] '{}' holds snapshots of an earlier run: go on with --resume, or save elsewhere", command.save);
    return std::nullopt;
  }
  std::optional<Resumable> found = newest_snapshot(command.resume);
  if (!found) fail("[train] there is no snapshot in '{}': check the folder, or begin with --save", command.resume);
  for (const std::string& why : found->passed_over) fmt::print(stderr, "reprise: {}\n", why);
  if (command.save.empty()) command.save = command.resume;
  return found;
}

std::optional<Schedule> earlier_schedule(const TrainCommand& command) {
  std::string path = command.resume + "/plan.json";
  if (command.resume.empty() || !std::filesystem::exists(path)) return std::nullopt;
  try {
    return load_plan(path).schedule;
  } catch (const Error& e) {
    fmt::print(stderr, "reprise: planning anew: {}\n", e.what());
    return std::nullopt;
  }
}

TrainerOptions trainer_options(const TrainCommand& c, const std::optional<Resumable>& from) {
  Merge merge(from);
  Recipe& r = merge.recipe;
  if (from) r = from->recipe;
  if (!from && c.model.empty())
    throw WrongCommand("[train] name a model (see `reprise models`), or a folder to --resume");
  merge.fixed("model", !c.model.empty(), c.model, r.model);
  merge.fixed("--data", !c.data.empty(), c.data, r.data);
  merge.fixed("--data-kind", !c.data_kind.empty(), c.data_kind, r.data_kind);
  merge.fixed("--batch", c.batch > 0, c.batch, r.batch);
  merge.fixed("--seed", c.seed >= 0, c.seed, r.seed);
  merge.fixed("--optimizer", !c.optimizer.empty(), c.optimizer, r.optimizer);
  merge.fixed("--validation", c.validation >= 0, c.validation, r.validation);
  merge.fixed("--freeze", !c.network.freeze.empty(), c.network.freeze, r.freeze);
  merge.fixed("--train", !c.network.train.empty(), c.network.train, r.train);
  merge.fixed("--loss", !c.network.loss.empty(), c.network.loss, r.loss);
  merge.fixed("--loss-output", !c.network.output.empty(), c.network.output, r.output);
  merge.fixed("--classes", c.network.classes > 0, c.network.classes, r.classes);
  merge.fixed("--shape", !c.network.shapes.empty(), c.network.shapes, r.shapes);
  expect_words_for(r.model, c.network);
  if (!c.out.empty() && !is_onnx_path(r.model))
    throw WrongCommand(fmt::format(
        "--out writes the ONNX file that was trained, and '{}' is none: --weights-out writes weights", r.model));
  int parts = c.accumulate.empty() ? 0 : parts_of(c.accumulate);
  merge.fixed("--accumulate", !c.accumulate.empty() && !(from && parts == 0), parts, r.accumulate);
  Merge::free(c.lr > 0, c.lr, r.lr);
  Merge::free(!c.schedule.empty(), c.schedule, r.schedule);
  Merge::free(c.warm_up >= 0, c.warm_up, r.warm_up);
  Merge::free(c.steps > 0 || c.epochs > 0, c.steps, r.steps);
  Merge::free(c.epochs > 0, c.epochs, r.epochs);
  Merge::free(c.clip_norm >= 0, c.clip_norm, r.clip_norm);
  Merge::free(c.clip_value >= 0, c.clip_value, r.clip_value);
  Merge::free(c.validate_samples > 0, c.validate_samples, r.validate_samples);
  Merge::free(c.evaluate_every > 0, c.evaluate_every, r.evaluate_every);
  Merge::free(c.patience >= 0, c.patience, r.patience);
  Merge::free(c.threads > 0, c.threads, r.threads);
  return {.recipe = r,
          .budget = c.budget,
          .check_finite = check_named(c.check_finite),
          .time_limit = c.time_limit,
          .iterations = c.iterations,
          .measure = !c.estimate,
          .profile = c.times,
          .save = c.save,
          .save_every = c.save_every,
          .keep = c.keep,
          .metrics = c.metrics,
          .disk = {.folder = c.disk}};
}

}  // namespace reprise::cli
