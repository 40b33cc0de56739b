// SPDX-License-Identifier: Apache-2.0
// Normalisation of rows (layer, group, instance and RMS norm) and of channels (batch norm), forward and backward, each
// in one sweep over memory: a row is read again only from the cache. Tiles depend on the shape alone, so bits do not
// depend on the number of threads. Statistics are summed in blocks and merged in f64.
#pragma once

#include <cmath>

#include "kernels/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/reduce.h"

namespace reprise::kernels {

/// `rows` rows of `segments` times `length` elements. Weights: one an element (layer norm: one segment), or one a
/// segment; then row r uses those from (r mod groups) * segments on.
struct RowNorm {
  std::int64_t rows = 0, segments = 1, length = 1, groups = 1;
  bool weight_per_element = true;
  bool centred = true;  // subtract the mean; RMS norm does not
  double epsilon = 1e-5;

  std::int64_t row_size() const { return segments * length; }
  std::int64_t weights() const { return weight_per_element ? length : groups * segments; }
  std::int64_t first_weight(std::int64_t row) const { return weight_per_element ? 0 : row % groups * segments; }
  /// Rows whose weight gradients are summed together before all are.
  std::int64_t tiles() const { return std::clamp<std::int64_t>(rows / 32, 1, 64); }
};

namespace detail {

/// y = (x - mean) * scale * w + b over one segment; absent weights are nullptr.
template <class T>
void normalise(std::int64_t n, bool per_element, const T* x, T mean, T scale, const T* w, const T* b, T* y) {
  if (w && b && per_element) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * w[i] + b[i];
  } else if (w && per_element) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale * w[i];
  } else {
    T factor = w ? scale * *w : scale, shift = b ? *b : T(0);
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + shift;
  }
}

template <class T>
void forward_row(const RowNorm& p, std::int64_t row, const T* x, const T* w, const T* b, T* y, T* mean, T* scale) {
  std::int64_t n = p.row_size(), first = p.first_weight(row);
  x += row * n, y += row * n;
  auto count = static_cast<double>(n);
  T m = p.centred ? static_cast<T>(sum_over<T>(n, [=](std::int64_t i) { return x[i]; }) / count) : T(0);
  // Reading the next row meanwhile takes no time of its own.
  std::int64_t ahead = row + 1 < p.rows && n <= 4096 ? n : 0;
  fetch_ahead(x + n, ahead / 2);
  double squares = sum_over<T>(n, [=](std::int64_t i) { return (x[i] - m) * (x[i] - m); });
  fetch_ahead(x + n + ahead / 2, ahead - ahead / 2);
  T r = static_cast<T>(1 / std::sqrt(squares / count + p.epsilon));
  if (p.centred) mean[row] = m;
  scale[row] = r;
  for (std::int64_t s = 0; s < p.segments; ++s) {
    std::int64_t at = s * p.length;
    normalise(p.length, p.weight_per_element, x + at, m, r, w ? w + first + s : nullptr, b ? b + first + s : nullptr,
              y + at);
  }
}

/// The means, over one row, of g and of g * xhat, where g = dy * w and xhat = (x - mean) * scale.
template <class T>
struct RowMeans {
  T g, g_xhat;
};

// Where a segment has one weight, also adds to dw and db what the row contributes.
template <class T>
RowMeans<T> row_means(const RowNorm& p, const T* x, const T* dy, const T* w, T mean, T scale, T* dw, T* db) {
  struct Pair {
    T g, g_x;
  };
  TwoSums total;
  for (std::int64_t s = 0; s < p.segments; ++s) {
    const T *xs = x + s * p.length, *ds = dy + s * p.length;
    if (w && p.weight_per_element) {
      total = two_sums<T>(p.length, [=](std::int64_t i) {
        T g = ds[i] * w[i];
        return Pair{g, g * (xs[i] - mean)};
      });
      continue;
    }
    TwoSums sums = two_sums<T>(p.length, [=](std::int64_t i) { return Pair{ds[i], ds[i] * (xs[i] - mean)}; });
    double factor = w ? w[s] : 1;
    total.first += factor * sums.first, total.second += factor * sums.second;
    if (w) dw[s] += scale * static_cast<T>(sums.second), db[s] += static_cast<T>(sums.first);
  }
  auto n = static_cast<double>(p.row_size());
  return {p.centred ? static_cast<T>(total.first / n) : T(0), static_cast<T>(total.second * scale / n)};
}

