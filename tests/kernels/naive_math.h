// SPDX-License-Identifier: Apache-2.0
// The obvious loops, in f64: what the fast kernels are compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/strided.h"

namespace reprise::kernels::naive {

using Array = std::vector<double>;

template <class T>
Array wide(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// z = f(x, y), broadcast to `out`.
template <class F>
Array zip(const Array& x, const Shape& xs, const Array& y, const Shape& ys, const Shape& out, F f) {
  Array z(at(out.elements()));
  Shape x_strides = kernels::broadcast_strides(xs, out), y_strides = kernels::broadcast_strides(ys, out);
  for (std::int64_t i = 0; i < out.elements(); ++i)
    z[at(i)] = f(x[at(kernels::offset_of(i, out, x_strides))], y[at(kernels::offset_of(i, out, y_strides))]);
  return z;
}

/// `kept` is the shape with reduced axes at 1.
template <class F>
Array reduce(const Array& x, const Shape& shape, const Shape& kept, double identity, F f) {
  Array y(at(kept.elements()), identity);
  Shape strides = kernels::broadcast_strides(kept, shape);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    double& slot = y[at(kernels::offset_of(i, shape, strides))];
    slot = f(slot, x[at(i)]);
  }
  return y;
}

/// Calls f(line) on each line along the middle of [outer, size, inner]; a line is changed in place.
template <class F>
Array along(Array x, std::int64_t outer, std::int64_t size, std::int64_t inner, F f) {
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t c = 0; c < inner; ++c) {
      Array line;
      for (std::int64_t k = 0; k < size; ++k) line.push_back(x[at((o * size + k) * inner + c)]);
      f(line);
      for (std::int64_t k = 0; k < size; ++k) x[at((o * size + k) * inner + c)] = line[at(k)];
    }
  return x;
}

inline void softmax(Array& line) {
  double sum = 0;
  for (double v : line) sum += std::exp(v);
  for (double& v : line) v = std::exp(v) / sum;
}

struct Statistics {
  double mean = 0, variance = 0;
};

inline Statistics statistics(const Array& line) {
  Statistics s;
  for (double v : line) s.mean += v / static_cast<double>(line.size());
  for (double v : line) s.variance += (v - s.mean) * (v - s.mean) / static_cast<double>(line.size());
  return s;
}

/// The gradient of (x - mean) / sqrt(variance + epsilon) along a line, given that of the result.
inline Array normalise_grad(const Array& x, const Array& g, double epsilon) {
  Statistics s = statistics(x);
  double scale = 1 / std::sqrt(s.variance + epsilon), n = static_cast<double>(x.size()), g_mean = 0, dot = 0;
  for (std::size_t i = 0; i < x.size(); ++i) g_mean += g[i] / n, dot += g[i] * (x[i] - s.mean) * scale / n;
  Array dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(scale * (g[i] - g_mean - (x[i] - s.mean) * scale * dot));
  return dx;
}

}  // namespace reprise::kernels::naive
