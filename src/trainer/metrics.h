// SPDX-License-Identifier: Apache-2.0
// Files that get a line for every step and every evaluation: CSV, or JSON lines with the keys step, epoch, loss, lr and
// seconds, and step, epoch, val_loss, val_metric and seconds.
#pragma once

#include <fstream>
#include <string>

#include "reprise/trainer.h"

namespace reprise {

/// An Error unless the name says how to write the file.
void expect_metrics_path(const std::string& path);

class MetricsFile {
 public:
  /// Begins the file anew, or keeps its lines up to `last_step` and goes on after them.
  MetricsFile(const std::string& path, std::int64_t last_step);

  void add_step(const TrainingStatus& status);
  void add_evaluation(const TrainingStatus& status, const Evaluation& evaluation);

 private:
  void write(const std::string& line);

  std::string path_;
  bool is_csv_;
  std::ofstream file_;
};

}  // namespace reprise
