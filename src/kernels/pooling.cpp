// SPDX-License-Identifier: Apache-2.0
#include "kernels/pooling.h"

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"

namespace reprise::kernels {
namespace {

using Range = PoolAxis::Range;

// Calls f(plane) for every plane, on several threads once there is enough to do.
template <class F>
void for_planes(const Pooling& p, const F& f) {
  std::int64_t work = std::max<std::int64_t>(1, p.in_size() + p.out_size());
  parallel_ranges(p.planes, 1 + 30'000 / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) f(plane);
  });
}

// Calls f(output position, window) for every window of a plane.
template <class F>
void for_windows(const Pooling& p, const F& f) {
  std::int64_t at = 0;
  for (const Range& d : p.axes[0].windows)
    for (const Range& h : p.axes[1].windows)
      for (const Range& w : p.axes[2].windows) f(at++, d, h, w);
}

// Calls f(offset) for every element of a window, in row-major order.
template <class F>
void for_elements(const Pooling& p, const Range& d, const Range& h, const Range& w, const F& f) {
  for (std::int64_t i = d.begin; i < d.end; i += p.axes[0].step)
    for (std::int64_t j = h.begin; j < h.end; j += p.axes[1].step) {
      std::int64_t row = (i * p.axes[1].size + j) * p.axes[2].size;
      for (std::int64_t k = w.begin; k < w.end; k += p.axes[2].step) f(row + k);
    }
}

template <class T>
std::int64_t first_largest(const Pooling& p, const T* x, const Range& d, const Range& h, const Range& w) {
  std::int64_t best = (d.begin * p.axes[1].size + h.begin) * p.axes[2].size + w.begin;
  for_elements(p, d, h, w, [&](std::int64_t at) {
    if (x[at] > x[best] || (std::isnan(x[at]) && !std::isnan(x[best]))) best = at;
  });
  return best;
}

template <class T>
T larger(T a, T b) {
  return (b > a) | (b != b) ? b : a;  // NaN stays
}

// Windows are combined row by row first, in vectors, then along the row. Rows longer than this go the plain way.
constexpr std::int64_t longest_row = 4096;

// The rows of a window combined into one.
template <class T, class Combine>
void combine_rows(const Pooling& p, const T* in, const Range& d, const Range& h, T* row, Combine combine) {
  std::int64_t width = p.axes[2].size;
  bool first = true;
  for (std::int64_t i = d.begin; i < d.end; i += p.axes[0].step)
    for (std::int64_t j = h.begin; j < h.end; j += p.axes[1].step, first = false) {
      const T* from = in + (i * p.axes[1].size + j) * width;
      if (first) std::copy_n(from, width, row);
#pragma omp simd
      for (std::int64_t k = first ? width : 0; k < width; ++k) row[k] = combine(row[k], from[k]);
    }
}

// Calls write(position, combined elements, depth window, row window, column window) for every window of every plane.
template <class T, class Combine, class Write>
void pool_rows(const Pooling& p, const T* x, T* y, Combine combine, Write write) {
  for_planes(p, [&](std::int64_t plane) {
    T row[longest_row];
    T* to = y + plane * p.out_size();
    for (const Range& d : p.axes[0].windows)
      for (const Range& h : p.axes[1].windows) {
        combine_rows(p, x + plane * p.in_size(), d, h, row, combine);
        for (const Range& w : p.axes[2].windows) {
          T value = row[w.begin];
          for (std::int64_t k = w.begin + p.axes[2].step; k < w.end; k += p.axes[2].step)
            value = combine(value, row[k]);
          *to++ = write(value, d, h, w);
        }
      }
  });
}

}  // namespace

template <class T>
void max_pool(const Pooling& p, const T* x, T* y) {
  if (p.axes[2].size > longest_row) return max_pool_gather(p, x, x, y);
  pool_rows(
      p, x, y, [](T a, T b) { return larger(a, b); },
      [](T value, const Range&, const Range&, const Range&) { return value; });
}

template <class T>
void max_pool_scatter(const Pooling& p, const T* x, const T* dy, T* dx) {
  for_planes(p, [&](std::int64_t plane) {
    const T *in = x + plane * p.in_size(), *from = dy + plane * p.out_size();
    T* to = dx + plane * p.in_size();
    std::fill_n(to, p.in_size(), T(0));
    for_windows(p, [&](std::int64_t at, const Range& d, const Range& h, const Range& w) {
      to[first_largest(p, in, d, h, w)] += from[at];
    });
  });
}

template <class T>
void max_pool_gather(const Pooling& p, const T* x, const T* values, T* y) {
  for_planes(p, [&](std::int64_t plane) {
    const T *in = x + plane * p.in_size(), *from = values + plane * p.in_size();
    T* to = y + plane * p.out_size();
    for_windows(p, [&](std::int64_t at, const Range& d, const Range& h, const Range& w) {
      to[at] = from[first_largest(p, in, d, h, w)];
    });
  });
}

template <class T>
void mean_pool(const Pooling& p, const T* x, T* y) {
  auto weight = [](const Range& d, const Range& h, const Range& w) {
    return static_cast<T>(d.weight * h.weight * w.weight);
  };
  if (p.axes[2].size <= longest_row)
    return pool_rows(
        p, x, y, [](T a, T b) { return a + b; },
        [&](T sum, const Range& d, const Range& h, const Range& w) { return sum * weight(d, h, w); });
  for_planes(p, [&](std::int64_t plane) {
    const T* in = x + plane * p.in_size();
    T* to = y + plane * p.out_size();
    for_windows(p, [&](std::int64_t at, const Range& d, const Range& h, const Range& w) {
      T sum = 0;
      for_elements(p, d, h, w, [&](std::int64_t i) { sum += in[i]; });
      to[at] = sum * weight(d, h, w);
    });
  });
}

template <class T>
void mean_pool_adjoint(const Pooling& p, const T* dy, T* dx) {
  for_planes(p, [&](std::int64_t plane) {
    const T* from = dy + plane * p.out_size();
    T* to = dx + plane * p.in_size();
    std::fill_n(to, p.in_size(), T(0));
    for_windows(p, [&](std::int64_t at, const Range& d, const Range& h, const Range& w) {
      T share = from[at] * static_cast<T>(d.weight * h.weight * w.weight);
      for_elements(p, d, h, w, [&](std::int64_t i) { to[i] += share; });
    });
  });
}

template void max_pool(const Pooling&, const float*, float*);
template void max_pool(const Pooling&, const double*, double*);
template void max_pool_scatter(const Pooling&, const float*, const float*, float*);
template void max_pool_scatter(const Pooling&, const double*, const double*, double*);
template void max_pool_gather(const Pooling&, const float*, const float*, float*);
template void max_pool_gather(const Pooling&, const double*, const double*, double*);
template void mean_pool(const Pooling&, const float*, float*);
template void mean_pool(const Pooling&, const double*, double*);
template void mean_pool_adjoint(const Pooling&, const float*, float*);
template void mean_pool_adjoint(const Pooling&, const double*, double*);

}  // namespace reprise::kernels
