// SPDX-License-Identifier: Apache-2.0
// Activations, each with a fused gradient that reads dy and either the input or the output, whichever suffices.
#include "base/error.h"
#include "graph/backpropagate.h"
#include "kernels/math.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view any = "f32[2,3]; f32[0]; f64[5]; f32[]; f32[1,1]";
constexpr std::string_view any_pair = "f32[2,3] f32[2,3]; f32[0] f32[0]; f64[5] f64[5]; f32[] f32[]";
constexpr std::string_view off_zero = "f32[2,3]{0.1..2}; f32[4]{-2..-0.1}; f32[0]; f32[]{0.1..2}";
constexpr std::string_view off_zero_pair =
    "f32[2,3]{0.1..2} f32[2,3]; f32[4]{-2..-0.1} f32[4]; f32[0] f32[0]; f32[]{0.1..2} f32[]";

// A gradient op's inputs are the value it reads and dy, of one type.
std::vector<Type> pair_type(const Signature& s) {
  expect_arity(s, 2);
  expect_float(s);
  if (s.in(0) != s.in(1))
    fail("[{}] {} and {} must be of one type: cast or reshape one of them", s.name(), to_string(s.in(0)),
         to_string(s.in(1)));
  return {s.in()};
}

std::vector<Type> elu_type(const Signature& s) {
  if (!(s.real("alpha") >= 0)) fail("[{}] alpha is {}: it must not be negative", s.name(), s.real("alpha"));
  if (!(s.real("scale") > 0)) fail("[{}] scale is {}: it must be positive", s.name(), s.real("scale"));
  return s.arity() == 1 ? same_type(s) : pair_type(s);
}

std::vector<Type> leaky_type(const Signature& s) {
  s.real("slope");
  return s.arity() == 1 ? same_type(s) : pair_type(s);
}

std::vector<Type> hard_sigmoid_type(const Signature& s) {
  s.real("alpha"), s.real("beta");
  return s.arity() == 1 ? same_type(s) : pair_type(s);
}

// The gradient rule of an activation whose gradient op reads the input, or the output.
template <const char* grad>
Values from_input(const Call& c, const Values& dy) {
  return {record(grad, {c.in(), dy[0]}, c.attributes())};
}
template <const char* grad>
Values from_output(const Call& c, const Values& dy) {
  return {record(grad, {c.out(), dy[0]}, c.attributes())};
}
// The gradient of a gradient op that is piecewise linear: only dy carries one, by the op itself.
template <const char* grad>
Values linear_in_dy(const Call& c, const Values& dy) {
  return {Value{}, record(grad, {c.in(), dy[0]}, c.attributes())};
}
// The gradient of a gradient op that is dy * slope(x).
template <Value (*slope)(const Value&)>
Values by_expression(const Call& call, const Values& dy) {
  return gradient_of_expression(call, dy, [](const Call& c) -> Values { return {c.in(1) * slope(c.in(0))}; });
}

constexpr char relu_grad[] = "relu_grad", leaky_relu_grad[] = "leaky_relu_grad", sigmoid_grad[] = "sigmoid_grad",
               tanh_grad[] = "tanh_grad", elu_grad[] = "elu_grad", gelu_grad[] = "gelu_grad",
               gelu_tanh_grad[] = "gelu_tanh_grad", silu_grad[] = "silu_grad", mish_grad[] = "mish_grad",
               hard_sigmoid_grad[] = "hard_sigmoid_grad";

constexpr double root_2_over_pi = 0.79788456080286536, cubic = 0.044715;

// Slopes as expressions, for higher orders.
Value sigmoid_slope(const Value& y) { return y * (1 - y); }
Value tanh_slope(const Value& y) { return 1 - square(y); }
Value gelu_slope(const Value& x) {
  return 0.5 * (1 + erf(x * 0.70710678118654752)) + 0.39894228040143268 * x * exp(-0.5 * square(x));
}
Value gelu_tanh_slope(const Value& x) {
  Value t = tanh(root_2_over_pi * (x + cubic * x * square(x)));
  return 0.5 * (1 + t) + 0.5 * root_2_over_pi * x * (1 - square(t)) * (1 + 3 * cubic * square(x));
}
Value silu_slope(const Value& x) {
  Value s = sigmoid(x);
  return s * (1 + x * (1 - s));
}
Value mish_slope(const Value& x) {
  Value t = tanh(softplus(x));
  return t + x * sigmoid(x) * (1 - square(t));
}

