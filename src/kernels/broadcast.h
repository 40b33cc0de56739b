// SPDX-License-Identifier: Apache-2.0
// Element-wise functions of several arrays with NumPy's broadcasting. Planning merges dimensions until what remains is
// rows: in each, an array is either read along or stays at one element. Same shapes are one row, a scalar stays, a row
// vector starts again with every row, a column stays within a row.
#pragma once

#include <array>

#include "kernels/elementwise.h"
#include "kernels/strided.h"

namespace reprise::kernels {

/// How N arrays are read to fill one of `elements`: `rows` rows of `length`.
template <int N>
struct Broadcast {
  std::int64_t elements = 0, rows = 1, length = 1;
  Shape outer;                         // dimensions of the rows
  std::array<Shape, N> outer_strides;  // of each array over `outer`
  std::array<bool, N> moves{};         // the array is read along a row; else it stays at one element
};

namespace detail {

// Dimension `axis` continues the inner dimension of `size` elements in every array.
template <int N>
bool continues(const std::array<Shape, N>& strides, int axis, const std::array<std::int64_t, N>& inner,
               std::int64_t size) {
  for (int k = 0; k < N; ++k)
    if (strides[static_cast<std::size_t>(k)][axis] != inner[static_cast<std::size_t>(k)] * size) return false;
  return true;
}

template <int N>
std::array<std::int64_t, N> column(const std::array<Shape, N>& strides, int axis) {
  std::array<std::int64_t, N> result;
  for (std::size_t k = 0; k < N; ++k) result[k] = strides[k][axis];
  return result;
}

}  // namespace detail

template <int N>
Broadcast<N> plan_broadcast(const std::array<Shape, N>& inputs, const Shape& out) {
  std::array<Shape, N> strides;
  for (std::size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(inputs[k], out);
  std::vector<std::pair<std::int64_t, std::array<std::int64_t, N>>> dims;  // merged, innermost first
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    if (out[axis] == 1) continue;
    if (!dims.empty() && detail::continues<N>(strides, axis, dims.back().second, dims.back().first))
      dims.back().first *= out[axis];
    else
      dims.emplace_back(out[axis], detail::column<N>(strides, axis));
  }
  Broadcast<N> plan{.elements = out.elements()};
  if (dims.empty()) return plan;
  plan.length = dims[0].first;
  for (std::size_t k = 0; k < N; ++k) plan.moves[k] = dims[0].second[k] != 0;
  for (std::size_t d = dims.size() - 1; d > 0; --d) {
    plan.rows *= dims[d].first;
    plan.outer.push_back(dims[d].first);
    for (std::size_t k = 0; k < N; ++k) plan.outer_strides[k].push_back(dims[d].second[k]);
  }
  return plan;
}

/// Calls f(offsets, out, length) on pieces of rows, on several threads: `offsets` of the arrays' first elements, `out`
/// the position of the output's. The pieces do not depend on the number of threads.
template <int N, class F>
void for_rows(const Broadcast<N>& plan, const F& f) {
  if (plan.elements == 0) return;
  constexpr std::int64_t piece = 1 << 14;
  std::int64_t pieces = (plan.length + piece - 1) / piece, most = std::min(plan.length, piece);
  parallel_ranges(plan.rows * pieces, std::max<std::int64_t>(1, elementwise_grain / most),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t task = begin; task < end; ++task) {
                      std::int64_t row = task / pieces, from = task % pieces * piece;
                      std::array<std::int64_t, N> offsets;
                      for (std::size_t k = 0; k < N; ++k)
                        offsets[k] = offset_of(row, plan.outer, plan.outer_strides[k]) + (plan.moves[k] ? from : 0);
                      f(offsets, row * plan.length + from, std::min(piece, plan.length - from));
                    }
                  });
}

/// z = f(x, y)
template <class T, class U, class F>
void zip(const Broadcast<2>& plan, const T* x, const T* y, U* z, F f) {
  for_rows(plan, [=, x_moves = plan.moves[0], y_moves = plan.moves[1]](std::array<std::int64_t, 2> at, std::int64_t out,
                                                                       std::int64_t length) {
    simd_for<T>([=, a = x + at[0], b = y + at[1], c = z + out] {
      if (x_moves && y_moves) {
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) c[i] = static_cast<U>(f(a[i], b[i]));
      } else if (x_moves) {
        T fixed = *b;
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) c[i] = static_cast<U>(f(a[i], fixed));
      } else {
        T fixed = *a;
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) c[i] = static_cast<U>(f(fixed, y_moves ? b[i] : *b));
      }
    });
  });
}

/// w = f(x, y, z)
template <class A, class B, class U, class F>
void zip(const Broadcast<3>& plan, const A* x, const B* y, const B* z, U* w, F f) {
  std::array<bool, 3> moves = plan.moves;
  for_rows(plan, [=](std::array<std::int64_t, 3> at, std::int64_t out, std::int64_t length) {
    simd_for<B>([=, a = x + at[0], b = y + at[1], c = z + at[2], d = w + out] {
      if (moves[0] && moves[1] && moves[2]) {
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) d[i] = static_cast<U>(f(a[i], b[i], c[i]));
      } else if (moves[0] && moves[1]) {
        B last = *c;
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) d[i] = static_cast<U>(f(a[i], b[i], last));
      } else if (moves[0] && moves[2]) {
        B middle = *b;
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) d[i] = static_cast<U>(f(a[i], middle, c[i]));
      } else if (moves[0]) {
        B middle = *b, last = *c;
#pragma omp simd
        for (std::int64_t i = 0; i < length; ++i) d[i] = static_cast<U>(f(a[i], middle, last));
      } else {
        std::int64_t i_step = moves[0], j_step = moves[1], k_step = moves[2];
        for (std::int64_t i = 0; i < length; ++i) d[i] = static_cast<U>(f(a[i * i_step], b[i * j_step], c[i * k_step]));
      }
    });
  });
}

}  // namespace reprise::kernels
