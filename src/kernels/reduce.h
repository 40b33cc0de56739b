// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes, in tiles that depend on the shape alone: the same bits on any number of threads. Within a
// tile a vector of partial results runs over a few hundred elements before it is merged into a wider type, so
// rounding errors grow with the size of a tile, not of the array.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/strided.h"

namespace reprise::kernels {

/// How an array is reduced. Dimensions of one kind that follow each other are merged. Where the innermost one is
/// reduced a task is one output and a unit a piece of a row; else a task is a block of columns and a unit a row.
struct Reduction {
  static constexpr std::int64_t piece = 512, block = 1024;

  std::int64_t outputs = 1, count = 1;  // elements that remain; elements that each is made of
  bool along_rows = true;               // the innermost dimension is reduced
  std::int64_t inner = 1;               // its size
  std::int64_t rows = 1;                // of columns: the dimension that is reduced next to them
  Shape kept, kept_strides;             // the remaining dimensions
  Shape reduced, reduced_strides;       // the reduced ones but `inner` and `rows`
  std::int64_t tasks = 1, units = 1, tiles = 1, units_per_tile = 1;

  std::int64_t pieces() const { return (inner + piece - 1) / piece; }  // of a row
  std::int64_t blocks() const { return (inner + block - 1) / block; }  // of the columns
  /// Partial results a reduction in tiles leaves in its scratch memory.
  std::int64_t partials() const { return tiles == 1 ? 0 : outputs * tiles; }
};

/// `axes` sorted.
Reduction plan_reduction(const Shape& shape, std::span<const int> axes);

// What is reduced: `step` in vectors of T, `merge` between partial results of type Acc.
template <class T>
struct Sum {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  static constexpr T identity = 0;
  static T step(T a, T x) { return static_cast<T>(a + x); }
  static Acc merge(Acc a, Acc b) { return a + b; }
};
template <class T>
struct Product {
  using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  static constexpr T identity = 1;
  static T step(T a, T x) { return static_cast<T>(a * x); }
  static Acc merge(Acc a, Acc b) { return a * b; }
};
template <class T>
struct Largest {  // NaN wins
  using Acc = T;
  static constexpr T identity =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static T step(T a, T x) { return x > a || x != x ? x : a; }
  static Acc merge(Acc a, Acc b) { return step(a, b); }
};
template <class T>
struct Smallest {  // NaN wins
  using Acc = T;
  static constexpr T identity =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  static T step(T a, T x) { return x < a || x != x ? x : a; }
  static Acc merge(Acc a, Acc b) { return step(a, b); }
};

namespace detail {

/// The reduction of f(0) ... f(count - 1), for a few hundred of them.
template <class P, class T, class F>
typename P::Acc reduce_piece(std::int64_t count, F f) {
  constexpr int lanes = 32;
  T lane[lanes];
  for (T& l : lane) l = P::identity;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) lane[l] = P::step(lane[l], f(i + l));
  }
  for (int l = 0; i + l < count; ++l) lane[l] = P::step(lane[l], f(i + l));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] = P::step(lane[l], lane[l + half]);
  return lane[0];
}

/// lanes[j] takes in column j of `rows` rows.
template <class P, class T>
void reduce_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, T* lanes) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const T *a = x + r * stride, *b = a + stride, *c = b + stride, *d = c + stride;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j)
      lanes[j] = P::step(P::step(P::step(P::step(lanes[j], a[j]), b[j]), c[j]), d[j]);
  }
  for (; r < rows; ++r) {
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) lanes[j] = P::step(lanes[j], x[r * stride + j]);
  }
}

/// Units begin..end of one output, whose first element is x.
template <class P, class T>
typename P::Acc row_tile(const Reduction& r, const T* x, std::int64_t begin, std::int64_t end) {
  typename P::Acc acc = P::identity;
  for (std::int64_t unit = begin; unit < end; ++unit) {
    std::int64_t from = unit % r.pieces() * Reduction::piece;
    const T* row = x + offset_of(unit / r.pieces(), r.reduced, r.reduced_strides);
    acc = P::merge(acc, reduce_piece<P, T>(std::min(Reduction::piece, r.inner - from),
                                           [p = row + from](std::int64_t i) { return p[i]; }));
  }
  return acc;
}

