// SPDX-License-Identifier: Apache-2.0
// How many elements are NaN or infinite: those whose exponent has all bits set.
#pragma once

#include <atomic>
#include <bit>

#include "kernels/parallel.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

template <class Bits>
std::int64_t count_with_exponent(const void* data, std::int64_t count, Bits exponent) {
  std::atomic<std::int64_t> total = 0;
  const auto* bits = static_cast<const Bits*>(data);
  parallel_ranges(count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t found = 0;
    for (std::int64_t i = begin; i < end; ++i) found += (bits[i] & exponent) == exponent;
    total += found;
  });
  return total;
}

/// 0 for types that have no such elements.
inline std::int64_t count_not_finite(DType dtype, const void* data, std::int64_t count) {
  switch (dtype) {
    case DType::f32: return count_with_exponent<std::uint32_t>(data, count, 0x7f800000);
    case DType::f64: return count_with_exponent<std::uint64_t>(data, count, 0x7ff0000000000000);
    case DType::f16: return count_with_exponent<std::uint16_t>(data, count, 0x7c00);
    case DType::bf16: return count_with_exponent<std::uint16_t>(data, count, 0x7f80);
    default: return 0;
  }
}

}  // namespace reprise::kernels
