// SPDX-License-Identifier: Apache-2.0
// Reading and writing where indices say. Two ways of addressing share all kernels: whole rows along an axis (gather,
// index_copy), and single elements along an axis (gather_elements, scatter). Each way has four ops: take, its adjoint
// (add into zeros), set, and the adjoint of set.
#include <algorithm>

#include "base/error.h"
#include "kernels/copy.h"
#include "kernels/rows.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

enum class By { row, element };

int axis_of(const Signature& s, const Shape& x) { return normal_axis(s.name(), s.integer("axis"), x.rank()); }

std::int64_t product(const Shape& shape, int from, int to) {
  std::int64_t n = 1;
  for (int axis = from; axis < to; ++axis) n *= shape[axis];
  return n;
}

// The shape of what is taken from, or put into, `x`: x[:axis] + indices + x[axis+1:], or that of the indices.
template <By by>
Shape taken_shape(const Signature& s, const Shape& x) {
  expect_integer(s, 1);
  int axis = axis_of(s, x);
  const Shape& indices = s.in(1).shape;
  if (by == By::element) {
    bool fits = indices.rank() == x.rank();
    for (int a = 0; fits && a < x.rank(); ++a) fits = a == axis || indices[a] == x[a];
    if (!fits)
      fail("[{}] indices {} for {} along axis {}: all other sizes must be equal", s.name(), to_string(s.in(1)),
           to_string(x), axis);
    return indices;
  }
  Shape shape(std::span(x.begin(), x.begin() + axis));
  for (std::int64_t size : indices) shape.push_back(size);
  for (int a = axis + 1; a < x.rank(); ++a) shape.push_back(x[a]);
  return shape;
}

template <By by>
kernels::Rows rows_of(const Signature& s, const Shape& x) {
  int axis = axis_of(s, x);
  std::int64_t outer = product(x, 0, axis), inner = product(x, axis + 1, x.rank());
  kernels::Rows r;
  r.groups = outer;
  if (by == By::row)
    r.positions = s.in(1).elements(), r.rows = x[axis], r.length = inner;
  else
    r.positions = s.in(1).shape[axis] * inner, r.rows = x[axis] * inner, r.inner = inner;
  r.indices = {nullptr, s.in(1).dtype == DType::i64, x[axis]};
  return r;
}

// Makes a kernel of f(rows, buffers), which runs after every index has been checked.
template <By by, class F>
Kernel indexed(const Signature& s, const Shape& x, F f) {
  return {[rows = rows_of<by>(s, x), name = s.name(), count = s.in(1).elements(), axis = axis_of(s, x), x,
           f](const Buffers& b) {
    kernels::Rows r = rows;
    r.indices.data = b.inputs[1];
    if (std::int64_t at = kernels::find_outside(r.indices, count); at >= 0)
      fail("[{}] index {} at position {} does not exist along axis {} of {}: indices go from {} to {}", name,
           r.indices.raw(at), at, axis, to_string(x), -r.indices.size, r.indices.size - 1);
    if (r.groups * r.positions > 0 && r.rows * r.length > 0) f(r, b);
  }};
}

// For kernels that only move elements: dispatch by width.
template <class F>
Kernel by_width(DType dtype, F f) {
  switch (size_of(dtype)) {
    case 1: return f(TypeTag<std::uint8_t>{});
    case 2: return f(TypeTag<std::uint16_t>{});
    case 4: return f(TypeTag<std::uint32_t>{});
    default: return f(TypeTag<std::uint64_t>{});
  }
}

template <By by>
std::vector<Type> take_type(const Signature& s) {
  expect_arity(s, 2);
  return {{s.in().dtype, taken_shape<by>(s, s.in().shape)}};
}

template <By by>
Kernel take_kernel(const Signature& s) {
  return by_width(s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return indexed<by>(s, s.in().shape,
                       [](const kernels::Rows& r, const Buffers& b) { kernels::take_rows(r, b.in<T>(), b.out<T>()); });
  });
}

template <By by>
std::vector<Type> add_type(const Signature& s) {
  expect_arity(s, 2);
  expect_number(s);
  Shape x = shape_attribute(s);
  if (taken_shape<by>(s, x) != s.in().shape)
    fail("[{}] {} does not fit: it must be what indices {} take from {} along axis {}", s.name(), to_string(s.in()),
         to_string(s.in(1)), to_string(x), s.integer("axis"));
  return {{s.in().dtype, x}};
}

