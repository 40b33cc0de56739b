// SPDX-License-Identifier: Apache-2.0
// refused: a seed that is a function takes the last state by const reference or by value
#include "reprise/reverse_sweep.h"

double gradient() {
  auto square = [](double x) { return x * x; };
  auto one = [](double&) { return 1.0; };
  auto reverse = [](double x, double a) { return 2 * x * a; };
  return reprise::reverse_sweep(1.5, {.steps = 3, .snapshots = 2}, square, one, reverse);
}
