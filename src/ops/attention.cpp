// SPDX-License-Identifier: Apache-2.0
// Attention in tiles: memory grows with the number of tokens, not with its square, forward and backward.
#include "kernels/attention.h"

#include <cmath>

#include "base/error.h"
#include "graph/backpropagate.h"
#include "kernels/strided.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

// Where heads and tokens are in [batch, heads, tokens, width] or, tokens first, [batch, tokens, heads, width].
struct Axis4 {
  int head, token;
};
Axis4 axes_of(bool tokens_first) { return tokens_first ? Axis4{2, 1} : Axis4{1, 2}; }

bool has_mask(const Signature& s, int mask_input) { return s.arity() > mask_input; }

void expect_scale(const Signature& s) {
  if (!std::isfinite(s.real("scale"))) fail("[{}] scale is {}: it must be a finite number", s.name(), s.real("scale"));
}

// Checks q, k, v (inputs 0 to 2) and the mask, if there is one.
kernels::AttentionSizes sizes_of(const Signature& s, int mask_input) {
  for (int i = 0; i < 3; ++i) {
    expect_float(s, i);
    expect_rank(s, i, 4);
  }
  const Shape &q = s.in(0).shape, &k = s.in(1).shape, &v = s.in(2).shape;
  bool tokens_first = s.flag("tokens_first");
  auto [head, token] = axes_of(tokens_first);
  bool fits = s.in(0).dtype == s.in(1).dtype && s.in(0).dtype == s.in(2).dtype && q[0] == k[0] && q[0] == v[0] &&
              q[3] == k[3] && k[1] == v[1] && k[2] == v[2] && k[head] > 0 && q[head] % k[head] == 0;
  if (!fits)
    fail(
        "[{}] q {}, k {} and v {} do not fit: they are [batch,{},width]; k and v agree in heads and tokens, q and k in "
        "width, and q's heads are a multiple of k's",
        s.name(), to_string(s.in(0)), to_string(s.in(1)), to_string(s.in(2)),
        tokens_first ? "tokens,heads" : "heads,tokens");
  expect_scale(s);
  kernels::AttentionSizes a{q[0], q[head], k[head],      q[token],         k[token],
                            q[3], v[3],    tokens_first, s.flag("causal"), s.real("scale")};
  if (!has_mask(s, mask_input)) return a;
  const Type& mask = s.in(mask_input);
  Shape all{a.batch, a.heads, a.queries, a.keys};
  if (mask.dtype != DType::boolean && mask.dtype != s.in().dtype)
    fail("[{}] mask {} must be bool (true: may be seen) or {} (added to the scores)", s.name(), to_string(mask),
         to_string(s.in().dtype));
  if (mask.shape.rank() > 4 || broadcast(s.name(), mask.shape, all) != all)
    fail("[{}] mask {} does not broadcast: it must to [batch,heads,queries,keys] = {}", s.name(), to_string(mask),
         to_string(all));
  a.mask = mask.dtype == DType::boolean ? kernels::MaskKind::boolean : kernels::MaskKind::additive;
  a.mask_strides = kernels::broadcast_strides(mask.shape, all);
  return a;
}

Shape without_last(const Shape& s) { return Shape(std::span(s.begin(), s.end() - 1)); }
Shape with_last(const Shape& s, std::int64_t last) {
  Shape shape = without_last(s);
  shape.push_back(last);
  return shape;
}

std::vector<Type> attention_type(const Signature& s) {
  if (s.arity() != 4) expect_arity(s, 3);
  sizes_of(s, 3);
  DType dtype = s.in().dtype;
  const Shape& q = s.in(0).shape;
  return {{dtype, with_last(q, s.in(2).shape[3])}, {dtype, without_last(q)}};
}

// Inputs of the gradient ops: q, k, v, log_sum, out_gradient, delta and perhaps the mask.
void expect_gradient_inputs(const Signature& s) {
  if (s.arity() != 7) expect_arity(s, 6);
  sizes_of(s, 6);
  Type rows{s.in().dtype, without_last(s.in(0).shape)}, out{s.in().dtype, with_last(s.in(0).shape, s.in(2).shape[3])};
  if (s.in(3) != rows || s.in(5) != rows || s.in(4) != out)
    fail("[{}] log_sum {}, output gradient {} and delta {} do not fit: they must be {}, {} and {}", s.name(),
         to_string(s.in(3)), to_string(s.in(4)), to_string(s.in(5)), to_string(rows), to_string(out), to_string(rows));
}

