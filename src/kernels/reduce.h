// SPDX-License-Identifier: Apache-2.0
// Reductions over any axes, in tiles that depend on the shape alone: the same bits on any number of threads. Within a
// tile a vector of partial results runs over a few hundred elements before it is merged into a wider type, so
// rounding errors grow with the size of a tile, not of the array.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "kernels/simd.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

/// Asks for so many elements from `x` on while others are still being worked on.
template <class T>
void fetch_ahead(const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 64 / static_cast<std::int64_t>(sizeof(T))) __builtin_prefetch(x + i);
}

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
  /// Partial results, of 8 bytes, that a reduction in tiles leaves in its scratch memory.
  std::int64_t partials() const { return tiles == 1 ? 0 : outputs * tiles; }
};

/// `axes` sorted.
Reduction plan_reduction(const Shape& shape, std::span<const int> axes);

namespace detail {

// Integers wrap around.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

template <class T>
using WideOf = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;

}  // namespace detail

// What is reduced: `step` in vectors of T, `merge` between partial results of type Acc.
template <class T>
struct Sum {
  using Acc = detail::WideOf<T>;
  static constexpr T identity = 0;
  template <class A>
  static A step(A a, A x) {
    return detail::wrapping(a, x, [](auto p, auto q) { return p + q; });
  }
};
template <class T>
struct Product {
  using Acc = detail::WideOf<T>;
  static constexpr T identity = 1;
  template <class A>
  static A step(A a, A x) {
    return detail::wrapping(a, x, [](auto p, auto q) { return p * q; });
  }
};
template <class T>
struct Largest {  // NaN wins
  using Acc = detail::WideOf<T>;
  static constexpr T identity =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  template <class A>
  static A step(A a, A x) {
    return x > a || x != x ? x : a;
  }
};
template <class T>
struct Smallest {  // NaN wins
  using Acc = detail::WideOf<T>;
  static constexpr T identity =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  template <class A>
  static A step(A a, A x) {
    return x < a || x != x ? x : a;
  }
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

/// A few rows of `width` columns, `stride` apart, into acc. `joined` short rows are taken as one.
template <class P, class T>
void merge_columns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t width, std::int64_t joined,
                   typename P::Acc* acc) {
  T lanes[Reduction::block];
  std::fill_n(lanes, width * joined, P::identity);
  reduce_columns<P>(x, rows / joined, stride * joined, width * joined, lanes);
  reduce_columns<P>(x + rows / joined * joined * stride, rows % joined, stride, width, lanes);
  for (std::int64_t k = 0; k < joined; ++k)
    for (std::int64_t j = 0; j < width; ++j) acc[j] = P::step(acc[j], typename P::Acc(lanes[k * width + j]));
}

}  // namespace detail

/// The reduction of f(0) ... f(count - 1) on one thread; to be called inside simd().
template <class P, class T, class F>
typename P::Acc reduce_over(std::int64_t count, F f) {
  typename P::Acc acc = P::identity;
  for (std::int64_t from = 0; from < count; from += Reduction::piece)
    acc = P::step(acc, detail::reduce_piece<P, T>(std::min(Reduction::piece, count - from),
                                                  [=](std::int64_t i) { return f(from + i); }));
  return acc;
}
template <class T, class F>
double sum_over(std::int64_t count, F f) {
  return reduce_over<Sum<T>, T>(count, f);
}

struct TwoSums {
  double first = 0, second = 0;
};

/// The sums of both elements of the pairs f(0) ... f(count - 1); to be called inside simd().
template <class T, class F>
TwoSums two_sums(std::int64_t count, F f) {
  constexpr int lanes = 16;
  TwoSums total;
  for (std::int64_t from = 0; from < count; from += Reduction::piece) {
    T first[lanes] = {}, second[lanes] = {};
    std::int64_t end = std::min(count, from + Reduction::piece), i = from;
    for (; i + lanes <= end; i += lanes) {
#pragma omp simd
      for (int l = 0; l < lanes; ++l) {
        auto [a, b] = f(i + l);
        first[l] += a, second[l] += b;
      }
    }
    for (int l = 0; i + l < end; ++l) {
      auto [a, b] = f(i + l);
      first[l] += a, second[l] += b;
    }
    for (int half = lanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) first[l] += first[l + half], second[l] += second[l + half];
    total.first += first[0], total.second += second[0];
  }
  return total;
}

/// The loops of one kind of reduction over one type of elements; Acc is double or std::int64_t.
template <class Acc>
struct Reducer {
  std::int64_t bytes = 0;  // of an element
  Acc identity = 0, divisor = 1;
  /// Of up to a piece of neighbours.
  Acc (*along)(const void* x, std::int64_t count) = nullptr;
  /// Column by column into acc.
  void (*across)(const void* x, std::int64_t rows, std::int64_t stride, std::int64_t width, std::int64_t joined,
                 Acc* acc) = nullptr;
  void (*merge)(const Acc* from, std::int64_t count, Acc* into) = nullptr;
  void (*store)(const Acc* from, std::int64_t count, Acc divisor, void* y) = nullptr;
};

template <class P, class T>
Reducer<typename P::Acc> reducer(typename P::Acc divisor = 1) {
  using Acc = typename P::Acc;
  return {
      .bytes = sizeof(T),
      .identity = Acc(P::identity),
      .divisor = divisor,
      .along =
          [](const void* x, std::int64_t count) {
            Acc result;
            simd_for<T>([=, to = &result, p = static_cast<const T*>(x)] {
              *to = detail::reduce_piece<P, T>(count, [=](std::int64_t i) { return p[i]; });
            });
            return result;
          },
      .across =
          [](const void* x, std::int64_t rows, std::int64_t stride, std::int64_t width, std::int64_t joined, Acc* acc) {
            simd_for<T>([=] { detail::merge_columns<P>(static_cast<const T*>(x), rows, stride, width, joined, acc); });
          },
      .merge =
          [](const Acc* from, std::int64_t count, Acc* into) {
            for (std::int64_t i = 0; i < count; ++i) into[i] = P::step(into[i], from[i]);
          },
      .store =
          [](const Acc* from, std::int64_t count, Acc by, void* y) {
            for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(y)[i] = static_cast<T>(from[i] / by);
          }};
}

/// y = the reduction of x, over the divisor; `partial` has room for r.partials() numbers.
template <class Acc>
void reduce(const Reduction& r, const Reducer<Acc>& by, const void* x, void* y, Acc* partial);

extern template void reduce(const Reduction&, const Reducer<double>&, const void*, void*, double*);
extern template void reduce(const Reduction&, const Reducer<std::int64_t>&, const void*, void*, std::int64_t*);

}  // namespace reprise::kernels