const Op activation_table[] = {
    {.name = "relu",
     .infer = same_type,
     .forward = map_float<[](auto x) { return x < 0 ? decltype(x)(0) : x; }>,
     .gradient = from_output<relu_grad>,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = off_zero,
     .onnx = "Relu",
     .doc = "the larger of x and 0; its gradient at 0 is 0"},
    {.name = relu_grad,
     .infer = pair_type,
     .forward = map_float<([](auto y, auto dy) { return y > 0 ? dy : decltype(y)(0); })>,
     .gradient = linear_in_dy<relu_grad>,
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = off_zero_pair,
     .doc = "gradient of relu, from its output and dy"},
    {.name = "leaky_relu",
     .infer = leaky_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [slope = s.real("slope")](auto x) { return x > 0 ? x : x * decltype(x)(slope); });
     },
     .gradient = from_input<leaky_relu_grad>,
     .cost = per_element<2>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3]{0.1..2} slope=0.01; f32[4]{-2..-0.1} slope=0.2; f32[0] slope=0.0; f32[]{-2..-0.1} slope=-0.5",
     .doc = "x where positive, slope * x elsewhere"},
    {.name = leaky_relu_grad,
     .infer = leaky_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s,
                         [slope = s.real("slope")](auto x, auto dy) { return x > 0 ? dy : dy * decltype(x)(slope); });
     },
     .gradient = linear_in_dy<leaky_relu_grad>,
     .cost = per_element<2>,
     .may_overwrite = 3,
     .examples = "f32[2,3]{0.1..2} f32[2,3] slope=0.01; f32[4]{-2..-0.1} f32[4] slope=0.2; f32[0] f32[0] slope=0.0",
     .doc = "gradient of leaky_relu, from x and dy"},
    {.name = "sigmoid",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::sigmoid(x); }>,
     .gradient = from_output<sigmoid_grad>,
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Sigmoid",
     .doc = "1 / (1 + exp(-x))"},
    {.name = sigmoid_grad,
     .infer = pair_type,
     .forward = map_float<[](auto y, auto dy) { return dy * y * (1 - y); }>,
     .gradient = by_expression<sigmoid_slope>,
     .cost = per_element<3>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of sigmoid, from its output and dy"},
    {.name = "tanh",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::tanh(x); }>,
     .gradient = from_output<tanh_grad>,
     .cost = per_element<24>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Tanh",
     .doc = "hyperbolic tangent"},
    {.name = tanh_grad,
     .infer = pair_type,
     .forward = map_float<[](auto y, auto dy) { return dy * (1 - y * y); }>,
     .gradient = by_expression<tanh_slope>,
     .cost = per_element<3>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of tanh, from its output and dy"},
    {.name = "elu",
     .infer = elu_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [alpha = s.real("alpha"), scale = s.real("scale")](auto x) {
         using T = decltype(x);
         T low = T(alpha) * kernels::expm1(x);
         return T(scale) * (x > 0 ? x : low);
       });
     },
     .gradient = from_output<elu_grad>,
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3]{0.1..2} alpha=1.0 scale=1.0; f32[4]{-2..-0.1} alpha=1.5 scale=1.1; f32[0] alpha=0.0 scale=1.0",
     .doc = "scale * x where positive, scale * alpha * (exp(x) - 1) elsewhere"},
    {.name = elu_grad,
     .infer = elu_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [floor = s.real("alpha") * s.real("scale"), scale = s.real("scale")](auto y, auto dy) {
         using T = decltype(y);
         return dy * (y > 0 ? T(scale) : y + T(floor));
       });
     },
     .gradient = [](const Call& call, const Values& dy) -> Values {
       return gradient_of_expression(call, dy, [](const Call& c) -> Values {
         Value scale = full_like(c.in(0), c.real("scale"));
         return {c.in(1) * where(greater(c.in(0), 0), scale, c.in(0) + c.real("alpha") * c.real("scale"))};
       });
     },
     .cost = per_element<3>,
     .may_overwrite = 3,
     .examples = "f32[2,3]{0.1..2} f32[2,3] alpha=1.0 scale=1.0; f32[4]{-1.4..-0.1} f32[4] alpha=1.5 scale=1.1",
     .doc = "gradient of elu, from its output and dy"},
    {.name = "gelu",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::gelu(x); }>,
     .gradient = from_input<gelu_grad>,
     .cost = per_element<34>,
     .may_overwrite = 1,
     .examples = any,
     .doc = "x times the normal distribution function of x"},
    {.name = gelu_grad,
     .infer = pair_type,
     .forward = map_float<[](auto x, auto dy) { return dy * kernels::gelu_slope(x); }>,
     .gradient = by_expression<gelu_slope>,
     .cost = per_element<52>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of gelu, from x and dy"},
    {.name = "gelu_tanh",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::gelu_tanh(x); }>,
     .gradient = from_input<gelu_tanh_grad>,
     .cost = per_element<32>,
     .may_overwrite = 1,
     .examples = any,
     .doc = "gelu by tanh, as in GPT-2"},
    {.name = gelu_tanh_grad,
     .infer = pair_type,
     .forward = map_float<[](auto x, auto dy) { return dy * kernels::gelu_tanh_slope(x); }>,
     .gradient = by_expression<gelu_tanh_slope>,
     .cost = per_element<40>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of gelu_tanh, from x and dy"},
    {.name = "silu",
     .infer = same_type,
     .forward = map_float<[](auto x) { return x * kernels::sigmoid(x); }>,
     .gradient = from_input<silu_grad>,
     .cost = per_element<21>,
     .may_overwrite = 1,
     .examples = any,
     .doc = "x * sigmoid(x), also called swish"},
    {.name = silu_grad,
     .infer = pair_type,
     .forward = map_float<[](auto x, auto dy) {
       auto s = kernels::sigmoid(x);
       return dy * s * (1 + x * (1 - s));
     }>,
     .gradient = by_expression<silu_slope>,
     .cost = per_element<25>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of silu, from x and dy"},
    {.name = "mish",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::mish(x); }>,
     .gradient = from_input<mish_grad>,
     .cost = per_element<64>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Mish",
     .doc = "x * tanh(softplus(x))"},
    {.name = mish_grad,
     .infer = pair_type,
     .forward = map_float<[](auto x, auto dy) { return dy * kernels::mish_slope(x); }>,
     .gradient = by_expression<mish_slope>,
     .cost = per_element<90>,
     .may_overwrite = 3,
     .examples = any_pair,
     .doc = "gradient of mish, from x and dy"},
    {.name = "softplus",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::softplus(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * sigmoid(c.in())}; },
     .cost = per_element<44>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Softplus",
     .doc = "log(1 + exp(x)), without overflow"},
    {.name = "hard_sigmoid",
     .infer = hard_sigmoid_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [alpha = s.real("alpha"), beta = s.real("beta")](auto x) {
         using T = decltype(x);
         T y = T(alpha) * x + T(beta);
         y = y < 0 ? T(0) : y;
         return y > 1 ? T(1) : y;
       });
     },
     .gradient = from_output<hard_sigmoid_grad>,
     .cost = per_element<4>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3] alpha=0.16666666666666666 beta=0.5; f32[4]{3..4} alpha=0.2 beta=0.6; f32[0] alpha=0.2 beta=0.5",
     .onnx = "HardSigmoid",
     .doc = "alpha * x + beta between 0 and 1"},
    {.name = hard_sigmoid_grad,
     .infer = hard_sigmoid_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [alpha = s.real("alpha")](auto y, auto dy) {
         using T = decltype(y);
         T slope = y > 0 ? T(alpha) : T(0);
         return dy * (y < 1 ? slope : T(0));
       });
     },
     .gradient = linear_in_dy<hard_sigmoid_grad>,
     .cost = per_element<3>,
     .may_overwrite = 3,
     .examples = "f32[2,3]{0.1..0.9} f32[2,3] alpha=0.2 beta=0.5; f32[4]{1.1..2} f32[4] alpha=0.2 beta=0.6",
     .doc = "gradient of hard_sigmoid, from its output and dy"},
    {.name = "hard_swish",
     .infer = same_type,
     .forward = map_float<([](auto x) {
       using T = decltype(x);
       T y = x + 3 < 0 ? T(0) : x + 3;
       return x * (y > 6 ? T(6) : y) * T(1.0 / 6);
     })>,
     .gradient = [](const Call& call, const Values& dy) -> Values {
       return gradient_of_expression(call, dy, [](const Call& c) -> Values { return {c.in() * hard_sigmoid(c.in())}; });
     },
     .cost = per_element<5>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[4]{3.2..5}; f32[2]{-5..-3.2}; f32[0]; f32[]",
     .onnx = "HardSwish",
     .doc = "x * hard_sigmoid(x)"},
};

}  // namespace

