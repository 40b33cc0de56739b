// SPDX-License-Identifier: Apache-2.0
// Functions of two numbers, element by element, with NumPy's broadcasting.
#include <cmath>
#include <type_traits>

#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view shapes =
    "f32[2,3] f32[2,3]; f32[2,3] f32[3]; f32[2,1] f32[1,4]; f32[] f32[5]; f32[0,3] f32[1,3]; i64[4]{1..9} "
    "i64[4]{1..9}; "
    "f32[2,1,3] f32[4,1]; f32[1] f32[1]; f64[2,3,2] f64[3,1]";

constexpr std::string_view positive_divisor =
    "f32[2,3] f32[2,3]{0.5..2}; f32[2,3] f32[3]{0.5..2}; f32[] f32[5]{1..2}; f32[2,1] f32[1,4]{1..2}; "
    "i64[4]{1..9} i64[4]{1..9}; f32[0,3] f32[1,3]{1..2}";
// Apart from each other, so that neither is near a tie.
constexpr std::string_view apart =
    "f32[2,3]{0..1} f32[2,3]{1.1..2}; f32[2,3]{1.1..2} f32[3]{0..1}; f32[2,1]{0..1} f32[1,4]{1.1..2}; "
    "f32[]{0..1} f32[5]{1.1..2}; f32[0,3] f32[1,3]; i64[4]{1..9} i64[4]{1..9}";

// Integers divide toward zero; dividing by zero gives 0 instead of stopping the process.
template <class T>
T quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0) return 0;
    if (y == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x));
  }
  return x / y;
}

// The remainder takes the divisor's sign, as in Python.
template <class T>
T remainder(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0 || y == -1) return 0;
    T r = static_cast<T>(x % y);
    return r != 0 && (r < 0) != (y < 0) ? static_cast<T>(r + y) : r;
  } else {
    T r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
}

// Gives dy to one operand of minimum or maximum: to the first where `first` holds.
Values choose(const Call& c, const Value& dy, const Value& first) {
  Value zero = scalar_like(dy, 0);
  return {sum_to(where(first, dy, zero), c.in(0).shape()), sum_to(where(first, zero, dy), c.in(1).shape())};
}

// The derivative of x^y by x is 0 where y is 0, even at x = 0; that by y is 0 where x is not positive.
Values pow_gradient(const Call& c, const Values& dy) {
  Value x = c.in(0), y = c.in(1), one = scalar_like(x, 1);
  Value dx = y * pow(x, where(equal(y, 0), one, y - 1));
  Value dexponent = c.out() * log(where(greater(x, 0), x, one));
  return {sum_to(dy[0] * dx, x.shape()), sum_to(dy[0] * dexponent, y.shape())};
}

