// SPDX-License-Identifier: Apache-2.0
// Run-time choice of instruction set: a loop over f32 is compiled once for every x86-64 and once for AVX2 with FMA, and
// runs as the wider that this CPU has; other types have the one version, as has arm64, which is NEON. Wider vectors
// than these would wait for memory. Sums and products may be fused where the CPU can, so bits are equal on equal CPUs
// only.
#pragma once

#include <type_traits>

namespace reprise::kernels {

#if defined(__x86_64__) && defined(__GNUC__)

namespace detail {

inline bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return found;
}

// `flatten` inlines everything the loop calls, which thereby is compiled for the same target.
template <class Loop>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_avx2(Loop loop) {
  loop();
}

}  // namespace detail

/// Runs `loop()`, compiled for the widest vectors this CPU has. Loops inside say `#pragma omp simd`.
template <class Loop>
void simd(Loop loop) {
  if (detail::has_avx2())
    detail::run_avx2(loop);
  else
    loop();
}

#else

template <class Loop>
void simd(Loop loop) {
  loop();
}

#endif

/// The same for loops over elements of type T: only f32 is worth two versions.
template <class T, class Loop>
void simd_for(Loop loop) {
  if constexpr (std::is_same_v<T, float>)
    simd(loop);
  else
    loop();
}

}  // namespace reprise::kernels
