// SPDX-License-Identifier: Apache-2.0
// Element-wise ops from a function of one, two or three numbers.
#pragma once

#include "kernels/broadcast.h"
#include "reprise/graph.h"
#include "tensor/dispatch.h"

namespace reprise {

/// y[i] = f(x[i]), in x's type T.
template <class T, class F>
Kernel map_as(const Signature& s, F f) {
  return {[f, n = s.out().elements()](const Buffers& b) { kernels::map(b.in<T>(), b.out<T>(), n, f); }};
}

/// z = f(x, y) with NumPy's broadcasting, from T to U.
template <class T, class U, class F>
Kernel zip_as(const Signature& s, F f) {
  return {[f, plan = kernels::plan_broadcast<2>({s.in(0).shape, s.in(1).shape}, s.out().shape)](const Buffers& b) {
    kernels::zip(plan, b.in<T>(0), b.in<T>(1), b.out<U>(), f);
  }};
}

/// For inputs of f32 or f64; `f` may hold attributes of the op.
template <class F>
Kernel map_floats(const Signature& s, F f) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) { return map_as<typename decltype(tag)::type>(s, f); });
}
template <class F>
Kernel zip_floats(const Signature& s, F f) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return zip_as<T, T>(s, f);
  });
}

// As rows of a table: .forward = map<[](auto x) { return -x; }>
template <auto f>
Kernel map(const Signature& s) {  // any number type
  return with_number(s.name(), s.in().dtype, [&](auto tag) { return map_as<typename decltype(tag)::type>(s, f); });
}
template <auto f>
Kernel map_float(const Signature& s) {
  return map_floats(s, f);
}
template <auto f>
Kernel zip(const Signature& s) {  // any number type
  return with_number(s.name(), s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return zip_as<T, T>(s, f);
  });
}
template <auto f>
Kernel zip_float(const Signature& s) {
  return zip_floats(s, f);
}

}  // namespace reprise
