// SPDX-License-Identifier: Apache-2.0
// What a training run noted, step by step.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::report {

using Curve = std::vector<std::pair<double, double>>;  // by step

struct Metrics {
  Curve loss, rate, val_loss, val_metric;
  double seconds = 0;     // when the last line was written, since the start
  std::size_t steps = 0;  // lines that tell of a step
};

/// Reads JSON lines; a last line that was cut off (the run was killed) is left out. Throws Error, with the line's
/// number, for any other that is no JSON object.
Metrics read_metrics(std::string_view text, const std::string& name);
Metrics load_metrics(const std::string& path);

/// The curve by at most so many points, each the mean of its neighbours.
Curve thinned(const Curve& curve, std::size_t most);

}  // namespace reprise::report
