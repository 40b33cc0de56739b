// SPDX-License-Identifier: Apache-2.0
// Ops along one axis: cumulative sums, products, positions of extremes.
#include "kernels/axis.h"

#include <numeric>

#include "base/error.h"
#include "graph/backpropagate.h"
#include "kernels/reduce.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view positions =
    "f32[2,3] axis=1 keepdims=0; f32[2,3,4] axis=-2 keepdims=1; f32[5] axis=0 keepdims=0; i64[7]{0..3} axis=0 "
    "keepdims=0; "
    "f32[0,3] axis=1 keepdims=0; f32[3,70] axis=0 keepdims=0";

int axis_of(const Signature& s) { return normal_axis(s.name(), s.integer("axis"), s.in().shape.rank()); }
kernels::AxisView view_of(const Signature& s) { return kernels::axis_view(s.in().shape, axis_of(s)); }

Shape without_axis(const Shape& shape, int axis, bool keepdims) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis)
      result.push_back(shape[i]);
    else if (keepdims)
      result.push_back(1);
  return result;
}

std::vector<Type> position_type(const Signature& s) {
  expect_arity(s, 1);
  expect_number(s);
  int axis = axis_of(s);
  Shape shape = without_axis(s.in().shape, axis, s.flag("keepdims"));
  if (s.in().shape[axis] == 0 && shape.elements() > 0)
    fail("[{}] axis {} of {} is empty, there is no element to choose: give it one or more", s.name(), axis,
         to_string(s.in()));
  return {{DType::i64, shape}};
}

// NaN beats every number; the first of equals stays.
template <auto better>
Kernel position_kernel(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[v = view_of(s), n = s.out().elements()](const Buffers& b) {
      if (n == 0) return;
      kernels::position_of_best(v, b.in<T>(), b.out<std::int64_t>(),
                                [](T x, T best) { return (better(x, best) || x != x) && best == best; });
    }};
  });
}

std::vector<Type> along_type(const Signature& s) {
  expect_arity(s, 1);
  expect_number(s);
  axis_of(s);
  return {s.in()};
}

// All products but one, as an expression: a matrix of copies whose diagonal is 1, and the product of each row.
Values others_expression(const Call& c) {
  Value x = c.in();
  int axis = normal_axis("product_of_others", c.integer("axis"), x.rank());
  std::int64_t n = x.shape()[axis];
  Shape with_one, copies, diagonal_shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == axis) with_one.push_back(1), copies.push_back(n), diagonal_shape.push_back(n);
    with_one.push_back(x.shape()[i]);
    copies.push_back(x.shape()[i]);
    diagonal_shape.push_back(i == axis ? n : 1);
  }
  Tensor diagonal = Tensor::zeros({DType::boolean, {n, n}});
  for (std::int64_t i = 0; i < n; ++i) diagonal.span<bool>()[static_cast<std::size_t>(i * n + i)] = true;
  Value one = scalar_like(x, 1);
  Value all = where(Value(diagonal.reshape(diagonal_shape)), one, expand(reshape(x, with_one), copies));
  return {record("prod", {all}, {{"axis", std::int64_t{axis + 1}}, {"keepdims", std::int64_t{0}}})};
}

