// SPDX-License-Identifier: Apache-2.0
// What a run really takes: tensors by their meter, the process by the kernel.
#pragma once

#include <string>
#include <vector>

#include "reprise/train.h"

namespace reprise::cli {

double median(std::vector<double> values);

/// Loads the kernel libraries and starts their threads, which are no part of a model.
void warm_up();

struct Measured {
  double step_seconds = 0;  // median, without the first, which pays for what is only done once
  double recompute_share = 0;
  std::int64_t tensor_peak = 0;
  std::int64_t resident_before = 0, resident_peak = 0;  // the peak is above what was there before
};

/// Watches from when it is made.
class MemoryWatch {
 public:
  MemoryWatch();
  /// Planning is over; from here on tensors add to the arena.
  void arena_is_next();
  Measured measure(const TrainStep& step, const std::vector<double>& seconds) const;

 private:
  std::int64_t before_ = 0, peak_before_arena_ = 0;
};

}  // namespace reprise::cli
