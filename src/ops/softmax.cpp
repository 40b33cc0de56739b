// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along one axis, each with a fused gradient that reads the output and dy.
#include "kernels/softmax.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view one =
    "f32[2,3] axis=-1; f32[2,3,4] axis=1; f32[5] axis=0; f32[3,70] axis=0; f32[2,70] axis=1; f32[0,3] axis=1; f32[3,0] "
    "axis=1; "
    "f32[2,1] axis=1";
constexpr std::string_view pair =
    "f32[2,3]{0.1..0.9} f32[2,3] axis=-1; f32[2,3,4]{0.1..0.9} f32[2,3,4] axis=1; f32[5]{0.1..0.9} f32[5] axis=0; "
    "f32[0,3] "
    "f32[0,3] axis=1; f32[2,1]{0.1..0.9} f32[2,1] axis=1";

std::vector<Type> along_type(const Signature& s) {
  expect_arity(s, 1);
  expect_float(s);
  normal_axis(s.name(), s.integer("axis"), s.in().shape.rank());
  return {s.in()};
}

std::vector<Type> gradient_type(const Signature& s) {
  expect_arity(s, 2);
  expect_float(s);
  if (s.in(0) != s.in(1))
    fail("[{}] {} and {} must be of one type: cast or reshape one of them", s.name(), to_string(s.in(0)),
         to_string(s.in(1)));
  normal_axis(s.name(), s.integer("axis"), s.in().shape.rank());
  return {s.in()};
}

kernels::AxisView view(const Signature& s) {
  return kernels::axis_view(s.in().shape, normal_axis(s.name(), s.integer("axis"), s.in().shape.rank()));
}

template <auto f>
Kernel one_input(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[v = view(s)](const Buffers& b) { f(v, b.in<T>(), b.out<T>()); }};
  });
}

template <auto f>
Kernel two_inputs(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[v = view(s)](const Buffers& b) { f(v, b.in<T>(0), b.in<T>(1), b.out<T>()); }};
  });
}

const Op softmax_table[] = {
    {.name = "softmax",
     .infer = along_type,
     .forward = one_input<[](auto... a) { kernels::softmax(a...); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("softmax_grad", {c.out(), dy[0]}, c.attributes())};
     },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = one,
     .onnx = "Softmax",
     .doc = "exp(x) / sum of exp(x) along an axis"},
    {.name = "softmax_grad",
     .infer = gradient_type,
     .forward = two_inputs<[](auto... a) { kernels::softmax_grad(a...); }>,
     .gradient = [](const Call& call, const Values& d) -> Values {
       return gradient_of_expression(call, d, [](const Call& c) -> Values {
         Value y = c.in(0), dy = c.in(1);
         return {y * (dy - sum(y * dy, {c.integer("axis")}, true))};
       });
     },
     .cost = per_element<4>,
     .may_overwrite = 3,
     .examples = pair,
     .doc = "gradient of softmax, from its output and dy"},
    {.name = "log_softmax",
     .infer = along_type,
     .forward = one_input<[](auto... a) { kernels::log_softmax(a...); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("log_softmax_grad", {c.out(), dy[0]}, c.attributes())};
     },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = one,
     .onnx = "LogSoftmax",
     .doc = "the logarithm of softmax, without overflow"},
    {.name = "log_softmax_grad",
     .infer = gradient_type,
     .forward = two_inputs<[](auto... a) { kernels::log_softmax_grad(a...); }>,
     .gradient = [](const Call& call, const Values& d) -> Values {
       return gradient_of_expression(call, d, [](const Call& c) -> Values {
         Value y = c.in(0), dy = c.in(1);
         return {dy - exp(y) * sum(dy, {c.integer("axis")}, true)};
       });
     },
     .cost = per_element<18>,
     .may_overwrite = 3,
     .examples = pair,
     .doc = "gradient of log_softmax, from its output and dy"},
};

}  // namespace

std::span<const Op> softmax_ops() { return softmax_table; }

Value softmax(const Value& x, std::int64_t axis) { return record("softmax", {x}, {{"axis", axis}}); }
Value log_softmax(const Value& x, std::int64_t axis) { return record("log_softmax", {x}, {{"axis", axis}}); }

}  // namespace reprise
