// SPDX-License-Identifier: Apache-2.0
// Kernels of ops that are one strided copy.
#pragma once

#include "kernels/copy.h"
#include "reprise/graph.h"

namespace reprise {

/// Reads input 0 from element `offset` on, with `strides`, as output 0.
inline Kernel read_strided(const Signature& s, std::int64_t offset, const Shape& strides) {
  std::int64_t width = size_of(s.out().dtype);
  kernels::StridedCopy copy(width, s.out().shape, strides, s.out().shape.strides());
  return {[copy, skip = offset * width](const Buffers& b) { copy.run(b.in<std::byte>() + skip, b.out<std::byte>()); }};
}

/// Writes input 0 into zeros, from element `offset` of output 0 on, with `strides`.
inline Kernel write_strided(const Signature& s, std::int64_t offset, const Shape& strides) {
  std::int64_t width = size_of(s.out().dtype);
  kernels::StridedCopy copy(width, s.in().shape, s.in().shape.strides(), strides);
  return {[copy, skip = offset * width, bytes = s.out().bytes()](const Buffers& b) {
    kernels::fill_zero(b.out<std::byte>(), bytes);
    copy.run(b.in<std::byte>(), b.out<std::byte>() + skip);
  }};
}

}  // namespace reprise
