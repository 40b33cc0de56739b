// SPDX-License-Identifier: Apache-2.0
#include "cli/memory.h"

#include <algorithm>
#include <fstream>

#include "reprise/models.h"

namespace reprise::cli {
namespace {

// A line of /proc/self/status, in bytes; 0 where there is none.
std::int64_t status_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":")) return 1024 * std::stoll(line.substr(key.size() + 1));
  return 0;
}

double recompute_share(const std::vector<Moment>& timeline) {
  double all = 0, again = 0;
  for (const Moment& m : timeline) {
    all += m.end - m.begin;
    if (m.recompute) again += m.end - m.begin;
  }
  return all > 0 ? again / all : 0;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void warm_up() {
  BuiltInModel model = built_in_model("resnet18", {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  step.run(model.random_batch(1));
}

MemoryWatch::MemoryWatch() : before_(status_bytes("VmRSS")) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the kernel forgets the largest resident size so far
  reset_memory_peak();
}

void MemoryWatch::arena_is_next() {
  peak_before_arena_ = memory_use().peak_bytes;
  reset_memory_peak();
}

Measured MemoryWatch::measure(const TrainStep& step, const std::vector<double>& seconds) const {
  std::int64_t resident_peak = status_bytes("VmHWM") - before_;  // before the timeline is written down
  std::vector<double> later(seconds.begin() + (seconds.size() > 1 ? 1 : 0), seconds.end());
  return {median(later), seconds.empty() ? 0 : recompute_share(step.timeline()),
          std::max(peak_before_arena_, step.arena_bytes() + memory_use().peak_bytes), before_, resident_peak};
}

}  // namespace reprise::cli