const Op binary_table[] = {
    {.name = "add",
     .infer = broadcast_type,
     .forward = map_wrapping<[](auto x, auto y) { return x + y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0], c.in(0).shape()), sum_to(dy[0], c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Add",
     .doc = "a + b"},
    {.name = "subtract",
     .infer = broadcast_type,
     .forward = map_wrapping<[](auto x, auto y) { return x - y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0], c.in(0).shape()), sum_to(-dy[0], c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Sub",
     .doc = "a - b"},
    {.name = "multiply",
     .infer = broadcast_type,
     .forward = map_wrapping<[](auto x, auto y) { return x * y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0] * c.in(1), c.in(0).shape()), sum_to(dy[0] * c.in(0), c.in(1).shape())};
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = shapes,
     .onnx = "Mul",
     .doc = "a * b"},
    {.name = "divide",
     .infer = broadcast_type,
     .forward = map<[](auto x, auto y) { return quotient(x, y); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Value dx = dy[0] / c.in(1);
       return {sum_to(dx, c.in(0).shape()), sum_to(-dx * c.out(), c.in(1).shape())};
     },
     .cost = per_element<4>,
     .may_overwrite = 3,
     .examples = positive_divisor,
     .onnx = "Div",
     .doc = "a / b; integers toward zero, and 0 where b is 0"},
    {.name = "multiply_add",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 3);
       expect_float(s);
       expect_same_dtype(s);
       Shape factors = broadcast(s.name(), s.in(0).shape, s.in(1).shape);
       return {{s.in().dtype, broadcast(s.name(), factors, s.in(2).shape)}};
     },
     .forward = map_float<[](auto x, auto y, auto z) { return x * y + z; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0] * c.in(1), c.in(0).shape()), sum_to(dy[0] * c.in(0), c.in(1).shape()),
               sum_to(dy[0], c.in(2).shape())};
     },
     .cost = per_element<2>,
     .may_overwrite = 7,
     .examples = "f32[2,3] f32[2,3] f32[2,3]; f32[2,3,4] f32[3,1] f32[3,1]; f32[2,3] f32[3] f32[]; f32[2,1] f32[3] "
                 "f32[1]; f32[] "
                 "f32[4] f32[4]; f32[0,2] f32[2] f32[1]; f32[2,3] f32[] f32[3]",
     .doc = "a * b + c"},
    {.name = "modulo",
     .infer = broadcast_type,
     .forward = map<[](auto x, auto y) { return remainder(x, y); }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {sum_to(dy[0], c.in(0).shape()), sum_to(-dy[0] * floor(c.in(0) / c.in(1)), c.in(1).shape())};
     },
     .cost = per_element<10>,
     .may_overwrite = 3,
     .examples =
         "f32[2,3]{0.1..0.9} f32[2,3]{1..2}; f32[4]{-0.9..-0.1} f32[]{1..2}; i64[4]{-9..9} i64[4]{1..9}; f32[0] f32[1]",
     .doc = "a - b * floor(a / b); for integers 0 where b is 0"},
    {.name = "pow",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       expect_float(s);
       return broadcast_type(s);
     },
     .forward = map_float<[](auto x, auto y) { return std::pow(x, y); }>,
     .gradient = pow_gradient,
     .cost = per_element<40>,
     .may_overwrite = 3,
     .examples = "f32[2,3]{0.3..2} f32[2,3]; f32[2,3]{0.3..2} f32[3]; f32[2,1]{0.3..2} f32[1,4]; f32[]{0.3..2} f32[5]; "
                 "f32[0,3] f32[1,3]",
     .onnx = "Pow",
     .doc = "a to the power of b"},
    {.name = "minimum",
     .infer = broadcast_type,
     .forward = map<[](auto x, auto y) { return x <= y || x != x ? x : y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return choose(c, dy[0], less_equal(c.in(0), c.in(1)));
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = apart,
     .onnx = "Min",
     .doc = "the smaller; where equal the first takes the gradient, NaN wins"},
    {.name = "maximum",
     .infer = broadcast_type,
     .forward = map<[](auto x, auto y) { return x >= y || x != x ? x : y; }>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return choose(c, dy[0], greater_equal(c.in(0), c.in(1)));
     },
     .cost = per_element<1>,
     .may_overwrite = 3,
     .examples = apart,
     .onnx = "Max",
     .doc = "the larger; where equal the first takes the gradient, NaN wins"},
};

}  // namespace

std::span<const Op> binary_ops() { return binary_table; }

Value add(const Value& a, const Value& b) { return record("add", {a, b}); }
Value subtract(const Value& a, const Value& b) { return record("subtract", {a, b}); }
Value multiply(const Value& a, const Value& b) { return record("multiply", {a, b}); }
Value divide(const Value& a, const Value& b) { return record("divide", {a, b}); }
Value multiply_add(const Value& a, const Value& b, const Value& c) { return record("multiply_add", {a, b, c}); }
Value add(const Value& a, double b) { return add(a, number_like("add", a, b)); }
Value add(double a, const Value& b) { return add(number_like("add", b, a), b); }
Value subtract(const Value& a, double b) { return subtract(a, number_like("subtract", a, b)); }
Value subtract(double a, const Value& b) { return subtract(number_like("subtract", b, a), b); }
Value multiply(const Value& a, double b) { return multiply(a, number_like("multiply", a, b)); }
Value multiply(double a, const Value& b) { return multiply(number_like("multiply", b, a), b); }
Value divide(const Value& a, double b) { return divide(a, number_like("divide", a, b)); }
Value divide(double a, const Value& b) { return divide(number_like("divide", b, a), b); }
Value modulo(const Value& a, const Value& b) { return record("modulo", {a, b}); }
Value minimum(const Value& a, const Value& b) { return record("minimum", {a, b}); }
Value maximum(const Value& a, const Value& b) { return record("maximum", {a, b}); }
Value pow(const Value& a, const Value& b) { return record("pow", {a, b}); }
Value pow(const Value& x, double exponent) {
  if (!is_float(x.dtype())) return pow(x, scalar_like(x, 1));  // which refuses it
  if (exponent == 1) return x;
  if (exponent == 2) return square(x);
  if (exponent == 3) return x * square(x);
  if (exponent == 0.5) return sqrt(x);
  if (exponent == -0.5) return rsqrt(x);
  if (exponent == -1) return reciprocal(x);
  return pow(x, scalar_like(x, exponent));
}

}  // namespace reprise
