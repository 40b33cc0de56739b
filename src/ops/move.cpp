// SPDX-License-Identifier: Apache-2.0
// Ops that move elements by strides: expand, transpose, flip, diagonals.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "graph/text.h"
#include "kernels/strided.h"
#include "ops/copy_kernel.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

std::vector<int> checked_order(std::string_view who, const std::vector<std::int64_t>& order, const Type& type) {
  std::vector<int> axes;
  for (std::int64_t axis : order) axes.push_back(normal_axis(who, axis, type.shape.rank()));
  std::vector<int> sorted = axes;
  std::ranges::sort(sorted);
  bool repeated = std::ranges::adjacent_find(sorted) != sorted.end();
  if (repeated || static_cast<int>(order.size()) != type.shape.rank())
    fail("[{}] order {} is not complete: name each of the {} axes of {} once", who, to_string(Attribute(order)),
         type.shape.rank(), to_string(type));
  return axes;
}

Shape ordered(const Shape& shape, const std::vector<int>& order) {
  Shape result;
  for (int axis : order) result.push_back(shape[axis]);
  return result;
}

std::vector<std::int64_t> inverse(const std::vector<int>& order) {
  std::vector<std::int64_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    result[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return result;
}

Kernel flip_kernel(const Signature& s) {
  Shape strides = s.in().shape.strides();
  std::int64_t offset = 0;
  for (int axis : normal_axes("flip", s.integers("axes"), s.in().shape.rank())) {
    offset += strides[axis] * std::max<std::int64_t>(0, s.in().shape[axis] - 1);
    strides[axis] = -strides[axis];
  }
  return read_strided(s, offset, strides);
}

// Where a diagonal begins, its length, and the strides of the array whose last dimension walks along it.
struct Diagonal {
  std::int64_t start = 0;
  Shape shape, strides;
};

Diagonal diagonal_of(const Signature& s, const Shape& shape) {
  int rank = shape.rank();
  if (rank < 2) fail("[{}] {} has no two axes: give a matrix or more", s.name(), to_string(shape));
  int a = normal_axis(s.name(), s.integer("axis1"), rank), b = normal_axis(s.name(), s.integer("axis2"), rank);
  if (a == b) fail("[{}] both axes are axis {} of {}: name two", s.name(), a, to_string(shape));
  std::int64_t offset = s.integer("offset"), down = std::max<std::int64_t>(0, -offset),
               right = std::max<std::int64_t>(0, offset);
  std::int64_t length = std::max<std::int64_t>(0, std::min(shape[a] - down, shape[b] - right));
  Shape strides = shape.strides();
  Diagonal d{.start = length == 0 ? 0 : down * strides[a] + right * strides[b]};
  for (int axis = 0; axis < rank; ++axis) {
    if (axis == a || axis == b) continue;
    d.shape.push_back(shape[axis]);
    d.strides.push_back(strides[axis]);
  }
  d.shape.push_back(length);
  d.strides.push_back(strides[a] + strides[b]);
  return d;
}

Attributes with_shape(Attributes attributes, const Shape& shape) {
  attributes.set("shape", shape.sizes());
  return attributes;
}

Attributes without_shape(const Call& c) {
  return {{"axis1", c.integer("axis1")}, {"axis2", c.integer("axis2")}, {"offset", c.integer("offset")}};
}

const Op move_table[] = {
    {.name = "expand",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape = shape_attribute(s);
       if (broadcast("expand", s.in().shape, shape) != shape)
         fail("[expand] {} does not broadcast to {}: only sizes of 1 and new leading axes grow", to_string(s.in()),
              to_string(shape));
       return {{s.in().dtype, shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return read_strided(s, 0, kernels::broadcast_strides(s.in().shape, s.out().shape));
     },
     .gradient = [](const Call& c, const Values& dy) -> Values { return {sum_to(dy[0], c.in().shape())}; },
     .examples = "f32[1,3] shape=[2,3]; f32[] shape=[4]; f32[2,1] shape=[3,2,2]; f32[1] shape=[0]; "
                 "f64[3,1,2] shape=[2,3,4,2]; i64[1,2]{0..9} shape=[3,2]; f32[2,1,1] shape=[2,1,3]",
     .onnx = "Expand",
     .doc = "repeated along dimensions of size 1, as NumPy broadcasts"},
    {.name = "transpose",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       return {{s.in().dtype, ordered(s.in().shape, checked_order("transpose", s.integers("order"), s.in()))}};
     },
     .forward = [](const Signature& s) -> Kernel {
       std::vector<int> order = checked_order("transpose", s.integers("order"), s.in());
       return read_strided(s, 0, ordered(s.in().shape.strides(), order));
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {transpose(dy[0], inverse(checked_order("transpose", c.integers("order"), c.in().type())))};
     },
     .examples = "f32[2,3] order=[1,0]; f32[2,3,4] order=[2,0,1]; f32[2,3,4,2] order=[0,2,1,3]; f32[] order=[]; "
                 "f32[0,3] order=[1,0]; f32[1,5] order=[-1,0]; f64[5,6] order=[1,0]; i64[3,2]{0..9} order=[1,0]; "
                 "f32[7,9] order=[1,0]; f32[4] order=[0]",
     .onnx = "Transpose",
     .doc = "dimensions in another order"},
    {.name = "flip",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       normal_axes("flip", s.integers("axes"), s.in().shape.rank());
       return {s.in()};
     },
     .forward = flip_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {flip(dy[0], c.integers("axes"))}; },
     .examples = "f32[2,3] axes=[1]; f32[2,3,4] axes=[0,-1]; f32[0,2] axes=[0]; f32[1] axes=[0]; f32[] axes=[]; "
                 "i32[5]{0..9} axes=[0]",
     .doc = "reversed along axes"},
    {.name = "diagonal",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       return {{s.in().dtype, diagonal_of(s, s.in().shape).shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       Diagonal d = diagonal_of(s, s.in().shape);
       return read_strided(s, d.start, d.strides);
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("diagonal_grad", {dy[0]}, with_shape(c.attributes(), c.in().shape()))};
     },
     .examples = "f32[3,3] axis1=0 axis2=1 offset=0; f32[2,4] axis1=0 axis2=1 offset=1; f32[4,2,3] axis1=2 axis2=0 "
                 "offset=-1; f32[2,2] axis1=0 axis2=1 offset=5; f32[0,3] axis1=0 axis2=-1 offset=0; f32[1,1] axis1=1 "
                 "axis2=0 offset=0; i64[3,2]{0..9} axis1=0 axis2=1 offset=0",
     .doc = "the diagonal of two axes, as the last axis"},
    {.name = "diagonal_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape = shape_attribute(s);
       if (diagonal_of(s, shape).shape != s.in().shape)
         fail("[diagonal_grad] input does not fit: the diagonal of {} is {}, not {}", to_string(shape),
              to_string(diagonal_of(s, shape).shape), to_string(s.in()));
       return {{s.in().dtype, shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       Diagonal d = diagonal_of(s, s.out().shape);
       return write_strided(s, d.start, d.strides);
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("diagonal", {dy[0]}, without_shape(c))};
     },
     .examples = "f32[3] axis1=0 axis2=1 offset=0 shape=[3,3]; f32[2,2] axis1=0 axis2=2 offset=-1 shape=[4,2,2]; "
                 "f32[0] axis1=0 axis2=1 offset=9 shape=[2,3]",
     .doc = "the last axis as the diagonal of zeros"},
};

}  // namespace