template <By by>
Kernel add_kernel(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel add = indexed<by>(s, s.out().shape, [](const kernels::Rows& r, const Buffers& b) {
      kernels::add_rows(r, b.in<T>(), b.out<T>());
    });
    return {[run = add.run, bytes = s.out().bytes()](const Buffers& b) {
      kernels::fill_zero(b.outputs[0], bytes);
      run(b);
    }};
  });
}

template <By by>
std::vector<Type> set_type(const Signature& s) {
  expect_arity(s, 3);
  Shape taken = taken_shape<by>(s, s.in().shape);
  if (s.in(2).dtype != s.in().dtype || s.in(2).shape != taken)
    fail("[{}] updates {} do not fit: indices {} along axis {} of {} want {}", s.name(), to_string(s.in(2)),
         to_string(s.in(1)), s.integer("axis"), to_string(s.in()), to_string(Type{s.in().dtype, taken}));
  return {s.in()};
}

template <By by>
Kernel set_kernel(const Signature& s) {
  return by_width(s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Kernel set = indexed<by>(s, s.in().shape, [](const kernels::Rows& r, const Buffers& b) {
      kernels::set_rows(r, b.in<T>(2), b.out<T>());
    });
    Shape flat{s.in().elements()}, one{1};
    return {[run = set.run, copy = kernels::StridedCopy(sizeof(T), flat, one, one)](const Buffers& b) {
      if (b.inputs[0] != b.outputs[0]) copy.run(b.inputs[0], b.outputs[0]);
      run(b);
    }};
  });
}

template <By by>
Kernel winners_kernel(const Signature& s) {
  return by_width(s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Kernel kernel = indexed<by>(s, s.in().shape, [](const kernels::Rows& r, const Buffers& b) {
      kernels::take_winners(r, b.in<T>(), b.out<T>(), static_cast<std::uint8_t*>(b.scratch));
    });
    kernel.scratch_bytes = s.in().elements();
    return kernel;
  });
}

Attributes with_shape(const Call& c, const Shape& shape) {
  return {{"axis", c.integer("axis")}, {"shape", shape.sizes()}};
}
Attributes axis_only(const Call& c) { return {{"axis", c.integer("axis")}}; }

