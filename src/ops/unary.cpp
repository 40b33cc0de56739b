// SPDX-License-Identifier: Apache-2.0
// Functions of one number, element by element. Activations are in activation.cpp.
#include <cmath>

#include "base/error.h"
#include "kernels/math.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view any = "f32[2,3]; f32[0]; f64[5]; f32[]; f32[1,1]";
constexpr std::string_view positive = "f32[2,3]{0.3..4}; f32[0]; f64[5]{0.3..4}; f32[]{0.3..4}";
constexpr std::string_view no_kink = "f32[2,3]{0.1..0.9}; f32[4]{-1.9..-1.1}; f32[0]; f32[]{0.1..0.4}";

Values no_gradient(const Call&, const Values&) { return {Value{}}; }  // zero almost everywhere

// The smallest integer has no opposite: it stays.
template <class T>
T magnitude(T x) {
  if constexpr (std::is_integral_v<T>) return x < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x)) : x;
  return std::fabs(x);
}

std::vector<Type> clamp_type(const Signature& s) {
  if (!(s.real("min") <= s.real("max")))
    fail("[{}] min is {}, max is {}: min must not be greater", s.name(), s.real("min"), s.real("max"));
  return s.arity() == 1 ? same_type(s) : broadcast_type(s);
}

const Op unary_table[] = {
    {.name = "negate",
     .infer = same_number_type,
     .forward = map_wrapping<[](auto x) { return -x; }>,
     .gradient = [](const Call&, const Values& dy) -> Values { return {-dy[0]}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]; i32[3]{-5..5}; f32[]",
     .onnx = "Neg",
     .doc = "-x"},
    {.name = "abs",
     .infer = same_number_type,
     .forward = map<[](auto x) { return magnitude(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * sign(c.in())}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]{0.1..2}; f32[4]{-2..-0.1}; f32[0]; i32[3]{-5..5}",
     .onnx = "Abs",
     .doc = "|x|; its gradient at 0 is 0"},
    {.name = "sign",
     .infer = same_number_type,
     .forward = map<([](auto x) { return x > 0   ? decltype(x)(1)
                                         : x < 0 ? decltype(x)(-1)
                                                 : x; })>,
     .gradient = no_gradient,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]{0.1..2}; f32[4]{-2..-0.1}; f32[0]; i32[5]{-2..2}",
     .onnx = "Sign",
     .doc = "-1, 0 or 1"},
    {.name = "square",
     .infer = same_number_type,
     .forward = map_wrapping<[](auto x) { return x * x; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {2 * c.in() * dy[0]}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]; f32[0]; f64[5]; i64[3]{-5..5}; f32[]",
     .doc = "x * x"},
    {.name = "one_minus",
     .infer = same_number_type,
     .forward = map_wrapping<[](auto x) { return 1 - x; }>,
     .gradient = [](const Call&, const Values& dy) -> Values { return {-dy[0]}; },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = any,
     .doc = "1 - x"},
    {.name = "reciprocal",
     .infer = same_type,
     .forward = map_float<[](auto x) { return 1 / x; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {-dy[0] * square(c.out())}; },
     .cost = per_element<4>,
     .may_overwrite = 1,
     .examples = positive,
     .onnx = "Reciprocal",
     .doc = "1 / x"},
    {.name = "exp",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::exp(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * c.out()}; },
     .cost = per_element<16>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Exp",
     .doc = "e to the x"},
    {.name = "expm1",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::expm1(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * (c.out() + 1)}; },
     .cost = per_element<16>,
     .may_overwrite = 1,
     .examples = any,
     .doc = "exp(x) - 1, exact near 0"},
    {.name = "log",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::log(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] / c.in()}; },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = positive,
     .onnx = "Log",
     .doc = "natural logarithm"},
    {.name = "log1p",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::log1p(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] / (c.in() + 1)}; },
     .cost = per_element<24>,
     .may_overwrite = 1,
     .examples = "f32[2,3]{-0.6..2}; f32[0]; f64[5]{-0.6..2}; f32[]{-0.5..1}",
     .doc = "log(1 + x), exact near 0"},
    {.name = "sqrt",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::sqrt(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {0.5 * dy[0] / c.out()}; },
     .cost = per_element<6>,
     .may_overwrite = 1,
     .examples = positive,
     .onnx = "Sqrt",
     .doc = "square root"},
    {.name = "rsqrt",
     .infer = same_type,
     .forward = map_float<[](auto x) { return 1 / std::sqrt(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {-0.5 * dy[0] * c.out() * square(c.out())}; },
     .cost = per_element<8>,
     .may_overwrite = 1,
     .examples = positive,
     .doc = "1 / sqrt(x)"},
    {.name = "sin",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::sin(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {dy[0] * cos(c.in())}; },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Sin",
     .doc = "sine of radians"},
    {.name = "cos",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::cos(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {-dy[0] * sin(c.in())}; },
     .cost = per_element<20>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Cos",
     .doc = "cosine of radians"},
    {.name = "erf",
     .infer = same_type,
     .forward = map_float<[](auto x) { return kernels::erf(x); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {1.1283791670955126 * dy[0] * exp(-square(c.in()))};
     },
     .cost = per_element<30>,
     .may_overwrite = 1,
     .examples = any,
     .onnx = "Erf",
     .doc = "error function"},
    {.name = "floor",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::floor(x); }>,
     .gradient = no_gradient,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = no_kink,
     .onnx = "Floor",
     .doc = "the largest integer not above x"},
    {.name = "ceil",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::ceil(x); }>,
     .gradient = no_gradient,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = no_kink,
     .onnx = "Ceil",
     .doc = "the smallest integer not below x"},
    {.name = "round",
     .infer = same_type,
     .forward = map_float<[](auto x) { return std::nearbyint(x); }>,
     .gradient = no_gradient,
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples = "f32[2,3]{0.6..1.4}; f32[4]{-2.4..-1.6}; f32[0]; f32[]{0.1..0.4}",
     .onnx = "Round",
     .doc = "the nearest integer, a half to the even one"},
    {.name = "clamp",
     .infer = clamp_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [min = s.real("min"), max = s.real("max")](auto x) {
         using T = decltype(x);
         T low = x < T(min) ? T(min) : x;
         return low > T(max) ? T(max) : low;
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("clamp_grad", {c.in(), dy[0]}, c.attributes())};
     },
     .cost = per_element<2>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3] min=-5.0 max=5.0; f32[4]{1.2..2} min=0.0 max=1.0; f32[0] min=0.0 max=0.0; f32[] min=-9.0 max=9.0",
     .doc = "x between min and max; the gradient passes where min <= x <= max"},
    {.name = "clamp_grad",
     .infer = clamp_type,
     .forward = [](const Signature& s) -> Kernel {
       return map_floats(s, [min = s.real("min"), max = s.real("max")](auto x, auto dy) {
         using T = decltype(x);
         T below = x < T(min) ? T(0) : dy;
         return x > T(max) ? T(0) : below;
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {Value{}, record("clamp_grad", {c.in(), dy[0]}, c.attributes())};
     },
     .cost = per_element<2>,
     .may_overwrite = 3,
     .examples =
         "f32[2,3] f32[2,3] min=-5.0 max=5.0; f32[4]{1.2..2} f32[4] min=0.0 max=1.0; f32[0] f32[0] min=0.0 max=0.0",
     .doc = "gradient of clamp, from x and dy"},
};

}  // namespace

