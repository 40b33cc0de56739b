// SPDX-License-Identifier: Apache-2.0
// From a dtype known at run time to a type known at compile time.
#pragma once

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

/// One element converted: to an integer toward zero, to bool by "is not zero", to f16 and bf16 to nearest even.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<From, f16> || std::is_same_v<From, bf16>)
    return convert<To>(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>)
    return To(static_cast<float>(x));
  else if constexpr (std::is_same_v<To, bool>)
    return x != From(0);
  else
    return static_cast<To>(x);
}

}  // namespace reprise
