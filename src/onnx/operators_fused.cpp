// SPDX-License-Identifier: Apache-2.0
// What fuse() puts in place of decomposed patterns. Shapes are known only now: where the fused op does not mean the
// same for them, the pattern is recorded as it was written.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

// How many trailing dimensions these axes are; 0 where they are others.
int trailing(const NodeCall& c, const Value& x) {
  std::vector<int> axes;
  for (std::int64_t axis : c.integers("axes")) axes.push_back(axis_of(c, axis, x.rank()));
  std::ranges::sort(axes);
  int count = static_cast<int>(axes.size());
  for (int i = 0; i < count; ++i)
    if (axes[static_cast<std::size_t>(i)] != x.rank() - count + i) return 0;
  return count;
}

bool are_of(const Shape& normal, std::initializer_list<Value> weights) {
  return std::ranges::all_of(weights, [&](const Value& v) { return v && v.shape() == normal; });
}

Values layer_norm_of(const NodeCall& c) {
  Value x = c.in(0), weight = c.maybe(1), bias = c.maybe(2);
  double epsilon = c.real("epsilon", 0);
  int dims = trailing(c, x);
  if (dims > 0 && x.dtype() != DType::i64) {
    Shape normal(std::span(x.shape().end() - dims, x.shape().end()));
    if (are_of(normal, {weight, bias})) return {layer_norm(x, weight, bias, epsilon)};
    Value y = layer_norm(x, dims, epsilon);
    if (weight) y = y * weight;
    return {bias ? y + bias : y};
  }
  Axes axes = c.integers("axes");
  Value centred = x - mean(x, axes, true);
  Value y = centred / sqrt(mean(square(centred), axes, true) + epsilon);
  if (weight) y = y * weight;
  return {bias ? y + bias : y};
}

Values rms_norm_of(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1);
  double epsilon = c.real("epsilon", 0);
  int dims = trailing(c, x);
  if (dims > 0 && are_of(Shape(std::span(x.shape().end() - dims, x.shape().end())), {weight}))
    return {rms_norm(x, weight, epsilon)};
  return {x / sqrt(mean(square(x), c.integers("axes"), true) + epsilon) * weight};
}

// x Wᵀ + bias
Values linear_of(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1), bias = c.maybe(2);
  if (!bias) return {matmul(x, weight, false, true)};
  if (x.rank() > 1 && bias.shape()[0] == weight.shape()[0]) return {linear(x, weight, bias)};
  return {matmul(x, weight, false, true) + bias};
}

// Whether element (i, j) of every [rows, columns] matrix is `seen` where j <= i, and not elsewhere.
template <class Seen>
bool is_triangle(const Tensor& t, const Seen& seen) {
  const Shape& s = t.shape();
  if (s.rank() < 2 || s[s.rank() - 1] != s[s.rank() - 2]) return false;
  std::int64_t n = s.back();
  for (std::int64_t k = 0; k < t.elements(); ++k)
    if (seen(k) != (k % n <= k / n % n)) return false;
  return true;
}

// A known mask that lets every query see itself and what comes before.
bool is_causal(const Tensor& t, bool hides_where_true) {
  if (t.dtype() == DType::boolean)
    return is_triangle(t,
                       [&](std::int64_t k) { return t.span<bool>()[static_cast<std::size_t>(k)] != hides_where_true; });
  if (t.dtype() != DType::f32) return false;
  std::span<const float> f = t.span<float>();
  bool two_valued = std::ranges::all_of(f, [](float v) { return v == 0 || v <= -1e9f; });
  return two_valued && is_triangle(t, [&](std::int64_t k) { return f[static_cast<std::size_t>(k)] == 0; });
}

// Whether every row of a known condition leaves something to see, so that nothing depends on the number it hides by.
bool leaves_something(const Tensor& t, bool hides_where_true) {
  if (t.dtype() != DType::boolean || t.shape().rank() < 1 || t.shape().back() == 0) return false;
  std::int64_t n = t.shape().back();
  std::vector<bool> sees(static_cast<std::size_t>(t.elements() / n), false);
  for (std::int64_t k = 0; k < t.elements(); ++k)
    if (t.span<bool>()[static_cast<std::size_t>(k)] != hides_where_true) sees[static_cast<std::size_t>(k / n)] = true;
  return std::ranges::all_of(sees, [](bool s) { return s; });
}

