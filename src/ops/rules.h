// SPDX-License-Identifier: Apache-2.0
// What many ops share: inference rules with their errors, axes, costs, and small recording helpers for gradient rules.
#pragma once

#include <vector>

#include "reprise/graph.h"

namespace reprise {

// Checks; each throws an Error that names the op and the types.
void expect_arity(const Signature& s, int count);
void expect_float(const Signature& s, int input = 0);   // f32 or f64
void expect_number(const Signature& s, int input = 0);  // f32, f64, i32 or i64
void expect_integer(const Signature& s, int input);     // i32 or i64
void expect_dtype(const Signature& s, int input, DType dtype);
void expect_rank(const Signature& s, int input, int rank);
void expect_same_dtype(const Signature& s);  // of all inputs

// Inference rules.
std::vector<Type> same_type(const Signature& s);         // one float input
std::vector<Type> same_number_type(const Signature& s);  // one input of any number type
std::vector<Type> broadcast_type(const Signature& s);    // two numbers of one dtype, NumPy's broadcasting
std::vector<Type> broadcast_bool(const Signature& s);    // the same, but the result is bool

/// The shape two shapes broadcast to; an Error that names `who` and both where they do not.
Shape broadcast(std::string_view who, const Shape& a, const Shape& b);
/// An axis from -rank to rank-1 as 0 to rank-1.
int normal_axis(std::string_view who, std::int64_t axis, int rank);
/// Axes in any order, each once; sorted. Empty stays empty.
std::vector<int> normal_axes(std::string_view who, const std::vector<std::int64_t>& axes, int rank);

/// The attributes "shape" and "dtype"; errors name the op.
Shape shape_attribute(const Signature& s);
DType dtype_attribute(const Signature& s);

[[noreturn]] void rethrow_as_told_by(std::string_view who);
/// f(), whose errors are told in the name of the function that was called, not of the ops it is made of.
template <class F>
auto as_told_by(std::string_view who, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    rethrow_as_told_by(who);
  }
}

// Costs.
Cost moved_bytes(const Signature& s);  // no flops, everything read and written once
template <int flops_per_element>
Cost per_element(const Signature& s) {
  Cost cost = moved_bytes(s);
  cost.flops = flops_per_element * static_cast<double>(s.out().elements());
  return cost;
}
/// The op's own cost, or moved_bytes where it names none.
Cost cost_of(const Signature& s);

// Recording helpers.
/// A constant scalar of x's dtype.
Value scalar_like(const Value& x, double value);
/// The same for a number that the user gave to `who`: refused where x's dtype cannot hold it.
Value number_like(std::string_view who, const Value& x, double value);
Value full_like(const Value& x, double value);
Value zeros_like(const Value& x);
/// Recorded as zeros: the gradient of an output that nobody used.
bool is_zero(const Value& x);
/// Sums `dy` back to the shape that was broadcast to dy's.
Value sum_to(const Value& dy, const Shape& shape);

}  // namespace reprise
