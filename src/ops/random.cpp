// SPDX-License-Identifier: Apache-2.0
// Random numbers from a counter-based generator. The key is an input, so that a value that was dropped is recomputed
// exactly, and dropout's gradient draws its mask again instead of keeping it.
#include <cmath>

#include "base/error.h"
#include "kernels/philox.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

constexpr std::string_view key_help = "a key is i64[2]: make one with random_key(seed)";

void expect_key(const Signature& s, int input) {
  if (s.in(input) != Type{DType::i64, {2}})
    fail("[{}] the key, input {}, is {}: {}", s.name(), input, to_string(s.in(input)), key_help);
}

kernels::PhiloxStream stream_of(const void* key) {
  auto words = static_cast<const std::int64_t*>(key);
  return {static_cast<std::uint64_t>(words[0]), static_cast<std::uint64_t>(words[1])};
}

DType drawn_dtype(const Signature& s) {
  expect_arity(s, 1);
  expect_key(s, 0);
  return dtype_attribute(s);
}

std::vector<Type> float_draw(const Signature& s) {
  DType dtype = drawn_dtype(s);
  if (dtype != DType::f32 && dtype != DType::f64)
    fail("[{}] draws in dtype f32 and f64, not {}: cast the result", s.name(), to_string(dtype));
  return {{dtype, shape_attribute(s)}};
}

void expect_range(const Signature& s, double low, double high) {
  if (!(low < high) || !std::isfinite(high - low))
    fail("[{}] there is nothing from {} to {}: low must be less than high, both finite", s.name(), low, high);
}

void expect_probability(const Signature& s) {
  double p = s.real("p");
  if (!(p >= 0 && p <= 1)) fail("[{}] p = {} is no probability: it lies between 0 and 1", s.name(), p);
}

constexpr auto no_gradient = [](const Call& c, const Values&) -> Values {
  return Values(static_cast<std::size_t>(c.arity()));
};

template <int flops>
Cost draw_cost(const Signature& s) {
  Cost cost = moved_bytes(s);
  cost.flops = flops * static_cast<double>(s.out().elements());
  return cost;
}