struct Asked {
  Value q, k, v, mask, condition;
  double scale = 1, hidden_score = 0;
  bool hides_where_true = false;
};

Value plain_attention(const Asked& a) {
  Value scores = matmul(a.q, a.k, false, true) * a.scale;
  if (a.condition) {
    Value hidden = number(a.hidden_score, scores);
    scores = a.hides_where_true ? where(a.condition, hidden, scores) : where(a.condition, scores, hidden);
  }
  if (a.mask) scores = scores + a.mask;
  return matmul(softmax(scores, -1), a.v);
}

// Whether a mask broadcasts to the scores, and not the scores to the mask.
bool fits_scores(const Value& mask, const Asked& a) {
  Shape scores = a.q.shape();
  int rank = scores.rank();
  scores[rank - 1] = a.k.shape()[rank - 2];
  if (mask.rank() > rank) return false;
  for (int back = 1; back <= mask.rank(); ++back) {
    std::int64_t size = mask.shape()[mask.rank() - back];
    if (size != 1 && size != scores[rank - back]) return false;
  }
  return true;
}

bool has_heads(const Asked& a) {
  int rank = a.q.rank();
  if ((rank != 3 && rank != 4) || a.k.rank() != rank || a.v.rank() != rank) return false;
  for (int i = 0; i < rank - 2; ++i)
    if (a.k.shape()[i] != a.q.shape()[i] || a.v.shape()[i] != a.q.shape()[i]) return false;
  for (const Value& m : {a.mask, a.condition})
    if (m && !fits_scores(m, a)) return false;
  return a.k.shape()[rank - 1] == a.q.shape()[rank - 1] && a.v.shape()[rank - 2] == a.k.shape()[rank - 2];
}

// [batch·heads, tokens, width] as one head each.
Value as_head(const Value& v, int rank) { return v && rank == 3 && v.rank() == 3 ? unsqueeze(v, {1}) : v; }

Values attention_of(const NodeCall& c) {
  Value k = c.in(1);
  std::vector<std::int64_t> order = c.integers("k_order");
  k = !order.empty() ? transpose(k, order) : swap_axes(k, -1, -2);
  Asked a{c.in(0),
          k,
          c.in(2),
          c.maybe(3),
          c.maybe(4),
          c.real("factor", 1) / c.real("divisor", 1),
          c.real("hidden_score", 0),
          c.flag("hides_where_true")};
  int rank = a.q.rank();
  if (c.integer("axis", -1) != -1 && rank != 4)
    unsupported("a softmax over axis 3 of {} dimensions is not supported here", rank);
  bool square = rank >= 2 && a.q.shape()[rank - 2] == a.k.shape()[rank - 2];
  const Tensor *condition = c.known(4), *mask = c.known(3);
  bool causal = a.condition && condition && square && is_causal(*condition, a.hides_where_true);
  bool hides_cleanly =
      !a.condition || causal || (condition && !a.mask && leaves_something(*condition, a.hides_where_true));
  if (!has_heads(a) || !hides_cleanly || a.scale == 0) return {plain_attention(a)};
  AttentionOptions options{.causal = causal, .scale = a.scale};
  if (a.condition && !causal) options.mask = a.hides_where_true ? logical_not(a.condition) : a.condition;
  bool mask_is_causal = a.mask && mask && square && is_causal(*mask, false);
  if (mask_is_causal) options.causal = true;
  if (a.mask && !mask_is_causal) options.mask = a.mask;
  options.mask = as_head(options.mask, rank);
  Value y = attention(as_head(a.q, rank), as_head(a.k, rank), as_head(a.v, rank), options);
  return {rank == 3 ? squeeze(y, {1}) : y};
}

constexpr Operator fused_table[] = {
    {"Attention", 1, 1, computes, attention_of},    {"Gelu", 1, 1, computes, unary<gelu>},
    {"GeluTanh", 1, 1, computes, unary<gelu_tanh>}, {"LayerNorm", 1, 1, computes, layer_norm_of},
    {"Linear", 1, 1, computes, linear_of},          {"RmsNorm", 1, 1, computes, rms_norm_of},
};

}  // namespace

std::span<const Operator> fused_operators() { return fused_table; }

}  // namespace reprise::onnx
