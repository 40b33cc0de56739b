// SPDX-License-Identifier: Apache-2.0
// Cross entropy of logits [outer, classes, inner] against labels [outer, inner], without storing the softmax.
#pragma once

#include "kernels/softmax.h"

namespace reprise::kernels {

/// Class numbers, i32 or i64.
struct Labels {
  const void* data = nullptr;
  bool wide = true;

  std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
};

struct CrossEntropy {
  AxisView view;
  double smoothing = 0;  // this share of the target is spread evenly over the classes
  std::int64_t ignore = std::numeric_limits<std::int64_t>::min();  // positions with this label count as zero
};

/// The first position whose label is neither a class nor ignored; -1 if there is none.
inline std::int64_t first_wrong_label(const CrossEntropy& p, Labels label) {
  for (std::int64_t i = 0; i < p.view.outer * p.view.inner; ++i)
    if ((label[i] < 0 || label[i] >= p.view.size) && label[i] != p.ignore) return i;
  return -1;
}

namespace detail {

// The position, in [outer, inner], of the line that begins at element `first`.
inline std::int64_t position_of(const AxisView& v, std::int64_t first) {
  return first / (v.size * v.inner) * v.inner + first % v.inner;
}

// The loss of one line, whose elements are `step` apart.
template <class T>
T position_loss(const CrossEntropy& p, const T* x, std::int64_t step, std::int64_t label, T log_sum) {
  if (label == p.ignore) return T(0);
  T loss = static_cast<T>(1 - p.smoothing) * (log_sum - x[label * step]);
  if (p.smoothing == 0) return loss;
  double sum = 0;
  for (std::int64_t k = 0; k < p.view.size; ++k) sum += x[k * step];
  return loss + static_cast<T>(p.smoothing) * (log_sum - static_cast<T>(sum / static_cast<double>(p.view.size)));
}

// dx = d (exp(x - log_sum) - even) for `count` lines side by side.
template <class T>
void softmax_minus(const AxisView& v, std::int64_t count, const T* x, const T* log_sum, const T* d, T even, T* dx) {
  for (std::int64_t k = 0; k < v.size; ++k) {
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j)
      dx[k * v.inner + j] = d[j] * (bounded_exp(x[k * v.inner + j] - log_sum[j]) - even);
  }
}

}  // namespace detail

/// loss and log_sum: per position, the loss and the logarithm of the sum of exp(x).
template <class T>
void cross_entropy(const CrossEntropy& p, const T* x, Labels label, T* loss, T* log_sum) {
  const AxisView& v = p.view;
  auto row = [=](std::int64_t first) {
    std::int64_t i = first / v.size;
    T peak = detail::row_peak(v.size, x + first);
    log_sum[i] = peak + detail::log_exp_sum_row(v.size, x + first, peak);
    loss[i] = detail::position_loss(p, x + first, 1, label[i], log_sum[i]);
  };
  auto block = [=](std::int64_t first, std::int64_t count) {
    detail::LogSums<T> s = detail::log_exp_sum_block(v.size, v.inner, count, x + first);
    for (std::int64_t j = 0, i = detail::position_of(v, first); j < count; ++j, ++i) {
      log_sum[i] = s.peak[j] + s.log_sum[j];
      loss[i] = detail::position_loss(p, x + first + j, v.inner, label[i], log_sum[i]);
    }
  };
  detail::softmax_lines<T>(v, row, block);
}

/// dx = dloss * (softmax(x) - target distribution)
template <class T>
void cross_entropy_grad(const CrossEntropy& p, const T* x, Labels label, const T* log_sum, const T* dloss, T* dx) {
  const AxisView& v = p.view;
  T even = static_cast<T>(p.smoothing / static_cast<double>(v.size)), hit = static_cast<T>(1 - p.smoothing);
  std::int64_t ignore = p.ignore;
  auto row = [=](std::int64_t first) {
    std::int64_t i = first / v.size, n = v.size;
    const T* from = x + first;
    T d = label[i] == ignore ? T(0) : dloss[i], total = log_sum[i], *to = dx + first;
#pragma omp simd
    for (std::int64_t k = 0; k < n; ++k) to[k] = d * (bounded_exp(from[k] - total) - even);
    if (label[i] != ignore) to[label[i]] -= d * hit;
  };
  auto block = [=](std::int64_t first, std::int64_t count) {
    std::int64_t i = detail::position_of(v, first);
    T d[detail::softmax_columns];
    for (std::int64_t j = 0; j < count; ++j) d[j] = label[i + j] == ignore ? T(0) : dloss[i + j];
    detail::softmax_minus(v, count, x + first, log_sum + i, d, even, dx + first);
    for (std::int64_t j = 0; j < count; ++j)
      if (label[i + j] != ignore) dx[first + label[i + j] * v.inner + j] -= d[j] * hit;
  };
  detail::softmax_lines<T>(v, row, block);
}

}  // namespace reprise::kernels