/// Rows begin..end of `width` columns, the first of which begins at x, into acc. A few short rows are taken as one.
template <class P, class T>
void column_tile(const Reduction& r, const T* x, std::int64_t width, std::int64_t begin, std::int64_t end,
                 typename P::Acc* acc) {
  T lanes[Reduction::block];
  std::fill_n(acc, width, typename P::Acc(P::identity));
  std::int64_t joined = r.inner <= 32 ? 64 / r.inner : 1;
  for (std::int64_t row = begin; row < end;) {
    std::int64_t at = row % r.rows, take = std::min({end - row, r.rows - at, 32 * joined});
    const T* first = x + offset_of(row / r.rows, r.reduced, r.reduced_strides) + at * r.inner;
    std::fill_n(lanes, width * joined, P::identity);
    reduce_columns<P>(first, take / joined, r.inner * joined, width * joined, lanes);
    reduce_columns<P>(first + take / joined * joined * r.inner, take % joined, r.inner, width, lanes);
    for (std::int64_t k = 0; k < joined; ++k)
      for (std::int64_t j = 0; j < width; ++j) acc[j] = P::merge(acc[j], typename P::Acc(lanes[k * width + j]));
    row += take;
  }
}

/// One tile of one task: calls emit(output, value) for each output it covers.
template <class P, class T, class Emit>
void reduce_tile(const Reduction& r, const T* x, std::int64_t task, std::int64_t tile, const Emit& emit) {
  std::int64_t begin = tile * r.units_per_tile, end = std::min(r.units, begin + r.units_per_tile);
  if (r.along_rows) return emit(task, row_tile<P>(r, x + offset_of(task, r.kept, r.kept_strides), begin, end));
  std::int64_t group = task / r.blocks(), from = task % r.blocks() * Reduction::block;
  std::int64_t width = std::min(Reduction::block, r.inner - from);
  typename P::Acc acc[Reduction::block];
  column_tile<P>(r, x + offset_of(group, r.kept, r.kept_strides) + from, width, begin, end, acc);
  for (std::int64_t j = 0; j < width; ++j) emit(group * r.inner + from + j, acc[j]);
}

}  // namespace detail

/// The reduction of f(0) ... f(count - 1) on one thread; to be called inside simd().
template <class P, class T, class F>
typename P::Acc reduce_over(std::int64_t count, F f) {
  typename P::Acc acc = P::identity;
  for (std::int64_t from = 0; from < count; from += Reduction::piece)
    acc = P::merge(acc, detail::reduce_piece<P, T>(std::min(Reduction::piece, count - from),
                                                   [=](std::int64_t i) { return f(from + i); }));
  return acc;
}
template <class T, class F>
double sum_over(std::int64_t count, F f) {
  return reduce_over<Sum<T>, T>(count, f);
}

/// y = finish(reduction of x); `partial` has room for r.partials() numbers.
template <class P, class T, class Finish>
void reduce(const Reduction& r, const T* x, T* y, typename P::Acc* partial, Finish finish) {
  if (r.outputs == 0) return;
  std::int64_t work = std::max<std::int64_t>(1, r.count * r.outputs / (r.tasks * r.tiles));
  parallel_ranges(r.tasks * r.tiles, elementwise_grain / work + 1, [=, &r](std::int64_t begin, std::int64_t end) {
    simd_for<T>([=, plan = &r] {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t task = i / plan->tiles, tile = i % plan->tiles;
        detail::reduce_tile<P>(*plan, x, task, tile, [=](std::int64_t output, typename P::Acc value) {
          if (plan->tiles == 1)
            y[output] = static_cast<T>(finish(value));
          else
            partial[output * plan->tiles + tile] = value;
        });
      }
    });
  });
  if (r.tiles == 1) return;
  for (std::int64_t o = 0; o < r.outputs; ++o) {
    typename P::Acc acc = partial[o * r.tiles];
    for (std::int64_t t = 1; t < r.tiles; ++t) acc = P::merge(acc, partial[o * r.tiles + t]);
    y[o] = static_cast<T>(finish(acc));
  }
}

}  // namespace reprise::kernels
