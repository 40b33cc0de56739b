// SPDX-License-Identifier: Apache-2.0
// Kernels along one axis of an array seen as [outer, size, inner]: cumulative sums, the position of an extreme, and
// products of all elements but one.
#pragma once

#include "kernels/elementwise.h"
#include "kernels/parallel.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

/// An array as [outer, size, inner], `size` along one axis.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};

inline AxisView axis_view(const Shape& shape, int axis) {
  AxisView v{.size = shape[axis]};
  for (int i = 0; i < axis; ++i) v.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) v.inner *= shape[i];
  return v;
}

/// Calls f(first, count): `count` neighbouring lines along the axis, the first of which begins at element `first`.
/// Lines of up to `most` columns go together, so that the loop over them runs along memory.
template <class F>
void for_lines(const AxisView& v, std::int64_t most, const F& f) {
  std::int64_t blocks = (v.inner + most - 1) / most, width = std::min(most, std::max<std::int64_t>(1, v.inner));
  std::int64_t work = std::max<std::int64_t>(1, v.size * width);
  parallel_ranges(v.outer * blocks, elementwise_grain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t from = i % blocks * most;
      f(i / blocks * v.size * v.inner + from, std::min(most, v.inner - from));
    }
  });
}

struct ScanOptions {
  bool exclusive = false;  // leave out the element itself
  bool reverse = false;    // from the last to the first
};

/// y: sums of x along the axis up to each element.
template <class T>
void cumsum(const AxisView& v, ScanOptions options, const T* x, T* y) {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, T>;
  constexpr std::int64_t most = 64;
  for_lines(v, most, [=](std::int64_t first, std::int64_t count) {
    Acc sum[most] = {};
    for (std::int64_t k = 0; k < v.size; ++k) {
      std::int64_t at = first + (options.reverse ? v.size - 1 - k : k) * v.inner;
      for (std::int64_t j = 0; j < count; ++j) {
        Acc next = sum[j] + static_cast<Acc>(x[at + j]);
        y[at + j] = static_cast<T>(options.exclusive ? sum[j] : next);
        sum[j] = next;
      }
    }
  });
}

/// y[outer, inner]: where along the axis the best element stands; the first of equals. better(a, b): a beats b.
template <class T, class Better>
void position_of_best(const AxisView& v, const T* x, std::int64_t* y, Better better) {
  constexpr std::int64_t most = 64;
  for_lines(v, most, [=](std::int64_t first, std::int64_t count) {
    T best[most];
    std::int64_t* out = y + first / (v.size * v.inner) * v.inner + first % v.inner;
    for (std::int64_t j = 0; j < count; ++j) best[j] = x[first + j], out[j] = 0;
    for (std::int64_t k = 1; k < v.size; ++k)
      for (std::int64_t j = 0; j < count; ++j)
        if (T next = x[first + k * v.inner + j]; better(next, best[j])) best[j] = next, out[j] = k;
  });
}

/// y: for each element the product of all others along the axis, right where some are zero.
template <class T>
void product_of_others(const AxisView& v, const T* x, T* y) {
  constexpr std::int64_t most = 64;
  for_lines(v, most, [=](std::int64_t first, std::int64_t count) {
    T before[most], after[most];
    std::fill_n(before, most, T(1)), std::fill_n(after, most, T(1));
    for (std::int64_t k = 0; k < v.size; ++k)
      for (std::int64_t j = 0; j < count; ++j) {
        y[first + k * v.inner + j] = before[j];
        before[j] *= x[first + k * v.inner + j];
      }
    for (std::int64_t k = v.size - 1; k >= 0; --k)
      for (std::int64_t j = 0; j < count; ++j) {
        y[first + k * v.inner + j] *= after[j];
        after[j] *= x[first + k * v.inner + j];
      }
  });
}

}  // namespace reprise::kernels
