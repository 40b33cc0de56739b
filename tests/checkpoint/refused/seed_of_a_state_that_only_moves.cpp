// SPDX-License-Identifier: Apache-2.0
// refused: let forward take a const State&, specialise reprise::Serial, or give the seed as a value
#include <memory>

#include "reprise/reverse_sweep.h"

using State = std::unique_ptr<double>;
struct Store {
  void put(std::int64_t, const State&);
  State get(std::int64_t);
  void drop(std::int64_t);
};

double gradient(Store& store) {
  auto forward = [](State x) { return x; };
  auto one = [](const State&) { return 1.0; };
  auto reverse = [](const State& x, double a) { return *x * a; };
  return reprise::reverse_sweep(State(), {.steps = 3, .snapshots = 2}, forward, one, reverse, store);
}