std::span<const Op> unary_ops() { return unary_table; }

Value negate(const Value& x) { return record("negate", {x}); }
Value abs(const Value& x) { return record("abs", {x}); }
Value sign(const Value& x) { return record("sign", {x}); }
Value square(const Value& x) { return record("square", {x}); }
Value one_minus(const Value& x) { return record("one_minus", {x}); }
Value reciprocal(const Value& x) { return record("reciprocal", {x}); }
Value exp(const Value& x) { return record("exp", {x}); }
Value expm1(const Value& x) { return record("expm1", {x}); }
Value log(const Value& x) { return record("log", {x}); }
Value log1p(const Value& x) { return record("log1p", {x}); }
Value sqrt(const Value& x) { return record("sqrt", {x}); }
Value rsqrt(const Value& x) { return record("rsqrt", {x}); }
Value sin(const Value& x) { return record("sin", {x}); }
Value cos(const Value& x) { return record("cos", {x}); }
Value erf(const Value& x) { return record("erf", {x}); }
Value floor(const Value& x) { return record("floor", {x}); }
Value ceil(const Value& x) { return record("ceil", {x}); }
Value round(const Value& x) { return record("round", {x}); }
Value clamp(const Value& x, double min, double max) { return record("clamp", {x}, {{"min", min}, {"max", max}}); }

}  // namespace reprise
