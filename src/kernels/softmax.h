// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along one axis, forward and backward. The largest element is subtracted first, so nothing
// overflows. Outputs may be written over inputs.
#pragma once

#include "kernels/axis.h"
#include "kernels/math.h"
#include "kernels/reduce.h"

namespace reprise::kernels {

namespace detail {

constexpr std::int64_t softmax_columns = 64;

// The largest element, but NaN is left for the sum of exponentials to show.
template <class T>
struct Peak {
  using Acc = T;
  static constexpr T identity = -std::numeric_limits<T>::infinity();
  static T step(T a, T x) { return x > a ? x : a; }
};

// Lines that lie in memory one after the other.

template <class T>
T row_peak(std::int64_t n, const T* x) {
  return reduce_over<Peak<T>, T>(n, [=](std::int64_t i) { return x[i]; });
}

template <class T>
void softmax_row(std::int64_t n, const T* x, T* y) {
  T peak = row_peak(n, x);
  T scale = static_cast<T>(1 / sum_over<T>(n, [=](std::int64_t i) { return y[i] = bounded_exp(x[i] - peak); }));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
}

/// The sum of exp(x - peak), as its logarithm.
template <class T>
T log_exp_sum_row(std::int64_t n, const T* x, T peak) {
  return static_cast<T>(std::log(sum_over<T>(n, [=](std::int64_t i) { return bounded_exp(x[i] - peak); })));
}

template <class T>
void log_softmax_row(std::int64_t n, const T* x, T* y) {
  T peak = row_peak(n, x), log_sum = log_exp_sum_row(n, x, peak);
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - peak) - log_sum;
}

template <class T>
void softmax_grad_row(std::int64_t n, const T* y, const T* dy, T* dx) {
  T dot = static_cast<T>(sum_over<T>(n, [=](std::int64_t i) { return y[i] * dy[i]; }));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

template <class T>
void log_softmax_grad_row(std::int64_t n, const T* y, const T* dy, T* dx) {
  T total = static_cast<T>(sum_over<T>(n, [=](std::int64_t i) { return dy[i]; }));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - bounded_exp(y[i]) * total;
}

// `count` lines side by side, `step` elements from one row of them to the next.

/// Each line's peak and the logarithm of its sum of exp(x - peak).
template <class T>
struct LogSums {
  T peak[softmax_columns], log_sum[softmax_columns];
};

template <class T>
LogSums<T> log_exp_sum_block(std::int64_t n, std::int64_t step, std::int64_t count, const T* x) {
  LogSums<T> result;
  T* peak = result.peak;
  double total[softmax_columns] = {};
  std::fill_n(peak, count, Peak<T>::identity);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) peak[j] = Peak<T>::step(peak[j], x[k * step + j]);
  }
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) total[j] += bounded_exp(x[k * step + j] - peak[j]);
  }
  for (std::int64_t j = 0; j < count; ++j) result.log_sum[j] = static_cast<T>(std::log(total[j]));
  return result;
}

template <class T>
void log_softmax_block(std::int64_t n, std::int64_t step, std::int64_t count, const T* x, T* y) {
  LogSums<T> s = log_exp_sum_block(n, step, count, x);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) y[k * step + j] = (x[k * step + j] - s.peak[j]) - s.log_sum[j];
  }
}

template <class T>
void softmax_block(std::int64_t n, std::int64_t step, std::int64_t count, const T* x, T* y) {
  log_softmax_block(n, step, count, x, y);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) y[k * step + j] = bounded_exp(y[k * step + j]);
  }
}

template <class T>
void softmax_grad_block(std::int64_t n, std::int64_t step, std::int64_t count, const T* y, const T* dy, T* dx,
                        bool logarithm) {
  double total[softmax_columns] = {};
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t i = k * step + j;
      total[j] += logarithm ? dy[i] : y[i] * dy[i];
    }
  }
  T sum[softmax_columns];
  for (std::int64_t j = 0; j < count; ++j) sum[j] = static_cast<T>(total[j]);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      std::int64_t i = k * step + j;
      dx[i] = logarithm ? dy[i] - bounded_exp(y[i]) * sum[j] : y[i] * (dy[i] - sum[j]);
    }
  }
}

// Calls row(first) for each line, or block(first, count) for lines side by side.
template <class T, class Row, class Block>
void softmax_lines(const AxisView& v, const Row& row, const Block& block) {
  for_lines(v, v.inner == 1 ? 1 : softmax_columns, [=](std::int64_t first, std::int64_t count) {
    simd_for<T>([=] {
      if (v.inner == 1)
        row(first);
      else
        block(first, count);
    });
  });
}

}  // namespace detail

template <class T>
void softmax(const AxisView& v, const T* x, T* y) {
  detail::softmax_lines<T>(
      v, [=](std::int64_t at) { detail::softmax_row(v.size, x + at, y + at); },
      [=](std::int64_t at, std::int64_t count) { detail::softmax_block(v.size, v.inner, count, x + at, y + at); });
}

template <class T>
void log_softmax(const AxisView& v, const T* x, T* y) {
  detail::softmax_lines<T>(
      v, [=](std::int64_t at) { detail::log_softmax_row(v.size, x + at, y + at); },
      [=](std::int64_t at, std::int64_t count) { detail::log_softmax_block(v.size, v.inner, count, x + at, y + at); });
}

/// dx = y (dy - sum(y dy))
template <class T>
void softmax_grad(const AxisView& v, const T* y, const T* dy, T* dx) {
  detail::softmax_lines<T>(
      v, [=](std::int64_t at) { detail::softmax_grad_row(v.size, y + at, dy + at, dx + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_grad_block(v.size, v.inner, count, y + at, dy + at, dx + at, false);
      });
}

/// dx = dy - exp(y) sum(dy)
template <class T>
void log_softmax_grad(const AxisView& v, const T* y, const T* dy, T* dx) {
  detail::softmax_lines<T>(
      v, [=](std::int64_t at) { detail::log_softmax_grad_row(v.size, y + at, dy + at, dx + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_grad_block(v.size, v.inner, count, y + at, dy + at, dx + at, true);
      });
}

}  // namespace reprise::kernels
