// SPDX-License-Identifier: Apache-2.0
// Element-wise ops from a function of one or two numbers.
#pragma once

#include "kernels/parallel.h"
#include "kernels/strided.h"
#include "reprise/graph.h"
#include "tensor/dispatch.h"

namespace reprise {

constexpr std::int64_t elementwise_grain = 1 << 15;

/// y[i] = f(x[i]), for an input of any number type.
template <auto f>
Kernel map(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[n = s.out().elements()](const Buffers& b) {
      const T* x = b.in<T>();
      T* y = b.out<T>();
      kernels::parallel_ranges(n, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(f(x[i]));
      });
    }};
  });
}

/// z = f(x, y) with NumPy's broadcasting.
template <auto f>
Kernel zip(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Shape shape = s.out().shape;
    Shape xs = kernels::broadcast_strides(s.in(0).shape, shape), ys = kernels::broadcast_strides(s.in(1).shape, shape);
    return {[=, n = shape.elements()](const Buffers& b) {
      const T *x = b.in<T>(0), *y = b.in<T>(1);
      T* z = b.out<T>();
      kernels::parallel_ranges(n, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          z[i] = static_cast<T>(f(x[kernels::offset_of(i, shape, xs)], y[kernels::offset_of(i, shape, ys)]));
      });
    }};
  });
}

}  // namespace reprise