/// dx of one row; adds to dw and db (where not nullptr) what the row contributes.
template <class T>
void backward_row(const RowNorm& p, const T* x, const T* dy, const T* w, T mean, T scale, T* dx, T* dw, T* db) {
  const RowMeans<T> means = row_means(p, x, dy, w, mean, scale, dw, db);
  const T g_mean = means.g, gx_mean = means.g_xhat;  // not a binding: clang has none in OpenMP loops
  for (std::int64_t s = 0; s < p.segments; ++s) {
    const T *xs = x + s * p.length, *ds = dy + s * p.length;
    T* out = dx + s * p.length;
    if (w && p.weight_per_element) {
#pragma omp simd
      for (std::int64_t i = 0; i < p.length; ++i) {
        T xhat = (xs[i] - mean) * scale, d = ds[i];
        dw[i] += d * xhat;
        db[i] += d;
        out[i] = scale * (d * w[i] - g_mean - xhat * gx_mean);
      }
      continue;
    }
    T factor = w ? w[s] : T(1);
#pragma omp simd
    for (std::int64_t i = 0; i < p.length; ++i)
      out[i] = scale * (ds[i] * factor - g_mean - (xs[i] - mean) * scale * gx_mean);
  }
}

}  // namespace detail

/// y, and per row its mean (nullptr unless centred) and the factor 1 / sqrt(variance + epsilon). w and b may be
/// nullptr.
template <class T>
void row_norm(const RowNorm& p, const T* x, const T* w, const T* b, T* y, T* mean, T* scale) {
  parallel_ranges(p.rows, elementwise_grain / (p.row_size() + 1) + 1, [=, &p](std::int64_t begin, std::int64_t end) {
    simd_for<T>([=, plan = &p] {
      for (std::int64_t row = begin; row < end; ++row) detail::forward_row(*plan, row, x, w, b, y, mean, scale);
    });
  });
}

/// dx and, where there are weights, dw and db. `partial` has room for 2 * tiles() * weights() numbers.
template <class T>
void row_norm_grad(const RowNorm& p, const T* x, const T* w, const T* mean, const T* scale, const T* dy, T* dx, T* dw,
                   T* db, T* partial) {
  std::int64_t tiles = p.tiles(), n = p.row_size(), weights = w ? p.weights() : 0;
  parallel_ranges(tiles, elementwise_grain / (p.rows / tiles * n + 1) + 1,
                  [=, &p](std::int64_t begin, std::int64_t end) {
                    simd_for<T>([=, plan = &p] {
                      for (std::int64_t t = begin; t < end; ++t) {
                        T *tile_dw = partial + 2 * t * weights, *tile_db = tile_dw + weights;
                        std::fill_n(tile_dw, 2 * weights, T(0));
                        for (std::int64_t r = plan->rows * t / tiles; r < plan->rows * (t + 1) / tiles; ++r) {
                          std::int64_t first = w ? plan->first_weight(r) : 0;
                          detail::backward_row(*plan, x + r * n, dy + r * n, w ? w + first : nullptr,
                                               plan->centred ? mean[r] : T(0), scale[r], dx + r * n, tile_dw + first,
                                               tile_db + first);
                        }
                      }
                    });
                  });
  for (std::int64_t i = 0; i < weights; ++i) {
    double sum_w = 0, sum_b = 0;
    for (std::int64_t t = 0; t < tiles; ++t)
      sum_w += partial[2 * t * weights + i], sum_b += partial[(2 * t + 1) * weights + i];
    dw[i] = static_cast<T>(sum_w);
    if (db) db[i] = static_cast<T>(sum_b);
  }
}

}  // namespace reprise::kernels