const Op gather_table[] = {
    {.name = "gather",
     .infer = take_type<By::row>,
     .forward = take_kernel<By::row>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("gather_grad", {dy[0], c.in(1)}, with_shape(c, c.in().shape())), {}};
     },
     .examples = "f32[4,3] i64[2]{-4..3} axis=0; f32[2,5,3] i32[2,2]{-5..4} axis=1; f32[3] i64[]{0..2} axis=-1; "
                 "f32[2,3] i64[0]{0..1} axis=0; f32[2,1] i64[4]{-1..0} axis=1; i64[4]{0..9} i64[3]{0..3} axis=0; "
                 "f64[3,2] i64[7]{0..2} axis=0; f32[0,2] i64[0]{0..1} axis=0",
     .onnx = "Gather",
     .doc = "rows along an axis that indices name"},
    {.name = "gather_grad",
     .infer = add_type<By::row>,
     .forward = add_kernel<By::row>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {gather(dy[0], c.in(1), c.integer("axis")), {}};
     },
     .examples = "f32[2,3] i64[2]{-4..3} axis=0 shape=[4,3]; f32[2,2,2,3] i32[2,2]{0..4} axis=1 shape=[2,5,3]; "
                 "f32[9] i64[9]{0..2} axis=0 shape=[3]; f32[0,2] i64[0]{0..1} axis=0 shape=[3,2]",
     .doc = "the adjoint of gather: rows added into zeros where indices say"},
    {.name = "index_copy",
     .infer = set_type<By::row>,
     .forward = set_kernel<By::row>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("index_copy", {dy[0], c.in(1), zeros_like(c.in(2))}, axis_only(c)),
               {},
               record("index_copy_grad", {dy[0], c.in(1)}, axis_only(c))};
     },
     .may_overwrite = 1,
     .examples = "f32[4,3] i64[2]{-4..3} f32[2,3] axis=0; f32[2,5] i32[6]{0..4} f32[2,6] axis=1; "
                 "f32[3] i64[]{0..2} f32[] axis=0; f32[3,2] i64[0]{0..1} f32[0,2] axis=0",
     .doc = "x with the rows that indices name replaced; the last of equal indices wins"},
    {.name = "index_copy_grad",
     .infer = take_type<By::row>,
     .forward = winners_kernel<By::row>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("index_copy", {zeros_like(c.in()), c.in(1), dy[0]}, axis_only(c)), {}};
     },
     .examples = "f32[4,3] i64[5]{-4..3} axis=0; f32[2,3] i32[4]{0..2} axis=1; f32[2,3] i64[0]{0..2} axis=1",
     .doc = "the adjoint of index_copy in its updates"},
    {.name = "gather_elements",
     .infer = take_type<By::element>,
     .forward = take_kernel<By::element>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("gather_elements_grad", {dy[0], c.in(1)}, with_shape(c, c.in().shape())), {}};
     },
     .examples = "f32[4,3] i64[2,3]{-4..3} axis=0; f32[2,5,3] i32[2,4,3]{0..4} axis=1; f32[3] i64[5]{0..2} axis=-1; "
                 "f32[2,3] i64[2,0]{0..1} axis=1; i64[2,2]{0..9} i64[2,1]{0..1} axis=1",
     .onnx = "GatherElements",
     .doc = "one element per index along an axis"},
    {.name = "gather_elements_grad",
     .infer = add_type<By::element>,
     .forward = add_kernel<By::element>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {gather_elements(dy[0], c.in(1), c.integer("axis")), {}};
     },
     .examples = "f32[2,3] i64[2,3]{-4..3} axis=0 shape=[4,3]; f32[2,6] i32[2,6]{0..2} axis=1 shape=[2,3]",
     .doc = "the adjoint of gather_elements: elements added into zeros where indices say"},
    {.name = "scatter",
     .infer = set_type<By::element>,
     .forward = set_kernel<By::element>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("scatter", {dy[0], c.in(1), zeros_like(c.in(2))}, axis_only(c)),
               {},
               record("scatter_grad", {dy[0], c.in(1)}, axis_only(c))};
     },
     .may_overwrite = 1,
     .examples = "f32[4,3] i64[2,3]{-4..3} f32[2,3] axis=0; f32[2,3] i32[2,6]{0..2} f32[2,6] axis=1; "
                 "f32[3] i64[0]{0..1} f32[0] axis=0; i64[4]{0..9} i64[2]{0..3} i64[2]{0..9} axis=0",
     .onnx = "ScatterElements",
     .doc = "x with one element per index replaced; the last of equal indices wins"},
    {.name = "scatter_grad",
     .infer = take_type<By::element>,
     .forward = winners_kernel<By::element>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("scatter", {zeros_like(c.in()), c.in(1), dy[0]}, axis_only(c)), {}};
     },
     .examples = "f32[4,3] i64[6,3]{-4..3} axis=0; f32[2,3] i32[2,4]{0..2} axis=1",
     .doc = "the adjoint of scatter in its updates"},
};

}  // namespace

std::span<const Op> gather_ops() { return gather_table; }

Value gather(const Value& x, const Value& indices, std::int64_t axis) {
  return record("gather", {x, indices}, {{"axis", axis}});
}
Value gather_elements(const Value& x, const Value& indices, std::int64_t axis) {
  return record("gather_elements", {x, indices}, {{"axis", axis}});
}
Value index_copy(const Value& x, const Value& indices, const Value& updates, std::int64_t axis) {
  return record("index_copy", {x, indices, updates}, {{"axis", axis}});
}
Value index_add(const Value& x, const Value& indices, const Value& updates, std::int64_t axis) {
  return as_told_by("index_add", [&] {
    return x + record("gather_grad", {updates, indices}, {{"axis", axis}, {"shape", x.shape().sizes()}});
  });
}
Value scatter(const Value& x, const Value& indices, const Value& updates, std::int64_t axis) {
  return record("scatter", {x, indices, updates}, {{"axis", axis}});
}
Value scatter_add(const Value& x, const Value& indices, const Value& updates, std::int64_t axis) {
  return as_told_by("scatter_add", [&] {
    return x + record("gather_elements_grad", {updates, indices}, {{"axis", axis}, {"shape", x.shape().sizes()}});
  });
}

Value embedding(const Value& weight, const Value& indices) {
  if (weight.rank() != 2) fail("[embedding] the weight is {}: it must be [count, size]", to_string(weight.type()));
  return as_told_by("embedding", [&] { return gather(weight, indices, 0); });
}

}  // namespace reprise
