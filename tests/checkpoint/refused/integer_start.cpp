// SPDX-License-Identifier: Apache-2.0
// refused: the start is an integer but forward gives fractions: write 1.0, not 1
#include "reprise/reverse_sweep.h"

double gradient() {
  auto half = [](double x) { return x / 2; };
  auto reverse = [](double, double a) { return a / 2; };
  return reprise::reverse_sweep(1, {.steps = 3, .snapshots = 2}, half, 1.0, reverse);
}
