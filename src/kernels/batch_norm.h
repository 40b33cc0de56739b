// SPDX-License-Identifier: Apache-2.0
// Batch norm over [batch, channels, length]: every channel is normalised over batch and length, in two sweeps: one for
// the statistics, one for the result. With a length of 1 the channels lie side by side and go through in blocks, so
// that loops run along memory.
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

// Mean and sum of squared distances from it; groups of elements are merged as by Chan, Golub and LeVeque.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  void merge(const Moments& other) {
    double all = count + other.count, distance = other.mean - mean;
    squares += other.squares + distance * distance * count * other.count / all;
    mean += distance * other.count / all;
    count = all;
  }
};

// In pieces that stay in the cache between the mean and the squares.
template <class T>
Moments channel_moments(const BatchNorm& p, std::int64_t c, const T* x) {
  constexpr std::int64_t most = 4096;
  Moments total;
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t from = 0; from < p.length; from += most) {
      const T* piece = x + (n * p.channels + c) * p.length + from;
      std::int64_t count = std::min(most, p.length - from);
      Moments m{static_cast<double>(count)};
      m.mean = sum_over<T>(count, [=](std::int64_t i) { return piece[i]; }) / m.count;
      T centre = static_cast<T>(m.mean);
      m.squares = sum_over<T>(count, [=](std::int64_t i) { return (piece[i] - centre) * (piece[i] - centre); });
      total.merge(m);
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
T inverse_deviation(const BatchNorm& p, T variance) {
  return static_cast<T>(1 / std::sqrt(static_cast<double>(variance) + p.epsilon));
}

}  // namespace detail

/// y, and each channel's mean and (biased) variance.
template <class T>
void batch_norm(const BatchNorm& p, const T* x, const T* w, const T* b, T* y, T* mean, T* variance) {
  auto m = static_cast<double>(p.count());
  auto channel = [=, &p](std::int64_t c) {
    detail::Moments moments = detail::channel_moments(p, c, x);
    T mu = static_cast<T>(moments.mean);
    mean[c] = mu, variance[c] = static_cast<T>(moments.squares / m);
    T factor = w[c] * detail::inverse_deviation(p, variance[c]), shift = b[c];
    detail::channel_map(p, c, y, [=](std::int64_t i) { return (x[i] - mu) * factor + shift; });
  };
  auto block = [=, &p](std::int64_t first, std::int64_t count) {
    double total[detail::batch_norm_block];
    T factor[detail::batch_norm_block];
    T *mu = mean + first, *var = variance + first;
    detail::block_sum<T>(p, first, count, total, [=](std::int64_t i, std::int64_t) { return x[i]; });
    for (std::int64_t j = 0; j < count; ++j) mu[j] = static_cast<T>(total[j] / m);
    detail::block_sum<T>(p, first, count, total,
                         [=](std::int64_t i, std::int64_t j) { return (x[i] - mu[j]) * (x[i] - mu[j]); });
    for (std::int64_t j = 0; j < count; ++j) {
      var[j] = static_cast<T>(total[j] / m);
      factor[j] = w[first + j] * detail::inverse_deviation(p, var[j]);
    }
    detail::block_map(p, first, count, y,
                      [=, f = factor](std::int64_t i, std::int64_t j) { return (x[i] - mu[j]) * f[j] + b[first + j]; });
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