std::vector<Type> gradient_type(const Signature& s) {
  expect_gradient_inputs(s);
  return {s.in(0), s.in(1), s.in(2)};
}

std::vector<Type> mask_gradient_type(const Signature& s) {
  expect_arity(s, 7);
  expect_gradient_inputs(s);
  if (s.in(6).dtype != s.in().dtype)
    fail("[{}] mask {} has no gradient: only one of the dtype of q has", s.name(), to_string(s.in(6)));
  return {s.in(6)};
}

template <class T>
kernels::AttentionInputs<T> inputs_of(const Buffers& b, const kernels::AttentionSizes& a, int mask_input) {
  return {b.in<T>(0), b.in<T>(1), b.in<T>(2), a.mask == kernels::MaskKind::none ? nullptr : b.in<void>(mask_input)};
}
template <class T>
kernels::AttentionGradientInputs<T> gradient_inputs_of(const Buffers& b) {
  return {b.in<T>(3), b.in<T>(4), b.in<T>(5)};
}

Kernel attention_kernel(const Signature& s) {
  kernels::AttentionSizes a = sizes_of(s, 3);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {
        [a](const Buffers& b) { kernels::attention(a, inputs_of<T>(b, a, 3), b.out<T>(0), b.out<T>(1), b.scratch); },
        kernels::attention_scratch_bytes<T>(a)};
  });
}

Kernel gradient_kernel(const Signature& s) {
  kernels::AttentionSizes a = sizes_of(s, 6);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[a](const Buffers& b) {
              kernels::attention_gradient(a, inputs_of<T>(b, a, 6), gradient_inputs_of<T>(b), b.out<T>(0), b.out<T>(1),
                                          b.out<T>(2), b.scratch);
            },
            kernels::attention_scratch_bytes<T>(a)};
  });
}

Kernel mask_gradient_kernel(const Signature& s) {
  kernels::AttentionSizes a = sizes_of(s, 6);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[a, n = s.out().elements()](const Buffers& b) {
              kernels::attention_mask_gradient(a, inputs_of<T>(b, a, 6), gradient_inputs_of<T>(b), b.out<T>(), n,
                                               b.scratch);
            },
            kernels::attention_scratch_bytes<T>(a)};
  });
}

// `products` of queries × keys × width each.
template <int products, int mask_input>
Cost attention_cost(const Signature& s) {
  kernels::AttentionSizes a = sizes_of(s, mask_input);
  Cost cost = moved_bytes(s);
  double pairs = static_cast<double>(a.batch * a.heads * a.queries) * static_cast<double>(a.keys);
  cost.flops = pairs * (a.causal ? 0.5 : 1.0) * (products * static_cast<double>(a.width + a.value_width) + 8);
  return cost;
}

Attributes attributes_of(const Call& c) {
  return {{"causal", c.integer("causal")}, {"scale", c.real("scale")}, {"tokens_first", c.integer("tokens_first")}};
}

Values attention_gradient(const Call& c, const Values& dy) {
  Value out = c.out(0);
  Value dout = dy[0] ? dy[0] : zeros_like(out);
  Value delta = sum(dout * out, {-1});
  if (dy[1]) delta = delta - dy[1];
  Values inputs{c.in(0), c.in(1), c.in(2), c.out(1), dout, delta};
  if (c.arity() == 4) inputs.push_back(c.in(3));
  Values gradients = record(*find_op("attention_grad"), inputs, attributes_of(c));
  if (c.arity() == 4)
    gradients.push_back(c.in(3).dtype() == DType::boolean ? Value{}
                                                          : record("attention_mask_grad", inputs, attributes_of(c)));
  return gradients;
}

// Keys or values with heads before tokens, one for each of `heads` heads.
Value per_head(const Call& c, const Value& x, std::int64_t heads) {
  Value h = c.flag("tokens_first") ? transpose(x, {0, 2, 1, 3}) : x;
  const Shape& s = h.shape();
  if (s[1] == heads) return h;
  Value wide = expand(reshape(h, Shape{s[0], s[1], 1, s[2], s[3]}), Shape{s[0], s[1], heads / s[1], s[2], s[3]});
  return reshape(wide, Shape{s[0], heads, s[2], s[3]});
}

// The other way: heads that share a kv head are summed.
Value per_kv_head(const Call& c, const Value& x, std::int64_t kv_heads) {
  const Shape& s = x.shape();
  Value h = x;
  if (s[1] != kv_heads) h = sum(reshape(x, Shape{s[0], kv_heads, s[1] / kv_heads, s[2], s[3]}), {2});
  return c.flag("tokens_first") ? transpose(h, {0, 2, 1, 3}) : h;
}

