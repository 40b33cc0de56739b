// SPDX-License-Identifier: Apache-2.0
// From a dtype known at run time to a type known at compile time.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "reprise/tensor.h"

namespace reprise {

/// Names an element type as a function argument: f(TypeTag<float>{}).
template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f with the TypeTag of any dtype.
template <class F>
decltype(auto) with_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(TypeTag<float>{});
    case DType::f64: return f(TypeTag<double>{});
    case DType::i32: return f(TypeTag<std::int32_t>{});
    case DType::i64: return f(TypeTag<std::int64_t>{});
    case DType::boolean: return f(TypeTag<bool>{});
    case DType::f16: return f(TypeTag<f16>{});
    case DType::bf16: return f(TypeTag<bf16>{});
  }
  fail("[internal] dtype {} does not exist", static_cast<int>(dtype));
}

/// Calls f with the TypeTag of f32 or f64; `who` is named in the error for any other dtype.
template <class F>
decltype(auto) with_float(std::string_view who, DType dtype, F&& f) {
  if (dtype == DType::f32) return f(TypeTag<float>{});
  if (dtype == DType::f64) return f(TypeTag<double>{});
  fail("[{}] computes in f32 and f64, not in {}: cast first", who, to_string(dtype));
}

/// Calls f with the TypeTag of f32, f64, i32 or i64.
template <class F>
decltype(auto) with_number(std::string_view who, DType dtype, F&& f) {
  if (dtype == DType::i32) return f(TypeTag<std::int32_t>{});
  if (dtype == DType::i64) return f(TypeTag<std::int64_t>{});
  if (dtype == DType::f32) return f(TypeTag<float>{});
  if (dtype == DType::f64) return f(TypeTag<double>{});
  fail("[{}] computes in f32, f64, i32 and i64, not in {}: cast first", who, to_string(dtype));
}

/// Refuses, in the name of `who`, a number that integers or bool of this dtype cannot hold: a fraction, or one out of
/// range. Floats hold every number.
void expect_holds(std::string_view who, DType dtype, double value);

/// The nearer float, but an inexact one always has an odd last bit: rounding it once more, to fewer bits, then gives
/// what rounding x directly would (Boldo and Melquiond, "When double rounding is odd").
template <class From>
float round_to_odd(From x) {
  using Wide = std::conditional_t<std::is_same_v<From, std::int64_t>, long double, double>;  // holds both exactly
  float nearest = static_cast<float>(x);
  Wide error = static_cast<Wide>(x) - static_cast<Wide>(nearest);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (error == 0 || error != error || bits % 2 == 1) return nearest;
  bool too_large = (error < 0) != (bits >> 31 == 1);
  return std::bit_cast<float>(too_large ? bits - 1 : bits + 1);
}

/// Toward zero; beyond the integers' range its end, NaN to 0.
template <class To, class From>
To to_integer(From x) {
  constexpr auto least = static_cast<From>(std::numeric_limits<To>::min());  // a power of two: exact
  if (x >= least && x < -least) return static_cast<To>(x);
  return x != x ? To(0) : x < 0 ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max();
}

/// One element converted: to an integer toward zero and within its range, to bool by "is not zero", to f16 and bf16 to
/// nearest even, in one rounding.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>)
    return To(std::is_same_v<From, float> ? static_cast<float>(x) : round_to_odd(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
    return to_integer<To>(x);
  else
    return static_cast<To>(x);
}

}  // namespace reprise
