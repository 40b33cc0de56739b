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

// Lines that lie in memory one after the other.

template <class T>
void softmax_row(std::int64_t n, const T* x, T* y) {
  T largest = reduce_over<Largest<T>, T>(n, [=](std::int64_t i) { return x[i]; });
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = exp(x[i] - largest);
  T scale = static_cast<T>(1 / sum_over<T>(n, [=](std::int64_t i) { return y[i]; }));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void log_softmax_row(std::int64_t n, const T* x, T* y) {
  T largest = reduce_over<Largest<T>, T>(n, [=](std::int64_t i) { return x[i]; });
  T log_sum = static_cast<T>(std::log(sum_over<T>(n, [=](std::int64_t i) { return exp(x[i] - largest); })));
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - largest) - log_sum;
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
  for (std::int64_t i = 0; i < n; ++i) dx[i] = dy[i] - exp(y[i]) * total;
}

// `count` lines side by side, `step` elements from one row of them to the next.

template <class T>
void softmax_block(std::int64_t n, std::int64_t step, std::int64_t count, const T* x, T* y, bool logarithm) {
  T largest[softmax_columns];
  double total[softmax_columns] = {};
  std::fill_n(largest, count, Largest<T>::identity);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t j = 0; j < count; ++j) largest[j] = Largest<T>::step(largest[j], x[k * step + j]);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) total[j] += exp(x[k * step + j] - largest[j]);
  }
  T last[softmax_columns];
  for (std::int64_t j = 0; j < count; ++j) last[j] = static_cast<T>(logarithm ? std::log(total[j]) : 1 / total[j]);
  for (std::int64_t k = 0; k < n; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      T shifted = x[k * step + j] - largest[j];
      y[k * step + j] = logarithm ? shifted - last[j] : exp(shifted) * last[j];
    }
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
      dx[i] = logarithm ? dy[i] - exp(y[i]) * sum[j] : y[i] * (dy[i] - sum[j]);
    }
  }
}

// Calls row(first) for each line, or block(first, count) for lines side by side.
template <class Row, class Block>
void softmax_lines(const AxisView& v, const Row& row, const Block& block) {
  for_lines(v, v.inner == 1 ? 1 : softmax_columns, [=](std::int64_t first, std::int64_t count) {
    simd([=] {
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
  detail::softmax_lines(
      v, [=](std::int64_t at) { detail::softmax_row(v.size, x + at, y + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_block(v.size, v.inner, count, x + at, y + at, false);
      });
}

template <class T>
void log_softmax(const AxisView& v, const T* x, T* y) {
  detail::softmax_lines(
      v, [=](std::int64_t at) { detail::log_softmax_row(v.size, x + at, y + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_block(v.size, v.inner, count, x + at, y + at, true);
      });
}

/// dx = y (dy - sum(y dy))
template <class T>
void softmax_grad(const AxisView& v, const T* y, const T* dy, T* dx) {
  detail::softmax_lines(
      v, [=](std::int64_t at) { detail::softmax_grad_row(v.size, y + at, dy + at, dx + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_grad_block(v.size, v.inner, count, y + at, dy + at, dx + at, false);
      });
}

/// dx = dy - exp(y) sum(dy)
template <class T>
void log_softmax_grad(const AxisView& v, const T* y, const T* dy, T* dx) {
  detail::softmax_lines(
      v, [=](std::int64_t at) { detail::log_softmax_grad_row(v.size, y + at, dy + at, dx + at); },
      [=](std::int64_t at, std::int64_t count) {
        detail::softmax_grad_block(v.size, v.inner, count, y + at, dy + at, dx + at, true);
      });
}

}  // namespace reprise::kernels
