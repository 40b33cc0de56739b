// SPDX-License-Identifier: Apache-2.0
// A transformer that predicts the next token: normalised before each part, learned positions.
#include "models/models.h"

namespace reprise::models {
namespace {

struct GptBlock {
  std::int64_t heads;
  nn::LayerNorm ln1, ln2;
  nn::Linear qkv, proj, fc, out;

  Value attend(const Value& x) const {
    std::int64_t batch = x.shape()[0], tokens = x.shape()[1], width = x.shape()[2];
    Values parts = split(qkv(ln1(x)), 3, 2);
    for (Value& v : parts) v = transpose(reshape(v, {batch, tokens, heads, width / heads}), {0, 2, 1, 3});
    Value a = attention(parts[0], parts[1], parts[2], {.causal = true});
    return proj(reshape(transpose(a, {0, 2, 1, 3}), {batch, tokens, width}));
  }
  Value operator()(const Value& x) const {
    Value y = x + attend(x);
    return y + out(gelu(fc(ln2(y))));
  }
  nn::Fields fields() {
    return reprise::fields("ln1", ln1, "ln2", ln2, "qkv", qkv, "proj", proj, "fc", fc, "out", out);
  }
};

struct Head {
  nn::LayerNorm ln;
  nn::Linear lin;
  Value operator()(const Value& x) const { return lin(ln(x)); }
  nn::Fields fields() { return reprise::fields("ln", ln, "lin", lin); }
};

struct Gpt {
  nn::Embedding tok, pos;
  std::vector<GptBlock> blocks;
  Head head;

  Value operator()(const Value& tokens) const {
    Value x = tok(tokens) + pos.weight.in(tokens);
    for (const GptBlock& block : blocks) x = block(x);
    return head(x);
  }
  nn::Fields fields() { return reprise::fields("tok", tok, "pos", pos, "blocks", blocks, "head", head); }
};

}  // namespace

BuiltInModel gpt(const ModelOptions& options, const GptSize& usual) {
  GptSize s = options.small ? GptSize{3, 32, 2, 16, 4, 17} : usual;
  s.vocabulary = chosen(options.classes, s.vocabulary, "number of classes");
  std::int64_t w = s.width;
  Gpt net{nn::Embedding(s.vocabulary, w),
          nn::Embedding(s.tokens, w),
          {},
          {nn::LayerNorm(w), nn::Linear(w, s.vocabulary, false)}};
  for (std::int64_t i = 0; i < s.layers; ++i)
    net.blocks.push_back({s.heads, nn::LayerNorm(w), nn::LayerNorm(w), nn::Linear(w, 3 * w), nn::Linear(w, w),
                          nn::Linear(w, 4 * w), nn::Linear(4 * w, w)});
  Type tokens{DType::i64, {batch_size(options, s.batch), s.tokens}};
  BuiltInModel model = model_of(std::move(net), {tokens, tokens}, [](const Gpt& f, const Value& x, const Value& y) {
    Value logits = f(x);
    return cross_entropy(reshape(logits, {-1, logits.shape()[2]}), reshape(y, {-1}));
  });
  model.rule = optim::Adam{{.lr = 3e-4}}.rule();
  model.draw = random_batches(s.vocabulary, s.vocabulary);
  model.data = "text";
  return model;
}

}  // namespace reprise::models
