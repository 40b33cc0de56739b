// SPDX-License-Identifier: Apache-2.0
// Batch norm over [batch, channels, length]: every channel is normalised over batch and length, in three sweeps, for
// its mean, its variance and the result, while it is in the cache. With a length of 1 the channels lie side by side and
// go through in blocks, so that loops run along memory. What is rounded to f32, and when, is as in PyTorch: where a
// rectifier follows, one last bit on the other side of 0 shows in the gradients of all layers before it.
#pragma once

#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/reduce.h"

namespace reprise::kernels {

struct BatchNorm {
  std::int64_t batch = 1, channels = 1, length = 1;
  double epsilon = 1e-5;

  std::int64_t count() const { return batch * length; }  // elements of a channel
};

namespace detail {

constexpr std::int64_t batch_norm_block = 64;

/// The sum of f(0) ... f(count - 1), each of type T, in f64: exact but for its last bits, so that other programs that
/// add in f64 come to the same statistics, whatever order they add in.
template <class T, class F>
double exact_sum(std::int64_t count, F f) {
  constexpr int lanes = 16;
  double lane[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
#pragma omp simd
    for (int l = 0; l < lanes; ++l) lane[l] += static_cast<double>(f(i + l));
  }
  for (int l = 0; i + l < count; ++l) lane[l] += static_cast<double>(f(i + l));
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  return lane[0];
}

/// The sum of f(i) over the elements i of channel c.
template <class T, class F>
double channel_sum(const BatchNorm& p, std::int64_t c, F f) {
  double total = 0;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    std::int64_t at = (n * p.channels + c) * p.length;
    total += exact_sum<T>(p.length, [=](std::int64_t i) { return f(at + i); });
  }
  return total;
}

// The sums, over a channel, of dy and of dy (x - mean).
template <class T>
TwoSums channel_sums(const BatchNorm& p, std::int64_t c, const T* x, const T* dy, T mean) {
  struct Pair {
    T dy, dot;
  };
  TwoSums total;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    std::int64_t at = (n * p.channels + c) * p.length;
    TwoSums s = two_sums<T>(p.length, [=, xs = x + at, ds = dy + at](std::int64_t i) {
      return Pair{ds[i], ds[i] * (xs[i] - mean)};
    });
    total.first += s.first, total.second += s.second;
  }
  return total;
}

/// y[i] = f(i) for the elements i of channel c.
template <class T, class F>
void channel_map(const BatchNorm& p, std::int64_t c, T* y, F f) {
  for (std::int64_t n = 0; n < p.batch; ++n) {
    std::int64_t at = (n * p.channels + c) * p.length;
#pragma omp simd
    for (std::int64_t i = at; i < at + p.length; ++i) y[i] = f(i);
  }
}

/// total[j] = the sum of f(i, j) over the elements i of channel first + j; lengths are 1.
template <class T, class F>
void block_sum(const BatchNorm& p, std::int64_t first, std::int64_t count, double* total, F f) {
  std::fill_n(total, count, 0.0);
  for (std::int64_t n = 0; n < p.batch; ++n) {
    std::int64_t at = n * p.channels + first;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) total[j] += f(at + j, j);
  }
}

template <class T, class F>
void block_map(const BatchNorm& p, std::int64_t first, std::int64_t count, T* y, F f) {
  for (std::int64_t n = 0; n < p.batch; ++n) {
    std::int64_t at = n * p.channels + first;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) y[at + j] = f(at + j, j);
  }
}

// Calls channel(c), or block(first, count) where lengths are 1.
template <class T, class Channel, class Block>
void for_channels(const BatchNorm& p, const Channel& channel, const Block& block) {
  std::int64_t width = p.length == 1 ? batch_norm_block : 1, blocks = (p.channels + width - 1) / width;
  std::int64_t work = p.count() * width + 1;
  parallel_ranges(blocks, elementwise_grain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k)
      if (p.length == 1)
        simd_for<T>([=, &block, &p] { block(k * width, std::min(width, p.channels - k * width)); });
      else
        simd_for<T>([=, &channel] { channel(k); });
  });
}

template <class T>
T variance_of(const BatchNorm& p, double squares) {
  return static_cast<T>(squares) / static_cast<T>(p.count());
}

template <class T>
T inverse_deviation(const BatchNorm& p, T variance) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(variance) + p.epsilon));
}

}  // namespace detail

