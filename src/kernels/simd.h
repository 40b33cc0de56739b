// SPDX-License-Identifier: Apache-2.0
// Run-time choice of instruction set: a loop is compiled once for every x86-64, once for AVX2 with FMA and once for
// AVX-512, and runs as the widest this CPU has. On arm64 the one version already uses NEON. Sums and products may be
// fused where the CPU can, so bits are equal on equal CPUs only.
#pragma once

namespace reprise::kernels {

#if defined(__x86_64__) && defined(__GNUC__)

namespace detail {

enum class InstructionSet { any, avx2, avx512 };

inline InstructionSet instruction_set() {
  static const InstructionSet best = [] {
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return InstructionSet::any;
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
    return wide ? InstructionSet::avx512 : InstructionSet::avx2;
  }();
  return best;
}

// `flatten` inlines everything the loop calls, which thereby is compiled for the same target.
template <class Loop>
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma"), gnu::flatten]] void run_avx512(Loop loop) {
  loop();
}
template <class Loop>
[[gnu::target("avx2,fma"), gnu::flatten]] void run_avx2(Loop loop) {
  loop();
}

}  // namespace detail

/// Runs `loop()`, compiled for the widest vectors this CPU has. Loops inside say `#pragma omp simd`.
template <class Loop>
void simd(Loop loop) {
  switch (detail::instruction_set()) {
    case detail::InstructionSet::avx512: return detail::run_avx512(loop);
    case detail::InstructionSet::avx2: return detail::run_avx2(loop);
    case detail::InstructionSet::any: return loop();
  }
}

#else

template <class Loop>
void simd(Loop loop) {
  loop();
}

#endif

}  // namespace reprise::kernels
