// SPDX-License-Identifier: Apache-2.0
// Arithmetic, element by element, and casts.
#include <limits>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

// Up to opset 6 the second operand broadcasts only where `broadcast` says, from `axis` on.
Value second_operand(const NodeCall& c) {
  if (c.opset() > 6 || !c.has_attribute("axis")) return c.in(1);
  std::int64_t after = c.in(0).rank() - axis_of(c, c.integer("axis", 0), c.in(0).rank()) - c.in(1).rank();
  std::vector<std::int64_t> sizes = c.in(1).shape().sizes();
  for (std::int64_t i = 0; i < after; ++i) sizes.push_back(1);
  return reshape(c.in(1), checked_shape(c, sizes));
}

template <Value (*fn)(const Value&, const Value&)>
Values of_two(const NodeCall& c) {
  return {fn(c.in(0), second_operand(c))};
}

template <Value (*fn)(const Value&, const Value&)>
Values of_many(const NodeCall& c) {
  Values all = c.all();
  Value result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) result = fn(result, all[i]);
  return {result};
}

Values mean_of_many(const NodeCall& c) { return {of_many<add>(c)[0] / static_cast<double>(c.arity())}; }

// Integers to the power of integers, as long as f64 holds them; a known small exponent is multiplied out.
Value integer_power(const NodeCall& c, const Value& x, const Value& y) {
  const Tensor* exponent = c.known(1);
  if (exponent && exponent->elements() == 1 && exponent->item() >= 1 && exponent->item() <= 8) {
    Value result = x;
    for (int i = 1; i < static_cast<int>(exponent->item()); ++i) result = result * x;
    return expand(result, (result + reshape(cast(y, x.dtype()), y.shape())).shape());
  }
  return cast(pow(cast(x, DType::f64), cast(y, DType::f64)), x.dtype());
}

Values power(const NodeCall& c) {
  Value x = c.in(0), y = second_operand(c);
  if (!is_float(x.dtype())) return {integer_power(c, x, y)};
  const Tensor* exponent = c.known(1);
  if (exponent && exponent->elements() == 1 && exponent->shape().rank() <= x.rank()) return {pow(x, exponent->item())};
  return {pow(x, cast(y, x.dtype()))};
}

// Python's remainder, or with `fmod` C's, which has the dividend's sign.
Values remainder_of(const NodeCall& c) {
  Value x = c.in(0), y = c.in(1);
  if (!c.flag("fmod")) return {modulo(x, y)};
  return {sign(x) * modulo(abs(x), abs(y))};
}

Values relu_of(const NodeCall& c) {
  Value x = c.in(0);
  return {is_float(x.dtype()) ? relu(x) : maximum(x, number(0, x))};
}

Value tan_of(const Value& x) { return sin(x) / cos(x); }
Value sinh_of(const Value& x) { return (expm1(x) - expm1(-x)) * 0.5; }
Value cosh_of(const Value& x) { return (exp(x) + exp(-x)) * 0.5; }
Value acosh_of(const Value& x) { return log(x + sqrt(x * x - 1)); }
Value atanh_of(const Value& x) { return (log1p(x) - log1p(-x)) * 0.5; }
// log(|x| + sqrt(x² + 1)) without losing what is small.
Value asinh_of(const Value& x) {
  Value square = x * x;
  return sign(x) * log1p(abs(x) + square / (sqrt(square + 1) + 1));
}

struct Bounds {
  Value low, high;
};

Bounds bounds_of(const NodeCall& c) {
  if (c.opset() >= 11) return {c.maybe(1), c.maybe(2)};
  auto bound = [&](std::string_view name) {
    return c.has_attribute(name) ? number(c.real(name, 0), c.in(0)) : Value{};
  };
  return {bound("min"), bound("max")};
}

Values clip(const NodeCall& c) {
  Value x = c.in(0);
  auto [low, high] = bounds_of(c);
  const Tensor *l = c.opset() >= 11 ? c.known(1) : nullptr, *h = c.opset() >= 11 ? c.known(2) : nullptr;
  bool all_known = is_float(x.dtype()) && c.opset() >= 11 && (!low || l) && (!high || h);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  double from = c.real("min", l && l->elements() == 1 ? l->item() : -infinite);
  double to = c.real("max", h && h->elements() == 1 ? h->item() : infinite);
  if (is_float(x.dtype()) && (all_known || c.opset() < 11) && from <= to) return {clamp(x, from, to)};
  if (low) x = maximum(x, low);
  return {high ? minimum(x, high) : x};
}

std::int32_t cast_target(const NodeCall& c) {
  std::int64_t to = c.integer("to", 0);
  bool is_known = to > 0 && to <= element_bfloat16 && to != element_string && to != element_complex64 &&
                  to != element_complex128 && to != element_uint64;
  if (!is_known) unsupported("a cast to {} is not supported", element_name(static_cast<std::int32_t>(to)));
  return static_cast<std::int32_t>(to);
}

Values cast_to(const NodeCall& c) { return {to_element(c.in(0), cast_target(c))}; }

std::int32_t like_target(const NodeCall& c) { return c.data_type(1); }
Values cast_like(const NodeCall& c) {
  if (c.data_type(1) == element_uint64) unsupported("a cast to uint64 is not supported");
  return {to_element(c.in(0), c.data_type(1))};
}

constexpr Operator math_table[] = {
    {"Abs", 6, 21, computes, unary<abs>},
    {"Acosh", 9, 21, computes, unary<acosh_of>},
    {"Add", 6, 21, computes, of_two<add>},
    {"Asinh", 9, 21, computes, unary<asinh_of>},
    {"Atanh", 9, 21, computes, unary<atanh_of>},
    {"Cast", 6, 21, moves, cast_to, 0, cast_target},
    {"CastLike", 15, 21, moves, cast_like, 0, like_target},
    {"Ceil", 6, 21, computes, unary<ceil>},
    {"Clip", 6, 21, computes, clip, 0b110},
    {"Cos", 7, 21, computes, unary<cos>},
    {"Cosh", 9, 21, computes, unary<cosh_of>},
    {"Div", 6, 21, computes, of_two<divide>},
    {"Erf", 9, 21, computes, unary<erf>},
    {"Exp", 6, 21, computes, unary<exp>},
    {"Floor", 6, 21, computes, unary<floor>},
    {"Log", 6, 21, computes, unary<log>},
    {"Max", 6, 21, computes, of_many<maximum>},
    {"Mean", 6, 21, computes, mean_of_many},
    {"Min", 6, 21, computes, of_many<minimum>},
    {"Mod", 10, 21, computes, remainder_of},
    {"Mul", 6, 21, computes, of_two<multiply>},
    {"Neg", 6, 21, computes, unary<negate>},
    {"Pow", 6, 21, computes, power, 0b10},
    {"Reciprocal", 6, 21, computes, unary<reciprocal>},
    {"Relu", 6, 21, computes, relu_of},
    {"Round", 11, 21, computes, unary<round>},
    {"Sign", 9, 21, computes, unary<sign>},
    {"Sin", 7, 21, computes, unary<sin>},
    {"Sinh", 9, 21, computes, unary<sinh_of>},
    {"Sqrt", 6, 21, computes, unary<sqrt>},
    {"Sub", 6, 21, computes, of_two<subtract>},
    {"Sum", 6, 21, computes, of_many<add>},
    {"Tan", 7, 21, computes, unary<tan_of>},
};

}  // namespace

std::span<const Operator> math_operators() { return math_table; }

}  // namespace reprise::onnx