/// y, and each channel's mean and (biased) variance.
template <class T>
void batch_norm(const BatchNorm& p, const T* x, const T* w, const T* b, T* y, T* mean, T* variance) {
  auto m = static_cast<double>(p.count());
  auto channel = [=, &p](std::int64_t c) {
    T mu = static_cast<T>(detail::channel_sum<T>(p, c, [=](std::int64_t i) { return x[i]; }) / m);
    double squares = detail::channel_sum<T>(p, c, [=](std::int64_t i) { return (x[i] - mu) * (x[i] - mu); });
    mean[c] = mu, variance[c] = detail::variance_of<T>(p, squares);
    T factor = w[c] * detail::inverse_deviation(p, variance[c]), shift = b[c] - mu * factor;
    detail::channel_map(p, c, y, [=](std::int64_t i) { return x[i] * factor + shift; });
  };
  auto block = [=, &p](std::int64_t first, std::int64_t count) {
    double total[detail::batch_norm_block];
    T factor[detail::batch_norm_block], shift[detail::batch_norm_block];
    T *mu = mean + first, *var = variance + first;
    detail::block_sum<T>(p, first, count, total, [=](std::int64_t i, std::int64_t) { return x[i]; });
    for (std::int64_t j = 0; j < count; ++j) mu[j] = static_cast<T>(total[j] / m);
    detail::block_sum<T>(p, first, count, total,
                         [=](std::int64_t i, std::int64_t j) { return (x[i] - mu[j]) * (x[i] - mu[j]); });
    for (std::int64_t j = 0; j < count; ++j) {
      var[j] = detail::variance_of<T>(p, total[j]);
      factor[j] = w[first + j] * detail::inverse_deviation(p, var[j]);
      shift[j] = b[first + j] - mu[j] * factor[j];
    }
    detail::block_map(p, first, count, y,
                      [=, f = factor, s = shift](std::int64_t i, std::int64_t j) { return x[i] * f[j] + s[j]; });
  };
  detail::for_channels<T>(p, channel, block);
}

/// dx, dw, db from x, the channels' statistics and dy; dx may be x or dy.
template <class T>
void batch_norm_grad(const BatchNorm& p, const T* x, const T* w, const T* mean, const T* variance, const T* dy, T* dx,
                     T* dw, T* db) {
  auto m = static_cast<double>(p.count());
  auto channel = [=, &p](std::int64_t c) {
    T mu = mean[c], r = detail::inverse_deviation(p, variance[c]);
    auto [sum, dot] = detail::channel_sums(p, c, x, dy, mu);
    dot *= r;
    db[c] = static_cast<T>(sum), dw[c] = static_cast<T>(dot);
    T factor = w[c] * r, g = static_cast<T>(sum / m), gx = static_cast<T>(dot / m) * r;
    detail::channel_map(p, c, dx, [=](std::int64_t i) { return factor * (dy[i] - g - (x[i] - mu) * gx); });
  };
  auto block = [=, &p](std::int64_t first, std::int64_t count) {
    double sum[detail::batch_norm_block], dot[detail::batch_norm_block];
    T factor[detail::batch_norm_block], g[detail::batch_norm_block], gx[detail::batch_norm_block];
    const T* mu = mean + first;
    detail::block_sum<T>(p, first, count, sum, [=](std::int64_t i, std::int64_t) { return dy[i]; });
    detail::block_sum<T>(p, first, count, dot, [=](std::int64_t i, std::int64_t j) { return dy[i] * (x[i] - mu[j]); });
    for (std::int64_t j = 0; j < count; ++j) {
      T r = detail::inverse_deviation(p, variance[first + j]);
      db[first + j] = static_cast<T>(sum[j]), dw[first + j] = static_cast<T>(dot[j] * r);
      factor[j] = w[first + j] * r, g[j] = static_cast<T>(sum[j] / m), gx[j] = static_cast<T>(dot[j] * r / m) * r;
    }
    detail::block_map(p, first, count, dx, [=, f = factor, gp = g, gxp = gx](std::int64_t i, std::int64_t j) {
      return f[j] * (dy[i] - gp[j] - (x[i] - mu[j]) * gxp[j]);
    });
  };
  detail::for_channels<T>(p, channel, block);
}

}  // namespace reprise::kernels
