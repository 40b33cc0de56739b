// SPDX-License-Identifier: Apache-2.0
// Element-wise ops from a function of one, two or three numbers.
#pragma once

#include "kernels/elementwise.h"
#include "reprise/graph.h"
#include "tensor/dispatch.h"

namespace reprise {

/// The op that runs `loop` over its inputs, with NumPy's broadcasting.
Kernel element_kernel(const Signature& s, const kernels::ElementLoop& loop);

// Loops from T to T, of as many inputs as f takes.
template <class T, class F>
kernels::ElementLoop same_type_loop(F f) {
  if constexpr (std::is_invocable_v<F, T>)
    return kernels::element_loop<T, T>(f);
  else if constexpr (std::is_invocable_v<F, T, T>)
    return kernels::element_loop<T, T, T>(f);
  else
    return kernels::element_loop<T, T, T, T>(f);
}

/// For inputs of f32 or f64; `f` may hold attributes of the op.
template <class F>
Kernel map_floats(const Signature& s, F f) {
  return element_kernel(
      s, with_float(s.name(), s.in().dtype, [&](auto tag) { return same_type_loop<typename decltype(tag)::type>(f); }));
}

// As rows of a table: .forward = map<[](auto x) { return -x; }>
template <auto f>
Kernel map(const Signature& s) {  // any number type
  return element_kernel(
      s, with_number(s.name(), s.in().dtype, [](auto tag) { return same_type_loop<typename decltype(tag)::type>(f); }));
}
/// Any number type; integers wrap around, computed as unsigned.
template <auto f>
Kernel map_wrapping(const Signature& s) {
  return element_kernel(s, with_number(s.name(), s.in().dtype, [](auto tag) {
                          using T = typename decltype(tag)::type;
                          if constexpr (std::is_integral_v<T>)
                            return same_type_loop<std::make_unsigned_t<T>>(f);
                          else
                            return same_type_loop<T>(f);
                        }));
}
template <auto f>
Kernel map_float(const Signature& s) {
  return map_floats(s, f);
}

}  // namespace reprise
