// SPDX-License-Identifier: Apache-2.0
// Runs a function with a given number of OpenMP threads.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

namespace reprise::testing {

template <class F>
void with_threads([[maybe_unused]] int count, F f) {
#ifdef _OPENMP
  int before = omp_get_max_threads();
  omp_set_num_threads(count);
  f();
  omp_set_num_threads(before);
#else
  f();
#endif
}

}  // namespace reprise::testing
