// SPDX-License-Identifier: Apache-2.0
// The command line of `reprise train`: what was asked for, and what a snapshot says where nothing was.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "cli/network.h"
#include "cli/options.h"
#include "reprise/trainer.h"

namespace reprise::cli {

/// What is left as it is here was not given.
struct TrainCommand {
  std::string model, data, data_kind, budget = "100%", optimizer, schedule, accumulate;
  std::int64_t batch = 0, steps = 0, warm_up = -1, evaluate_every = 0, validate_samples = 0, patience = -1;
  std::int64_t seed = -1, save_every = 0, iterations = 0;
  double epochs = 0, lr = 0, clip_norm = -1, clip_value = -1, validation = -1, time_limit = 5;
  std::string check_finite = "auto", save, resume, weights_in, weights_out, profile, report, disk;
  std::vector<std::string> metrics;
  std::string out;  // an ONNX file
  NetworkWords network;
  int keep = 3, threads = 0;
  bool estimate = false, dry_run = false, quiet = false, json = false;

  std::shared_ptr<Profile> times;  // of ops, from --profile

  /// The .jsonl file that the report reads: --metrics, or that of --save; empty if there is neither.
  std::string metrics_for_report() const;
};

void add_train_options(CLI::App& verb, TrainCommand& command);

/// Keeps other runs out of the folder that this one saves to; nothing where it saves nothing.
std::shared_ptr<void> held_folder(const TrainCommand& command);
/// The snapshot that --resume goes on from, if it was given.
std::optional<Resumable> resumed(TrainCommand& command);
/// What the run that is resumed did in a step: what fitted its budget fits it again.
std::optional<Schedule> earlier_schedule(const TrainCommand& command);
/// What the trainer is told. An Error where the command asks for another run than the snapshot's.
TrainerOptions trainer_options(const TrainCommand& command, const std::optional<Resumable>& from);

}  // namespace reprise::cli
