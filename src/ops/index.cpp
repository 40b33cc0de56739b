// SPDX-License-Identifier: Apache-2.0
// Indices as values: counting, one-hot rows, and indices of several dimensions turned into rows.
#include <cmath>

#include "base/error.h"
#include "kernels/parallel.h"
#include "kernels/rows.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

constexpr auto no_gradient = [](const Call& c, const Values&) -> Values {
  return Values(static_cast<std::size_t>(c.arity()));
};

Kernel iota_kernel(const Signature& s) {
  Shape shape = s.out().shape;
  int axis = normal_axis("iota", s.integer("axis"), shape.rank());
  std::int64_t count = shape[axis], inner = shape.strides()[axis];
  return with_number("iota", s.out().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[=, n = shape.elements()](const Buffers& b) {
      for (std::int64_t i = 0; i < n; ++i) b.out<T>()[i] = static_cast<T>(i / inner % count);
    }};
  });
}

Kernel one_hot_kernel(const Signature& s) {
  return with_dtype(s.out().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[n = s.in().elements(), depth = s.integer("depth"), wide = s.in().dtype == DType::i64](const Buffers& b) {
      kernels::Indices indices{b.inputs[0], wide, depth};
      if (std::int64_t at = kernels::find_outside(indices, n); at >= 0)
        fail("[one_hot] index {} at position {} does not exist at depth {}: indices go from {} to {}", indices.raw(at),
             at, depth, -depth, depth - 1);
      std::fill_n(b.out<T>(), n * depth, convert<T>(0));
      for (std::int64_t i = 0; i < n; ++i) b.out<T>()[i * depth + indices[i]] = convert<T>(1);
    }};
  });
}

Kernel ravel_kernel(const Signature& s) {
  Shape shape = shape_attribute(s);
  return {[shape, n = s.out().elements(), wide = s.in().dtype == DType::i64](const Buffers& b) {
    kernels::Indices indices{b.inputs[0], wide, 0};
    for (std::int64_t p = 0; p < n; ++p) {
      std::int64_t flat = 0;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        std::int64_t k = indices.raw(p * shape.rank() + axis);
        if (k < -shape[axis] || k >= shape[axis])
          fail("[ravel_index] index {} at position {} does not exist along axis {} of {}: indices go from {} to {}", k,
               p, axis, to_string(shape), -shape[axis], shape[axis] - 1);
        flat = flat * shape[axis] + (k < 0 ? k + shape[axis] : k);
      }
      b.out<std::int64_t>()[p] = flat;
    }
  }};
}

const Op index_table[] = {
    {.name = "iota",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 0);
       Shape shape = shape_attribute(s);
       normal_axis("iota", s.integer("axis"), shape.rank());
       DType dtype = dtype_attribute(s);
       if (dtype == DType::boolean || dtype == DType::f16 || dtype == DType::bf16)
         fail("[iota] counts in f32, f64, i32 and i64, not in dtype {}: cast the result", to_string(dtype));
       return {{dtype, shape}};
     },
     .forward = iota_kernel,
     .gradient = no_gradient,
     .examples = R"(dtype="i64" shape=[4] axis=0; dtype="f32" shape=[2,3] axis=-1; dtype="i32" shape=[2,3,2] axis=1;
       dtype="f64" shape=[0] axis=0)",
     .doc = "0, 1, 2, ... along an axis"},
    {.name = "one_hot",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_integer(s, 0);
       if (s.integer("depth") < 0) fail("[one_hot] depth {} is negative: give 0 or more", s.integer("depth"));
       Shape shape = s.in().shape;
       shape.push_back(s.integer("depth"));
       return {{dtype_attribute(s), shape}};
     },
     .forward = one_hot_kernel,
     .gradient = no_gradient,
     .examples =
         R"(i64[3]{-4..3} depth=4 dtype="f32"; i32[2,2]{0..2} depth=3 dtype="i64"; i64[]{0..1} depth=2 dtype="bool";
       i64[0]{0..1} depth=2 dtype="f32")",
     .onnx = "OneHot",
     .doc = "a row of zeros with a one where the index says"},
    {.name = "ravel_index",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_integer(s, 0);
       Shape shape = shape_attribute(s), in = s.in().shape;
       shape.elements();
       if (in.rank() == 0 || in.back() != shape.rank())
         fail("[ravel_index] {} does not fit: it must end in one index per axis of {}", to_string(s.in()),
              to_string(shape));
       return {{DType::i64, Shape(std::span(in.begin(), in.end() - 1))}};
     },
     .forward = ravel_kernel,
     .gradient = no_gradient,
     .examples =
         "i64[3,2]{-2..1} shape=[2,4]; i32[2,2,1]{0..4} shape=[5]; i64[0,2]{0..1} shape=[2,2]; i64[3,0]{0..1} shape=[]",
     .doc = "indices of several dimensions as row-major positions"},
};

// x as rows that `indices` can name, and the rows' numbers.
struct Named {
  Value rows, numbers;
};

Named named_rows(std::string_view who, const Value& x, const Value& indices) {
  if (indices.rank() == 0 || indices.shape().back() > x.rank())
    fail("[{}] indices {} do not fit: they must end in at most {} positions, one for each leading axis of {}", who,
         to_string(indices.type()), x.rank(), to_string(x.type()));
  int depth = static_cast<int>(indices.shape().back());
  Shape leading(std::span(x.shape().begin(), x.shape().begin() + depth)), rows{leading.elements()};
  for (int axis = depth; axis < x.rank(); ++axis) rows.push_back(x.shape()[axis]);
  return {reshape(x, rows), as_told_by(who, [&] {
            return record("ravel_index", {indices}, {{"shape", leading.sizes()}});
          })};
}

}  // namespace

std::span<const Op> index_ops() { return index_table; }

Value iota_like(const Value& x, std::int64_t axis, DType dtype) {
  Attributes attributes{{"axis", axis}, {"dtype", std::string(to_string(dtype))}, {"shape", x.shape().sizes()}};
  return {x.graph(), {x.graph()->add(*find_op("iota"), {}, std::move(attributes)), 0}};
}

Value arange(double start, double stop, double step, DType dtype) {
  if (step == 0) fail("[arange] step 0 goes nowhere: use a positive or negative one");
  constexpr double most = 0x1p40;
  double wanted = std::ceil((stop - start) / step);
  if (!(wanted < most))
    fail("[arange] {} to {} by {} are {} numbers: fewer than 2^40 can be made", start, stop, step, wanted);
  auto count = static_cast<std::int64_t>(wanted);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(start + static_cast<double>(i) * step);
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())}).to(dtype);
}

Value one_hot(const Value& indices, std::int64_t depth, DType dtype) {
  return record("one_hot", {indices}, {{"depth", depth}, {"dtype", std::string(to_string(dtype))}});
}

Value gather_nd(const Value& x, const Value& indices) {
  Named named = named_rows("gather_nd", x, indices);
  return as_told_by("gather_nd", [&] { return gather(named.rows, named.numbers, 0); });
}

Value scatter_nd(const Value& x, const Value& indices, const Value& updates) {
  Named named = named_rows("scatter_nd", x, indices);
  return as_told_by("scatter_nd",
                    [&] { return reshape(index_copy(named.rows, named.numbers, updates, 0), x.shape()); });
}

Value scatter_nd_add(const Value& x, const Value& indices, const Value& updates) {
  Named named = named_rows("scatter_nd_add", x, indices);
  return as_told_by("scatter_nd_add",
                    [&] { return reshape(index_add(named.rows, named.numbers, updates, 0), x.shape()); });
}

}  // namespace reprise