std::span<const Op> activation_ops() { return activation_table; }

Value relu(const Value& x) { return record("relu", {x}); }
Value leaky_relu(const Value& x, double slope) { return record("leaky_relu", {x}, {{"slope", slope}}); }
Value prelu(const Value& x, const Value& slope) {
  return as_told_by("prelu", [&] { return relu(x) + slope * minimum(x, scalar_like(x, 0)); });
}
Value sigmoid(const Value& x) { return record("sigmoid", {x}); }
Value tanh(const Value& x) { return record("tanh", {x}); }
Value elu(const Value& x, double alpha) { return record("elu", {x}, {{"alpha", alpha}, {"scale", 1.0}}); }
Value selu(const Value& x) {
  return record("elu", {x}, {{"alpha", 1.6732632423543772}, {"scale", 1.0507009873554805}});
}
Value gelu(const Value& x) { return record("gelu", {x}); }
Value gelu_tanh(const Value& x) { return record("gelu_tanh", {x}); }
Value silu(const Value& x) { return record("silu", {x}); }
Value mish(const Value& x) { return record("mish", {x}); }
Value softplus(const Value& x) { return record("softplus", {x}); }
Value hard_sigmoid(const Value& x, double alpha, double beta) {
  return record("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}});
}
Value hard_swish(const Value& x) { return record("hard_swish", {x}); }

}  // namespace reprise
