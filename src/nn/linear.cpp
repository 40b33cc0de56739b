// SPDX-License-Identifier: Apache-2.0
// Linear layers, tables, attention, and sequences of layers.
#include <cmath>

#include "base/error.h"
#include "nn/initial.h"
#include "reprise/nn.h"

namespace reprise::nn {

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias, Seed seed) : has_bias(with_bias) {
  expect_positive("Linear", {in, out});
  double limit = std::sqrt(1.0 / static_cast<double>(in));
  weight = Parameter(uniform({out, in}, limit, seed));
  if (has_bias) bias = Parameter(uniform({out}, limit, seed + 1));
}

Value Linear::operator()(const Value& x) const {
  return has_bias ? linear(x, weight.in(x), bias.in(x)) : linear(x, weight.in(x));
}

Fields Linear::fields() {
  return has_bias ? reprise::fields("weight", weight, "bias", bias) : reprise::fields("weight", weight);
}

Embedding::Embedding(std::int64_t count, std::int64_t width, Seed seed) {
  expect_positive("Embedding", {count, width});
  weight = Parameter(normal({count, width}, 1, seed));
}

Value Embedding::operator()(const Value& indices) const { return embedding(weight.in(indices), indices); }
Fields Embedding::fields() { return reprise::fields("weight", weight); }

Dropout::Dropout(double probability, Seed seed)
    : p(probability), key(random_key(static_cast<std::int64_t>(seed)), false) {
  if (!(p >= 0 && p < 1)) fail("[Dropout] the probability is {}: it must be in [0, 1)", p);
}

// Each use has a key of its own, told apart by where it stands in the graph; the next step has another one.
Value Dropout::operator()(const Value& x) const {
  if (!training || p == 0) return x;
  Value k = key.in(x);
  Value y = dropout(x, fold_in(k, x.ref().node), p);
  bool is_first_use = true;
  for (const Update& u : x.graph()->updates) is_first_use = is_first_use && u.input != k.ref().node;
  if (is_first_use) key.update(fold_in(k, -1));
  return y;
}

Fields Dropout::fields() { return reprise::fields("key", key); }

MultiHeadAttention::MultiHeadAttention(std::int64_t width, std::int64_t head_count, bool is_causal, bool with_bias,
                                       Seed seed)
    : query(width, width, with_bias, seed),
      key(width, width, with_bias, seed + 10),
      value(width, width, with_bias, seed + 20),
      out(width, width, with_bias, seed + 30),
      heads(head_count),
      causal(is_causal) {
  if (heads <= 0 || width % heads != 0) fail("[MultiHeadAttention] {} heads cannot share a width of {}", heads, width);
}

Value MultiHeadAttention::attend(const Value& x, const Value& context) const {
  MultiHeadWeights w{query.weight.in(x), key.weight.in(x), value.weight.in(x), out.weight.in(x)};
  if (query.has_bias) {
    w.query_bias = query.bias.in(x), w.key_bias = key.bias.in(x);
    w.value_bias = value.bias.in(x), w.out_bias = out.bias.in(x);
  }
  return multi_head_attention(x, context, w, heads, {.causal = causal});
}

Fields MultiHeadAttention::fields() { return reprise::fields("query", query, "key", key, "value", value, "out", out); }

Value Sequential::operator()(const Value& x) const {
  Value y = x;
  for (const Erased& layer : layers_) y = layer.call(y);
  return y;
}

Fields Sequential::fields() {
  Fields all;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    for (Named& p : layers_[i].fields()) all.push_back({std::to_string(i) + "." + p.name, std::move(p.parameter)});
  return all;
}

}  // namespace reprise::nn
