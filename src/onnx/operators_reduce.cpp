// SPDX-License-Identifier: Apache-2.0
// Reductions, positions of extremes, running sums, softmax.
#include <numeric>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

using Reducing = Value (*)(const Value&, const Axes&, bool);

Axes every_axis(const Value& x) {
  Axes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Axes are an attribute, and an input from opset 18 on (ReduceSum: 13). None means all, or nothing at all where the
// node says so.
template <Reducing fn, int last_with_attribute>
Values reduced_by(const NodeCall& c) {
  Value x = c.in(0);
  Axes axes = c.integers_at("axes", last_with_attribute, 1);
  if (axes.empty() && c.flag("noop_with_empty_axes")) return {x};
  return {fn(x, axes.empty() ? every_axis(x) : axes, c.flag("keepdims", true))};
}

Value l1(const Value& x, const Axes& axes, bool keep) { return sum(abs(x), axes, keep); }
Value l2(const Value& x, const Axes& axes, bool keep) { return sqrt(sum(x * x, axes, keep)); }
Value log_sum(const Value& x, const Axes& axes, bool keep) { return log(sum(x, axes, keep)); }
Value sum_square(const Value& x, const Axes& axes, bool keep) { return sum(x * x, axes, keep); }
Value largest(const Value& x, const Axes& axes, bool keep) {
  return x.dtype() == DType::boolean ? any(x, axes, keep) : max(x, axes, keep);
}
Value smallest(const Value& x, const Axes& axes, bool keep) {
  return x.dtype() == DType::boolean ? all(x, axes, keep) : min(x, axes, keep);
}

template <Value (*fn)(const Value&, std::int64_t, bool)>
Values position(const NodeCall& c) {
  Value x = c.in(0);
  int axis = axis_of(c, c.integer("axis", 0), x.rank());
  bool keep = c.flag("keepdims", true);
  if (!c.flag("select_last_index")) return {fn(x, axis, keep)};
  Value last = number(static_cast<double>(x.shape()[axis] - 1), Value(Tensor::scalar(0, DType::i64)));
  return {last - fn(flip(x, {axis}), axis, keep)};
}

Values running_sum(const NodeCall& c) {
  return {cumsum(c.in(0), c.integer_of(1), c.flag("exclusive"), c.flag("reverse"))};
}

// Up to opset 12 x counts as a matrix whose columns begin at the axis.
template <Value (*fn)(const Value&, std::int64_t)>
Values over_matrix(const NodeCall& c) {
  Value x = c.in(0);
  int axis = axis_of(c, c.integer("axis", 1), x.rank());
  Value flat = axis == x.rank() - 1 ? x : flatten(x, axis);
  return {reshape(fn(flat, -1), x.shape())};
}
template <Value (*fn)(const Value&, std::int64_t)>
Values over_axis(const NodeCall& c) {
  return {fn(c.in(0), c.integer("axis", -1))};
}

Value hardmax(const Value& x, std::int64_t axis) {
  int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  if (at < 0 || at >= x.rank()) fail("[hardmax] axis {} does not exist in {} dimensions", axis, x.rank());
  return end_to_axis(one_hot(argmax(x, at), x.shape()[at], x.dtype()), at);
}

constexpr Operator reduce_table[] = {
    {"ArgMax", 1, 21, tells, position<argmax>},
    {"ArgMin", 1, 21, tells, position<argmin>},
    {"CumSum", 11, 21, computes, running_sum, 0b10},
    {"Hardmax", 1, 12, computes, over_matrix<hardmax>},
    {"Hardmax", 13, 21, computes, over_axis<hardmax>},
    {"LogSoftmax", 1, 12, computes, over_matrix<log_softmax>},
    {"LogSoftmax", 13, 21, computes, over_axis<log_softmax>},
    {"ReduceL1", 1, 21, computes, reduced_by<l1, 17>},
    {"ReduceL2", 1, 21, computes, reduced_by<l2, 17>},
    {"ReduceLogSum", 1, 21, computes, reduced_by<log_sum, 17>},
    {"ReduceLogSumExp", 1, 21, computes, reduced_by<logsumexp, 17>},
    {"ReduceMax", 1, 21, computes, reduced_by<largest, 17>},
    {"ReduceMean", 1, 21, computes, reduced_by<mean, 17>},
    {"ReduceMin", 1, 21, computes, reduced_by<smallest, 17>},
    {"ReduceProd", 1, 21, computes, reduced_by<prod, 17>},
    {"ReduceSum", 1, 21, computes, reduced_by<sum, 12>},
    {"ReduceSumSquare", 1, 21, computes, reduced_by<sum_square, 17>},
    {"Softmax", 1, 12, computes, over_matrix<softmax>},
    {"Softmax", 13, 21, computes, over_axis<softmax>},
};

}  // namespace

std::span<const Operator> reduce_operators() { return reduce_table; }

}  // namespace reprise::onnx
