// SPDX-License-Identifier: Apache-2.0
// Element-wise functions, comparisons, reductions, softmax, normalisation and losses.
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// Axes of a reduction; negative ones count from the back.
using Axes = std::vector<std::int64_t>;

// Arithmetic, with NumPy's broadcasting. A number takes the other side's dtype.
REPRISE_API Value add(const Value& a, const Value& b);
REPRISE_API Value subtract(const Value& a, const Value& b);
REPRISE_API Value multiply(const Value& a, const Value& b);
REPRISE_API Value divide(const Value& a, const Value& b);
// clang-format off
inline Value operator+(const Value& a, const Value& b) { return add(a, b); }
inline Value operator-(const Value& a, const Value& b) { return subtract(a, b); }
inline Value operator*(const Value& a, const Value& b) { return multiply(a, b); }
inline Value operator/(const Value& a, const Value& b) { return divide(a, b); }
inline Value operator+(const Value& a, double b) { return add(a, Tensor::scalar(b, a.dtype())); }
inline Value operator-(const Value& a, double b) { return subtract(a, Tensor::scalar(b, a.dtype())); }
inline Value operator*(const Value& a, double b) { return multiply(a, Tensor::scalar(b, a.dtype())); }
inline Value operator/(const Value& a, double b) { return divide(a, Tensor::scalar(b, a.dtype())); }
inline Value operator+(double a, const Value& b) { return add(Tensor::scalar(a, b.dtype()), b); }
inline Value operator-(double a, const Value& b) { return subtract(Tensor::scalar(a, b.dtype()), b); }
inline Value operator*(double a, const Value& b) { return multiply(Tensor::scalar(a, b.dtype()), b); }
inline Value operator/(double a, const Value& b) { return divide(Tensor::scalar(a, b.dtype()), b); }
// clang-format on

REPRISE_API Value negate(const Value& x);
inline Value operator-(const Value& x) { return negate(x); }
REPRISE_API Value square(const Value& x);
REPRISE_API Value sin(const Value& x);
REPRISE_API Value cos(const Value& x);
REPRISE_API Value tanh(const Value& x);

/// Over all axes, or over `axes` (none: the value itself). keepdims leaves reduced axes with size 1.
REPRISE_API Value sum(const Value& x);
REPRISE_API Value sum(const Value& x, const Axes& axes, bool keepdims = false);

}  // namespace reprise
