// SPDX-License-Identifier: Apache-2.0
// What a run has been through, and how it goes to a snapshot and comes back.
#pragma once

#include "reprise/trainer.h"

namespace reprise {

/// All but parameters and optimizer state, which are the step's.
struct RunState {
  std::vector<double> losses;  // of every step: their number is the number of steps, and the position in the data
  std::vector<Evaluation> evaluations;
  std::optional<Evaluation> best;
  std::int64_t bad_evaluations = 0;  // since the best
  double seconds = 0;

  void add(double loss);
  /// Whether it is the best so far.
  bool note(const Evaluation& evaluation);
  /// An exponential mean of the losses.
  double smooth_loss() const { return weight_ > 0 ? smooth_ / weight_ : 0; }

 private:
  double smooth_ = 0, weight_ = 0;
};

void save_run(const std::string& path, const Recipe& recipe, std::int64_t samples, const RunState& state,
              const TrainStep& step);
/// Also sets the step's state, in place. Throws Error where the snapshot is of another model or other data.
RunState load_run(const Resumable& from, std::int64_t samples, const TrainStep& step);

}  // namespace reprise
