// SPDX-License-Identifier: Apache-2.0
// Element-wise loops: vectorised, on several threads once the arrays are long. An output may be one of the inputs.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace reprise::kernels {

/// Elements worth a thread of their own.
constexpr std::int64_t elementwise_grain = 1 << 15;

/// Vector instruction sets beyond the baseline are worth their compile time for floating point only.
template <class T, class Loop>
void simd_for(Loop loop) {
  if constexpr (std::is_floating_point_v<T>)
    simd(loop);
  else
    loop();
}

/// Calls f(begin, end) on ranges of 0..count that begin at multiples of 256: whether an element is computed by a
/// vector instruction or by the loop's tail does not depend on the number of threads.
template <class F>
void parallel_elements(std::int64_t count, const F& f) {
  constexpr std::int64_t block = 256;
  parallel_ranges((count + block - 1) / block, elementwise_grain / block,
                  [&](std::int64_t begin, std::int64_t end) { f(begin * block, std::min(end * block, count)); });
}

/// y[i] = f(x[i])
template <class T, class U, class F>
void map(const T* x, U* y, std::int64_t count, F f) {
  parallel_elements(count, [=](std::int64_t begin, std::int64_t end) {
    simd_for<T>([=] {
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<U>(f(x[i]));
    });
  });
}

}  // namespace reprise::kernels