std::span<const Op> move_ops() { return move_table; }

Value expand(const Value& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  return record("expand", {x}, {{"shape", shape.sizes()}});
}

Value transpose(const Value& x) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return transpose(x, order);
}

Value transpose(const Value& x, const std::vector<std::int64_t>& order) {
  std::vector<int> axes = checked_order("transpose", order, x.type());
  if (std::ranges::is_sorted(axes)) return x;
  // Where only dimensions of size 1 change places, the elements do not move.
  std::vector<int> moving;
  std::ranges::copy_if(axes, std::back_inserter(moving), [&](int axis) { return x.shape()[axis] != 1; });
  if (std::ranges::is_sorted(moving)) return reshape(x, ordered(x.shape(), axes));
  return record("transpose", {x}, {{"order", order}});
}

Value swap_axes(const Value& x, std::int64_t a, std::int64_t b) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(normal_axis("swap_axes", a, x.rank()))],
            order[static_cast<std::size_t>(normal_axis("swap_axes", b, x.rank()))]);
  return transpose(x, order);
}

Value flip(const Value& x, const std::vector<std::int64_t>& axes) { return record("flip", {x}, {{"axes", axes}}); }

Value diagonal(const Value& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return record("diagonal", {x}, {{"axis1", axis1}, {"axis2", axis2}, {"offset", offset}});
}

Value trace(const Value& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  return as_told_by("trace", [&] { return sum(diagonal(x, offset, axis1, axis2), {-1}); });
}

}  // namespace reprise
