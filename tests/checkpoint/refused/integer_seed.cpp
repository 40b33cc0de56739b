// SPDX-License-Identifier: Apache-2.0
// refused: the seed is an integer but backward gives fractions: write 1.0, not 1
#include "reprise/reverse_sweep.h"

double gradient() {
  auto square = [](double x) { return x * x; };
  auto reverse = [](double x, double a) { return 2 * x * a; };
  return reprise::reverse_sweep(1.5, {.steps = 3, .snapshots = 2}, square, 1, reverse);
}