Value row_numbers(const Call& c, const Value& x) {
  Value h = c.flag("tokens_first") ? transpose(x, {0, 2, 1}) : x;
  return reshape(h, Shape{h.shape()[0], h.shape()[1], h.shape()[2], 1});
}

Value lower_triangle(std::int64_t rows, std::int64_t columns) {
  Tensor seen = Tensor::zeros({DType::boolean, {rows, columns}});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j <= std::min(i, columns - 1); ++j)
      seen.span<bool>()[static_cast<std::size_t>(i * columns + j)] = true;
  return seen;
}

// The gradient ops in plain matrices; what the rules below differentiate.
struct Plain {
  Value q, k, v, dout, p, ds;  // heads before tokens; p: probabilities, ds: gradient of the scores

  explicit Plain(const Call& c) {
    std::int64_t heads = c.in(0).shape()[axes_of(c.flag("tokens_first")).head];
    q = per_head(c, c.in(0), heads);
    k = per_head(c, c.in(1), heads);
    v = per_head(c, c.in(2), heads);
    dout = per_head(c, c.in(4), heads);
    Value scores = c.real("scale") * matmul(q, k, false, true);
    Value mask = c.arity() == 7 ? c.in(6) : Value{};
    if (mask && mask.dtype() != DType::boolean) scores = scores + mask;
    p = exp(scores - row_numbers(c, c.in(3)));
    Value zero = scalar_like(p, 0);
    if (mask && mask.dtype() == DType::boolean) p = where(mask, p, zero);
    if (c.flag("causal")) p = where(lower_triangle(q.shape()[2], k.shape()[2]), p, zero);
    ds = p * (matmul(dout, v, false, true) - row_numbers(c, c.in(5)));
  }
};

Values plain_gradient(const Call& c) {
  Plain a(c);
  std::int64_t heads = a.q.shape()[1], kv_heads = c.in(1).shape()[axes_of(c.flag("tokens_first")).head];
  double scale = c.real("scale");
  return {per_kv_head(c, scale * matmul(a.ds, a.k), heads), per_kv_head(c, scale * matmul(a.ds, a.q, true), kv_heads),
          per_kv_head(c, matmul(a.p, a.dout, true), kv_heads)};
}

constexpr std::string_view gradient_examples =
    "f32[2,2,3,4] f32[2,2,3,4] f32[2,2,3,4] f32[2,2,3]{2..3} f32[2,2,3,4] f32[2,2,3] causal=1 scale=0.5 "
    "tokens_first=0; "
    "f32[1,3,4,2] f32[1,5,2,2] f32[1,5,2,3] f32[1,3,4]{2..3} f32[1,3,4,3] f32[1,3,4] causal=0 scale=1.0 "
    "tokens_first=1; "
    "f32[2,2,3,4] f32[2,1,5,4] f32[2,1,5,2] f32[2,2,3]{2..3} f32[2,2,3,2] f32[2,2,3] f32[2,1,1,5] causal=0 scale=0.5 "
    "tokens_first=0; "
    "f32[1,1,2,2] f32[1,1,3,2] f32[1,1,3,2] f32[1,1,2]{1..2} f32[1,1,2,2] f32[1,1,2] bool[2,3]{0..1} causal=0 "
    "scale=0.5 "
    "tokens_first=0; "
    "f32[0,1,2,2] f32[0,1,3,2] f32[0,1,3,2] f32[0,1,2] f32[0,1,2,2] f32[0,1,2] causal=0 scale=0.5 tokens_first=0";

