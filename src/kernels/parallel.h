// SPDX-License-Identifier: Apache-2.0
// Loops on several threads. The ranges depend on the count alone, never on timing, so results keep their bits; small
// loops stay on the calling thread, where starting others would cost more than the work.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace reprise::kernels {

inline int thread_count() {
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// Calls f(begin, end) on ranges that cover 0..count, each at least `grain` long (but for the last), one a thread.
template <class F>
void parallel_ranges(std::int64_t count, std::int64_t grain, const F& f) {
  std::int64_t most = std::max<std::int64_t>(1, count / std::max<std::int64_t>(1, grain));
  int threads = static_cast<int>(std::min<std::int64_t>(most, thread_count()));
  if (threads <= 1) {
    if (count > 0) f(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    std::int64_t begin = count * t / threads, end = count * (t + 1) / threads;
    if (begin < end) f(begin, end);
  }
}

}  // namespace reprise::kernels
