// SPDX-License-Identifier: Apache-2.0
// Cross entropy of logits [outer, classes, inner] against labels [outer, inner], without storing the softmax.
#pragma once

#include "kernels/softmax.h"

namespace reprise::kernels {

struct CrossEntropy {
  AxisView view;
  double smoothing = 0;  // this share of the target is spread evenly over the classes
  std::int64_t ignore = std::numeric_limits<std::int64_t>::min();  // positions with this label count as zero
};

/// The first position whose label is neither a class nor ignored; -1 if there is none.
template <class Label>
std::int64_t first_wrong_label(const CrossEntropy& p, const Label* label) {
  for (std::int64_t i = 0; i < p.view.outer * p.view.inner; ++i)
    if ((label[i] < 0 || label[i] >= p.view.size) && label[i] != p.ignore) return i;
  return -1;
}

namespace detail {

// Calls f(position, first element) for each position.
template <class F>
void for_positions(const AxisView& v, const F& f) {
  parallel_ranges(v.outer * v.inner, elementwise_grain / (v.size + 1) + 1, [=](std::int64_t begin, std::int64_t end) {
    simd([=] {
      for (std::int64_t i = begin; i < end; ++i) f(i, i / v.inner * v.size * v.inner + i % v.inner);
    });
  });
}

template <class T, class At>
T log_sum_exp(std::int64_t n, At at) {
  T largest = reduce_over<Largest<T>, T>(n, at);
  double sum = sum_over<T>(n, [=](std::int64_t k) { return exp(at(k) - largest); });
  return static_cast<T>(static_cast<double>(largest) + std::log(sum));
}

}  // namespace detail

/// loss and log_sum: per position, the loss and the logarithm of the sum of exp(x).
template <class T, class Label>
void cross_entropy(const CrossEntropy& p, const T* x, const Label* label, T* loss, T* log_sum) {
  detail::for_positions(p.view, [=, step = p.view.inner](std::int64_t i, std::int64_t first) {
    const T* row = x + first;
    std::int64_t n = p.view.size;
    T total = step == 1 ? detail::log_sum_exp<T>(n, [=](std::int64_t k) { return row[k]; })
                        : detail::log_sum_exp<T>(n, [=](std::int64_t k) { return row[k * step]; });
    log_sum[i] = total;
    if (label[i] == p.ignore) {
      loss[i] = T(0);
      return;
    }
    loss[i] = static_cast<T>(1 - p.smoothing) * (total - row[label[i] * step]);
    if (p.smoothing == 0) return;
    double mean = sum_over<T>(n, [=](std::int64_t k) { return row[k * step]; }) / static_cast<double>(n);
    loss[i] += static_cast<T>(p.smoothing) * (total - static_cast<T>(mean));
  });
}

/// dx = dloss * (softmax(x) - target distribution)
template <class T, class Label>
void cross_entropy_grad(const CrossEntropy& p, const T* x, const Label* label, const T* log_sum, const T* dloss,
                        T* dx) {
  detail::for_positions(p.view, [=, step = p.view.inner](std::int64_t i, std::int64_t first) {
    T d = label[i] == p.ignore ? T(0) : dloss[i], total = log_sum[i];
    T even = static_cast<T>(p.smoothing / static_cast<double>(p.view.size));
    const T* row = x + first;
    T* out = dx + first;
    if (step == 1) {
#pragma omp simd
      for (std::int64_t k = 0; k < p.view.size; ++k) out[k] = d * (exp(row[k] - total) - even);
    } else {
      for (std::int64_t k = 0; k < p.view.size; ++k) out[k * step] = d * (exp(row[k * step] - total) - even);
    }
    if (label[i] != p.ignore) out[label[i] * step] -= d * static_cast<T>(1 - p.smoothing);
  });
}

}  // namespace reprise::kernels