const Op attention_table[] = {
    {.name = "attention",
     .infer = attention_type,
     .forward = attention_kernel,
     .gradient = attention_gradient,
     .cost = attention_cost<2, 3>,
     .examples = "f32[2,2,3,4] f32[2,2,3,4] f32[2,2,3,4] causal=1 scale=0.5 tokens_first=0; "
                 "f32[1,2,5,3] f32[1,2,4,3] f32[1,2,4,2] causal=0 scale=1.0 tokens_first=0; "
                 "f32[1,3,4,2] f32[1,5,2,2] f32[1,5,2,3] causal=0 scale=1.0 tokens_first=1; "
                 "f32[2,2,3,4] f32[2,1,5,4] f32[2,1,5,2] f32[2,1,1,5] causal=0 scale=0.5 tokens_first=0; "
                 "f32[1,2,3,2] f32[1,2,4,2] f32[1,2,4,2] f32[3,4] causal=1 scale=0.5 tokens_first=0; "
                 "f32[1,2,3,2] f32[1,2,4,2] f32[1,2,4,2] bool[2,1,4]{0..1} causal=0 scale=0.5 tokens_first=0; "
                 "f32[1,70,1,4] f32[1,70,1,4] f32[1,70,1,4] causal=1 scale=0.5 tokens_first=1; "
                 "f32[1,1,1,1] f32[1,1,1,1] f32[1,1,1,1] causal=0 scale=1.0 tokens_first=0; "
                 "f32[0,1,2,2] f32[0,1,3,2] f32[0,1,3,2] causal=0 scale=0.5 tokens_first=0; "
                 "f32[1,1,2,2] f32[1,1,0,2] f32[1,1,0,2] causal=0 scale=0.5 tokens_first=0",
     .doc = "softmax(scale · q kᵀ + mask) v per head, and each row's log-sum-exp; no queries × keys matrix is stored"},
    {.name = "attention_grad",
     .infer = gradient_type,
     .forward = gradient_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, plain_gradient);
     },
     .cost = attention_cost<5, 6>,
     .tolerance = 5e-5,
     .examples = gradient_examples,
     .doc = "gradients of attention's q, k and v; scores are computed again, tile by tile"},
    {.name = "attention_mask_grad",
     .infer = mask_gradient_type,
     .forward = mask_gradient_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(
           c, dy, [](const Call& call) -> Values { return {sum_to(Plain(call).ds, call.in(6).shape())}; });
     },
     .cost = attention_cost<2, 6>,
     .tolerance = 5e-5,
     .examples =
         "f32[2,2,3,4] f32[2,1,5,4] f32[2,1,5,2] f32[2,2,3]{2..3} f32[2,2,3,2] f32[2,2,3] f32[2,1,1,5] causal=0 "
         "scale=0.5 "
         "tokens_first=0; "
         "f32[1,3,2,2] f32[1,3,2,2] f32[1,3,2,2] f32[1,3,2]{2..3} f32[1,3,2,2] f32[1,3,2] f32[3,3] causal=1 scale=0.5 "
         "tokens_first=1",
     .doc = "gradient of attention's additive mask"},
};

Value attend(const Value& q, const Value& k, const Value& v, const AttentionOptions& options, bool tokens_first) {
  double width = q.rank() == 4 ? static_cast<double>(q.shape()[3]) : 1;
  double scale = options.scale != 0 ? options.scale : 1 / std::sqrt(std::max(1.0, width));
  Values inputs{q, k, v};
  if (options.mask) inputs.push_back(options.mask);
  return record(
      *find_op("attention"), inputs,
      {{"causal", std::int64_t{options.causal}}, {"scale", scale}, {"tokens_first", std::int64_t{tokens_first}}})[0];
}

Value project(const Value& x, const Value& weight, const Value& bias) {
  return bias ? linear(x, weight, bias) : linear(x, weight);
}

Value split_heads(const Value& x, std::int64_t heads) {
  const Shape& s = x.shape();
  if (s.rank() != 3 || heads < 1 || s[2] % heads != 0)
    fail(
        "[multi_head_attention] {} does not part into heads: it must be [batch,tokens,width] with a width that {} "
        "heads divide",
        to_string(x.type()), heads);
  return reshape(x, Shape{s[0], s[1], heads, s[2] / heads});
}

}  // namespace

std::span<const Op> attention_ops() { return attention_table; }

Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options) {
  return attend(q, k, v, options, false);
}

Value multi_head_attention(const Value& x, const Value& context, const MultiHeadWeights& w, std::int64_t heads,
                           const AttentionOptions& options) {
  return as_told_by("multi_head_attention", [&] {
    Value q = split_heads(project(x, w.query, w.query_bias), heads);
    std::int64_t width = q.shape()[3];
    Value k = project(context, w.key, w.key_bias), v = project(context, w.value, w.value_bias);
    std::int64_t kv_heads = width > 0 ? k.shape().back() / width : heads;
    Value out = attend(q, split_heads(k, kv_heads), split_heads(v, kv_heads), options, true);
    const Shape& s = out.shape();
    return project(reshape(out, Shape{s[0], s[1], s[2] * s[3]}), w.out, w.out_bias);
  });
}

Value multi_head_attention(const Value& x, const MultiHeadWeights& w, std::int64_t heads,
                           const AttentionOptions& options) {
  return multi_head_attention(x, x, w, heads, options);
}

}  // namespace reprise
