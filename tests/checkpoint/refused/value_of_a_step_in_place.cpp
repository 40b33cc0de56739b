// SPDX-License-Identifier: Apache-2.0
// refused: would be lost: return nothing, or take it by value
#include "reprise/reverse_sweep.h"

double gradient() {
  auto twice = [](std::int64_t, double& x) { return x * 2; };
  auto reverse = [](std::int64_t, double, double a) { return 2 * a; };
  return reprise::reverse_sweep(1.5, {.steps = 3, .snapshots = 2}, twice, 1.0, reverse);
}