const Op random_table[] = {
    {.name = "random_uniform",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_range(s, s.real("low"), s.real("high"));
       return float_draw(s);
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.out().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = s.out().elements(), low = s.real("low"), high = s.real("high")](const Buffers& b) {
           kernels::random_uniform(stream_of(b.inputs[0]), n, low, high, b.out<T>());
         }};
       });
     },
     .gradient = no_gradient,
     .cost = draw_cost<15>,
     .examples =
         R"(i64[2]{0..99} dtype="f32" shape=[3,50] low=-1.0 high=2.0; i64[2]{0..99} dtype="f64" shape=[] low=0.0 high=1.0;
       i64[2]{0..99} dtype="f32" shape=[0] low=0.0 high=1.0)",
     .onnx = "RandomUniform",
     .doc = "uniform from low to high, drawn with a key"},
    {.name = "random_normal",
     .infer = [](const Signature& s) -> std::vector<Type> {
       if (!(s.real("deviation") >= 0) || !std::isfinite(s.real("mean")))
         fail(
             "[random_normal] mean {} and deviation {} describe no distribution: give a finite mean and a deviation of "
             "0 or more",
             s.real("mean"), s.real("deviation"));
       return float_draw(s);
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.out().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = s.out().elements(), mean = s.real("mean"), deviation = s.real("deviation")](const Buffers& b) {
           kernels::random_normal(stream_of(b.inputs[0]), n, mean, deviation, b.out<T>());
         }};
       });
     },
     .gradient = no_gradient,
     .cost = draw_cost<40>,
     .examples =
         R"(i64[2]{0..99} dtype="f32" shape=[3,50] mean=1.0 deviation=2.0; i64[2]{0..99} dtype="f64" shape=[5] mean=0.0 deviation=1.0;
       i64[2]{0..99} dtype="f32" shape=[0] mean=0.0 deviation=1.0)",
     .onnx = "RandomNormal",
     .doc = "normally distributed, drawn with a key (Box and Muller)"},
    {.name = "random_bernoulli",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_probability(s);
       DType dtype = drawn_dtype(s);
       if (dtype == DType::f16 || dtype == DType::bf16)
         fail("[random_bernoulli] does not draw in dtype {}: cast the result", to_string(dtype));
       return {{dtype, shape_attribute(s)}};
     },
     .forward = [](const Signature& s) -> Kernel {
       auto kernel = [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = s.out().elements(), p = s.real("p")](const Buffers& b) {
           kernels::random_bernoulli(stream_of(b.inputs[0]), n, p, b.out<T>());
         }};
       };
       if (s.out().dtype == DType::boolean) return kernel(TypeTag<bool>{});
       return with_number(s.name(), s.out().dtype, kernel);
     },
     .gradient = no_gradient,
     .cost = draw_cost<15>,
     .examples = R"(i64[2]{0..99} dtype="bool" shape=[70] p=0.3; i64[2]{0..99} dtype="f32" shape=[2,3] p=1.0;
       i64[2]{0..99} dtype="i64" shape=[] p=0.0)",
     .onnx = "Bernoulli",
     .doc = "1 with probability p, else 0, drawn with a key"},
    {.name = "random_integers",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_key(s, 0);
       if (s.integer("low") >= s.integer("high"))
         fail("[random_integers] there is nothing from {} to before {}: low must be less than high", s.integer("low"),
              s.integer("high"));
       return {{DType::i64, shape_attribute(s)}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return {[n = s.out().elements(), low = s.integer("low"), high = s.integer("high")](const Buffers& b) {
         kernels::random_integers(stream_of(b.inputs[0]), n, low, high, b.out<std::int64_t>());
       }};
     },
     .gradient = no_gradient,
     .cost = draw_cost<15>,
     .examples = "i64[2]{0..99} shape=[70] low=-3 high=4; i64[2]{0..99} shape=[] low=0 high=1; i64[2]{0..99} "
                 "shape=[2,0] low=0 high=5",
     .doc = "integers from low to before high, drawn with a key"},
    {.name = "dropout",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       expect_float(s);
       expect_key(s, 1);
       expect_probability(s);
       return {s.in()};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         double keep = 1 - s.real("p");
         T scale = keep > 0 ? static_cast<T>(1 / keep) : T(0);
         return {[n = s.in().elements(), keep, scale](const Buffers& b) {
           kernels::random_keep(stream_of(b.inputs[1]), n, keep, scale, b.in<T>(), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {dropout(dy[0], c.in(1), c.real("p")), {}};
     },
     .cost = draw_cost<15>,
     .may_overwrite = 1,
     .examples = "f32[3,70] i64[2]{0..99} p=0.3; f32[5] i64[2]{0..99} p=0.0; f32[5] i64[2]{0..99} p=1.0; f32[0] "
                 "i64[2]{0..99} p=0.5; "
                 "f32[] i64[2]{0..99} p=0.5",
     .doc = "zero with probability p, else x / (1-p); the gradient draws the same mask again"},
    {.name = "fold_in",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       expect_key(s, 0);
       if (s.in(1) != Type{DType::i64, {}}) fail("[fold_in] the number is {}: it must be i64[]", to_string(s.in(1)));
       return {s.in()};
     },
     .forward = [](const Signature&) -> Kernel {
       return {[](const Buffers& b) {
         kernels::PhiloxStream s = stream_of(b.inputs[0]);
         auto n = static_cast<std::uint64_t>(*b.in<std::int64_t>(1));
         std::uint32_t words[kernels::philox_group];
         kernels::philox_words({s.key ^ 0x6b6579666f6c6473, s.stream ^ n}, n, words);  // apart from every draw's words
         for (int i = 0; i < 2; ++i)
           b.out<std::int64_t>()[i] = static_cast<std::int64_t>(std::uint64_t{words[2 * i]} << 32 | words[2 * i + 1]);
       }};
     },
     .gradient = no_gradient,
     .examples = "i64[2]{0..99} i64[]{0..99}",
     .doc = "another key, from a key and a number"},
};

Attributes drawn(const Shape& shape, DType dtype) {
  return {{"dtype", std::string(to_string(dtype))}, {"shape", shape.sizes()}};
}

}  // namespace

std::span<const Op> random_ops() { return random_table; }

Tensor random_key(std::int64_t seed, std::int64_t stream) { return Tensor::from(std::vector{seed, stream}, {2}); }

Value fold_in(const Value& key, const Value& number) { return record("fold_in", {key, number}); }
Value fold_in(const Value& key, std::int64_t number) {
  return fold_in(key, Value(Tensor::from(std::vector{number}, {})));
}

Value random_uniform(const Value& key, const Shape& shape, double low, double high, DType dtype) {
  Attributes attributes = drawn(shape, dtype);
  attributes.set("low", low);
  attributes.set("high", high);
  return record("random_uniform", {key}, std::move(attributes));
}

Value random_normal(const Value& key, const Shape& shape, double mean, double deviation, DType dtype) {
  Attributes attributes = drawn(shape, dtype);
  attributes.set("mean", mean);
  attributes.set("deviation", deviation);
  return record("random_normal", {key}, std::move(attributes));
}

Value random_bernoulli(const Value& key, const Shape& shape, double p, DType dtype) {
  Attributes attributes = drawn(shape, dtype);
  attributes.set("p", p);
  return record("random_bernoulli", {key}, std::move(attributes));
}

Value random_integers(const Value& key, const Shape& shape, std::int64_t low, std::int64_t high) {
  return record("random_integers", {key}, {{"high", high}, {"low", low}, {"shape", shape.sizes()}});
}

Value dropout(const Value& x, const Value& key, double p) { return record("dropout", {x, key}, {{"p", p}}); }

}  // namespace reprise