const Op along_axis_table[] = {
    {.name = "cumsum",
     .infer = [](const Signature& s) -> std::vector<Type> {
       s.flag("exclusive"), s.flag("reverse");
       return along_type(s);
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         kernels::ScanOptions options{.exclusive = s.flag("exclusive"), .reverse = s.flag("reverse")};
         return {[options, v = view_of(s)](const Buffers& b) { kernels::cumsum(v, options, b.in<T>(), b.out<T>()); }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Attributes attributes = c.attributes();
       attributes.set("reverse", std::int64_t{!c.flag("reverse")});
       return {record("cumsum", {dy[0]}, attributes)};
     },
     .cost = per_element<1>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3] axis=1 exclusive=0 reverse=0; f32[4,2,3] axis=0 exclusive=1 reverse=0; f32[5] axis=-1 exclusive=0 "
         "reverse=1; f32[3,2] axis=0 exclusive=1 reverse=1; f32[0] axis=0 exclusive=0 reverse=0; i64[4]{-9..9} axis=0 "
         "exclusive=0 reverse=0",
     .onnx = "CumSum",
     .doc = "sums along an axis up to each element"},
    {.name = "prod",
     .infer = [](const Signature& s) -> std::vector<Type> {
       Type type = along_type(s)[0];
       return {{type.dtype, without_axis(type.shape, axis_of(s), s.flag("keepdims"))}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         using Acc = typename kernels::Product<T>::Acc;
         int axis = axis_of(s);
         kernels::Reduction plan = kernels::plan_reduction(s.in().shape, std::span(&axis, 1));
         return {[plan, by = kernels::reducer<kernels::Product<T>, T>()](const Buffers& b) {
                   kernels::reduce(plan, by, b.inputs[0], b.outputs[0], static_cast<Acc*>(b.scratch));
                 },
                 plan.partials() * static_cast<std::int64_t>(sizeof(Acc))};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       int axis = normal_axis("prod", c.integer("axis"), c.in().rank());
       Value kept = reshape(dy[0], without_axis(c.in().shape(), axis, true));
       return {kept * record("product_of_others", {c.in()}, {{"axis", std::int64_t{axis}}})};
     },
     .cost = moved_bytes,
     .examples = "f32[2,3] axis=1 keepdims=0; f32[2,3,4] axis=1 keepdims=1; f32[4] axis=-1 keepdims=0; f32[3,0] axis=1 "
                 "keepdims=0; f32[1] axis=0 keepdims=0; i64[3]{1..4} axis=0 keepdims=1; f32[3]{0..0} axis=0 keepdims=0",
     .doc = "product along an axis; its gradient is right where elements are zero"},
    {.name = "product_of_others",
     .infer = along_type,
     .forward = [](const Signature& s) -> Kernel {
       return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[v = view_of(s)](const Buffers& b) { kernels::product_of_others(v, b.in<T>(), b.out<T>()); }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, others_expression);
     },
     .cost = per_element<4>,
     .examples = "f32[2,3] axis=1; f32[2,3,2] axis=1; f32[4] axis=0; f32[1] axis=0; f32[0] axis=0; f32[3]{0..0} axis=0",
     .doc = "for each element the product of all others along the axis"},
    {.name = "argmax",
     .infer = position_type,
     .forward = position_kernel<([](auto a, auto b) { return a > b; })>,
     .cost = moved_bytes,
     .examples = positions,
     .onnx = "ArgMax",
     .doc = "where along the axis the largest element stands, the first of equals"},
    {.name = "argmin",
     .infer = position_type,
     .forward = position_kernel<[](auto a, auto b) { return a < b; }>,
     .cost = moved_bytes,
     .examples = positions,
     .onnx = "ArgMin",
     .doc = "where along the axis the smallest element stands, the first of equals"},
};

Value along(std::string_view op, const Value& x, std::int64_t axis, bool keepdims) {
  return record(op, {x}, {{"axis", axis}, {"keepdims", std::int64_t{keepdims}}});
}

}  // namespace

std::span<const Op> along_axis_ops() { return along_axis_table; }

Value cumsum(const Value& x, std::int64_t axis, bool exclusive, bool reverse) {
  return record("cumsum", {x},
                {{"axis", axis}, {"exclusive", std::int64_t{exclusive}}, {"reverse", std::int64_t{reverse}}});
}
Value argmax(const Value& x, std::int64_t axis, bool keepdims) { return along("argmax", x, axis, keepdims); }
Value argmin(const Value& x, std::int64_t axis, bool keepdims) { return along("argmin", x, axis, keepdims); }

Value prod(const Value& x) { return along("prod", reshape(x, {-1}), 0, false); }
// One axis after the other, the last first, so that the numbers of the others stay right.
Value prod(const Value& x, const Axes& axes, bool keepdims) {
  Value result = x;
  std::vector<int> normal = normal_axes("prod", axes, x.rank());
  for (auto axis = normal.rbegin(); axis != normal.rend(); ++axis) result = along("prod", result, *axis, keepdims);
  return result;
}

}  // namespace reprise
