// SPDX-License-Identifier: Apache-2.0
#include "ops/rules.h"

#include <algorithm>
#include <typeinfo>

#include "base/error.h"
#include "graph/text.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {

void expect_arity(const Signature& s, int count) {
  if (s.arity() != count)
    fail("[{}] was given {} input{}: it takes {}", s.name(), s.arity(), s.arity() == 1 ? "" : "s", count);
}

void expect_float(const Signature& s, int input) {
  DType d = s.in(input).dtype;
  if (d != DType::f32 && d != DType::f64)
    fail("[{}] computes in f32 and f64, input {} is {}: cast it first", s.name(), input, to_string(s.in(input)));
}

void expect_number(const Signature& s, int input) {
  DType d = s.in(input).dtype;
  if (d != DType::f32 && d != DType::f64 && d != DType::i32 && d != DType::i64)
    fail("[{}] computes in f32, f64, i32 and i64, input {} is {}: cast it first", s.name(), input,
         to_string(s.in(input)));
}

void expect_integer(const Signature& s, int input) {
  DType d = s.in(input).dtype;
  if (d != DType::i32 && d != DType::i64)
    fail("[{}] input {} must be i32 or i64, it is {}: cast it first", s.name(), input, to_string(s.in(input)));
}

void expect_dtype(const Signature& s, int input, DType dtype) {
  if (s.in(input).dtype != dtype)
    fail("[{}] input {} must be {}, it is {}: cast it first", s.name(), input, to_string(dtype),
         to_string(s.in(input)));
}

void expect_rank(const Signature& s, int input, int rank) {
  if (s.in(input).shape.rank() != rank)
    throw RankError(fmt::format("[{}] input {} must have {} dimensions, it is {}: reshape it first", s.name(), input,
                                rank, to_string(s.in(input))));
}

void expect_same_dtype(const Signature& s) {
  for (int i = 1; i < s.arity(); ++i)
    if (s.in(i).dtype != s.in(0).dtype)
      fail("[{}] the dtypes of {} and {} differ: cast one of them", s.name(), to_string(s.in(0)), to_string(s.in(i)));
}

std::vector<Type> same_type(const Signature& s) {
  expect_arity(s, 1);
  expect_float(s);
  return {s.in()};
}

std::vector<Type> same_number_type(const Signature& s) {
  expect_arity(s, 1);
  expect_number(s);
  return {s.in()};
}

std::vector<Type> broadcast_type(const Signature& s) {
  expect_arity(s, 2);
  expect_same_dtype(s);
  expect_number(s);
  return {{s.in().dtype, broadcast(s.name(), s.in(0).shape, s.in(1).shape)}};
}

std::vector<Type> broadcast_bool(const Signature& s) {
  expect_arity(s, 2);
  expect_same_dtype(s);
  return {{DType::boolean, broadcast(s.name(), s.in(0).shape, s.in(1).shape)}};
}

Shape broadcast(std::string_view who, const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    std::int64_t x = a[a.rank() - back], y = b[b.rank() - back];
    if (x != y && x != 1 && y != 1)
      throw BroadcastError(
          fmt::format("[{}] shapes {} and {} do not broadcast: sizes must be equal or 1, counted from the right", who,
                      to_string(a), to_string(b)));
    result[result.rank() - back] = x == 1 ? y : x;
  }
  return result;
}

int normal_axis(std::string_view who, std::int64_t axis, int rank) {
  if (rank == 0) fail("[{}] axis {} does not exist: a scalar has none", who, axis);
  if (axis < -rank || axis >= rank)
    fail("[{}] axis {} does not exist in {} dimensions: axes go from {} to {}", who, axis, rank, -rank, rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> normal_axes(std::string_view who, const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> normal;
  for (std::int64_t axis : axes) normal.push_back(normal_axis(who, axis, rank));
  std::ranges::sort(normal);
  if (auto twice = std::ranges::adjacent_find(normal); twice != normal.end())
    fail("[{}] axis {} is twice in {}: name each axis once", who, *twice, to_string(Attribute(axes)));
  return normal;
}

Shape shape_attribute(const Signature& s) {
  return as_told_by(s.name(), [&] { return Shape(s.integers("shape")); });
}

DType dtype_attribute(const Signature& s) {
  return as_told_by(s.name(), [&] { return parse_dtype(s.text("dtype")); });
}

namespace {

// "[max] axis 1 is empty" told by logsumexp is "[logsumexp] axis 1 is empty".
std::string retold(std::string_view who, std::string_view what) {
  std::size_t end = what.starts_with('[') && !what.starts_with("[internal]") ? what.find("] ") : std::string::npos;
  return fmt::format("[{}] {}", who, end == std::string::npos ? what : what.substr(end + 2));
}

}  // namespace

void rethrow_as_told_by(std::string_view who) {
  try {
    throw;
  } catch (const BroadcastError& e) {
    throw BroadcastError(retold(who, e.what()));
  } catch (const RankError& e) {
    throw RankError(retold(who, e.what()));
  } catch (const Error& e) {
    if (typeid(e) != typeid(Error)) throw;
    throw Error(retold(who, e.what()));
  }
}

Cost moved_bytes(const Signature& s) {
  Cost cost;
  for (const Type& type : s.inputs) cost.bytes += static_cast<double>(type.bytes());
  for (const Type& type : s.outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Cost cost_of(const Signature& s) {
  if (s.op.view_of >= 0) return {};
  return s.op.cost ? s.op.cost(s) : moved_bytes(s);
}

Value number_like(std::string_view who, const Value& x, double value) {
  expect_holds(who, x.dtype(), value);
  return scalar_like(x, value);
}

Value scalar_like(const Value& x, double value) { return Tensor::scalar(value, x.dtype()); }

Value full_like(const Value& x, double value) {
  Attributes attributes{{"shape", x.shape().sizes()}, {"dtype", std::string(to_string(x.dtype()))}, {"value", value}};
  return {x.graph(), {x.graph()->add(*find_op("full"), {}, std::move(attributes)), 0}};
}

Value zeros_like(const Value& x) { return full_like(x, 0); }

bool is_zero(const Value& x) {
  const Node& node = x.graph()->node(x.ref().node);
  return node.op->name == "full" && std::get<double>(*node.attributes.find("value")) == 0;
}

Value sum_to(const Value& dy, const Shape& shape) {
  if (dy.shape() == shape) return dy;
  std::vector<std::int64_t> axes;
  int extra = dy.rank() - shape.rank();
  for (int axis = 0; axis < dy.rank(); ++axis)
    if (axis < extra || (shape[axis - extra] == 1 && dy.shape()[axis] != 1)) axes.push_back(axis);
  return reshape(axes.empty() ? dy : sum(dy, axes), shape);
}

}  // namespace reprise
