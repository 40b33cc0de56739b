// SPDX-License-Identifier: Apache-2.0
// Attention with the whole row of scores at hand: the oracle of the tiled one.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention.h"

namespace reprise::kernels::naive {

/// Offsets of row (batch, head, token) of [batch, heads, tokens, width], or of [batch, tokens, heads, width].
inline std::int64_t row(const AttentionSizes& s, std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t heads,
                        std::int64_t tokens, std::int64_t width) {
  return width * (s.tokens_first ? (b * tokens + t) * heads + h : (b * heads + h) * tokens + t);
}

template <class T>
double dot(const T* a, const T* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// The score of query t and key u; minus infinity where it is hidden.
template <class T>
double score(const AttentionSizes& s, const AttentionInputs<T>& in, std::int64_t b, std::int64_t h, std::int64_t t,
             std::int64_t u) {
  std::int64_t kv = h / (s.heads / s.kv_heads);
  double value = s.scale * dot(in.q + row(s, b, h, t, s.heads, s.queries, s.width),
                               in.k + row(s, b, kv, u, s.kv_heads, s.keys, s.width), s.width);
  if (s.causal && u > t) return -INFINITY;
  if (s.mask == MaskKind::none) return value;
  const Shape& m = s.mask_strides;
  std::int64_t at = b * m[0] + h * m[1] + t * m[2] + u * m[3];
  if (s.mask == MaskKind::additive) return value + static_cast<double>(static_cast<const T*>(in.mask)[at]);
  return static_cast<const bool*>(in.mask)[at] ? value : -INFINITY;
}

/// Calls f(batch, head, query, log of the sum of the row's exponentials); 0 for a row that sees nothing.
template <class T, class F>
void for_rows(const AttentionSizes& s, const AttentionInputs<T>& in, F f) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t t = 0; t < s.queries; ++t) {
        double sum = 0;
        for (std::int64_t u = 0; u < s.keys; ++u) sum += std::exp(score(s, in, b, h, t, u));
        f(b, h, t, sum > 0 ? std::log(sum) : 0.0);
      }
}

template <class T>
void attention(const AttentionSizes& s, const AttentionInputs<T>& in, T* out, T* log_sum) {
  for_rows(s, in, [&](std::int64_t b, std::int64_t h, std::int64_t t, double logarithm) {
    log_sum[row(s, b, h, t, s.heads, s.queries, 1)] = static_cast<T>(logarithm);
    std::vector<double> sum(static_cast<std::size_t>(s.value_width), 0.0);
    for (std::int64_t u = 0; u < s.keys; ++u) {
      double p = std::exp(score(s, in, b, h, t, u) - logarithm);
      const T* v = in.v + row(s, b, h / (s.heads / s.kv_heads), u, s.kv_heads, s.keys, s.value_width);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += p * static_cast<double>(v[c]);
    }
    T* o = out + row(s, b, h, t, s.heads, s.queries, s.value_width);
    for (std::size_t c = 0; c < sum.size(); ++c) o[c] = static_cast<T>(sum[c]);
  });
}

/// dq, dk and dv must hold zeros; gradients are added to them.
template <class T>
void attention_gradient(const AttentionSizes& s, const AttentionInputs<T>& in, const AttentionGradientInputs<T>& back,
                        T* dq, T* dk, T* dv) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t t = 0; t < s.queries; ++t)
        for (std::int64_t u = 0; u < s.keys; ++u) {
          std::int64_t kv = h / (s.heads / s.kv_heads), one = row(s, b, h, t, s.heads, s.queries, 1);
          std::int64_t q = row(s, b, h, t, s.heads, s.queries, s.width),
                       k = row(s, b, kv, u, s.kv_heads, s.keys, s.width);
          std::int64_t v = row(s, b, kv, u, s.kv_heads, s.keys, s.value_width);
          const T* g = back.out_gradient + row(s, b, h, t, s.heads, s.queries, s.value_width);
          double p = std::exp(score(s, in, b, h, t, u) - static_cast<double>(back.log_sum[one]));
          double ds = p * (dot(g, in.v + v, s.value_width) - static_cast<double>(back.delta[one])) * s.scale;
          for (std::int64_t c = 0; c < s.value_width; ++c) dv[v + c] += static_cast<T>(p * static_cast<double>(g[c]));
          for (std::int64_t c = 0; c < s.width; ++c) {
            dq[q + c] += static_cast<T>(ds * static_cast<double>(in.k[k + c]));
            dk[k + c] += static_cast<T>(ds * static_cast<double>(in.q[q + c]));
          }
        }
}

}  // namespace reprise::kernels::naive
