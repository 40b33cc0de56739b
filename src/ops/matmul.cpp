// SPDX-License-Identifier: Apache-2.0
// Matrix products. An operand may be used transposed, so that no gradient stores a transposed matrix.
#include "kernels/matmul.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

std::int64_t rows(const Shape& s, bool transposed) { return s[s.rank() - (transposed ? 1 : 2)]; }
std::int64_t columns(const Shape& s, bool transposed) { return s[s.rank() - (transposed ? 2 : 1)]; }

std::vector<Type> matmul_type(const Signature& s) {
  expect_arity(s, 2);
  expect_float(s);
  expect_same_dtype(s);
  const Shape &a = s.in(0).shape, &b = s.in(1).shape;
  if (a.rank() < 2 || b.rank() < 2)
    fail("[matmul] {} times {}: both need two dimensions or more; reshape a vector to one row or one column",
         to_string(s.in(0)), to_string(s.in(1)));
  bool ta = s.flag("transpose_a"), tb = s.flag("transpose_b");
  if (columns(a, ta) != rows(b, tb))
    fail("[matmul] inner sizes differ: {}{} times {}{}: {} columns meet {} rows", to_string(s.in(0)),
         ta ? " transposed" : "", to_string(s.in(1)), tb ? " transposed" : "", columns(a, ta), rows(b, tb));
  Shape batch_a(std::span(a.begin(), a.end() - 2)), batch_b(std::span(b.begin(), b.end() - 2));
  Shape c = broadcast("matmul", batch_a, batch_b);
  c.push_back(rows(a, ta));
  c.push_back(columns(b, tb));
  return {{s.in().dtype, c}};
}

Kernel matmul_kernel(const Signature& s) {
  kernels::Matmul product(s.in(0).shape, s.flag("transpose_a"), s.in(1).shape, s.flag("transpose_b"), s.out().shape);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[product](const Buffers& b) { product.run(b.in<T>(0), b.in<T>(1), nullptr, b.out<T>()); }};
  });
}

Cost matmul_cost(const Signature& s) {
  Cost cost = moved_bytes(s);
  double inner = static_cast<double>(columns(s.in(0).shape, s.has("transpose_a") && s.flag("transpose_a")));
  cost.flops = 2 * inner * static_cast<double>(s.out().elements());
  return cost;
}

// c = op(a) op(b), so op(a)' = c' op(b)ᵀ and op(b)' = op(a)ᵀ c', each turned as its operand is.
Values matmul_gradient(const Call& call, const Values& dy) {
  Value a = call.in(0), b = call.in(1), c = dy[0];
  bool ta = call.flag("transpose_a"), tb = call.flag("transpose_b");
  Value da = ta ? matmul(b, c, tb, true) : matmul(c, b, false, !tb);
  Value db = tb ? matmul(c, a, true, ta) : matmul(a, c, !ta, false);
  return {sum_to(da, a.shape()), sum_to(db, b.shape())};
}

std::vector<Type> linear_type(const Signature& s) {
  expect_arity(s, 3);
  expect_float(s);
  expect_same_dtype(s);
  expect_rank(s, 0, 2);
  expect_rank(s, 1, 2);
  expect_rank(s, 2, 1);
  const Shape &x = s.in(0).shape, &w = s.in(1).shape, &bias = s.in(2).shape;
  if (x[1] != w[1] || bias[0] != w[0])
    fail("[linear] x {}, weight {} and bias {} do not fit: they are [rows,in], [out,in] and [out]", to_string(s.in(0)),
         to_string(s.in(1)), to_string(s.in(2)));
  return {{s.in().dtype, {x[0], w[0]}}};
}

Kernel linear_kernel(const Signature& s) {
  kernels::Matmul product(s.in(0).shape, false, s.in(1).shape, true, s.out().shape);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[product](const Buffers& b) { product.run(b.in<T>(0), b.in<T>(1), b.in<T>(2), b.out<T>()); }};
  });
}

const Op matmul_table[] = {
    {.name = "matmul",
     .infer = matmul_type,
     .forward = matmul_kernel,
     .gradient = matmul_gradient,
     .cost = matmul_cost,
     .examples =
         "f32[2,3] f32[3,4] transpose_a=0 transpose_b=0; f32[3,2] f32[4,3] transpose_a=1 transpose_b=1; "
         "f32[5,2,3] f32[5,4,3] transpose_a=0 transpose_b=1; f32[2,1,3,2] f32[4,3,2] transpose_a=1 transpose_b=0; "
         "f32[3,2,4] f32[4,5] transpose_a=0 transpose_b=0; f32[2,3] f32[4,3,1] transpose_a=0 transpose_b=0; "
         "f32[2,0] f32[0,3] transpose_a=0 transpose_b=0; f32[0,3] f32[3,2] transpose_a=0 transpose_b=0; "
         "f32[0,2,3] f32[1,3,2] transpose_a=0 transpose_b=0; f32[1,1] f32[1,1] transpose_a=1 transpose_b=0; "
         "f64[2,3] f64[2,4] transpose_a=1 transpose_b=0",
     .onnx = "MatMul",
     .doc = "matrix product over broadcast batches, either operand transposed on the fly"},
    {.name = "linear",
     .infer = linear_type,
     .forward = linear_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {matmul(dy[0], c.in(1)), matmul(dy[0], c.in(0), true), sum(dy[0], {0})};
     },
     .cost = matmul_cost,
     .examples =
         "f32[4,3] f32[5,3] f32[5]; f32[1,1] f32[1,1] f32[1]; f32[0,3] f32[2,3] f32[2]; f32[2,0] f32[3,0] f32[3]; "
         "f64[2,3] f64[4,3] f64[4]",
     .doc = "x · weightᵀ + bias"},
};

// All but the last dimension as one, and back.
Value flat_rows(const Value& x) {
  Shape leading(std::span(x.shape().begin(), x.shape().end() - 1));
  return reshape(x, Shape{leading.elements(), x.shape().back()});
}
Value with_rows_of(const Value& x, const Value& y) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = y.shape().back();
  return reshape(y, shape);
}

Value product(const Value& a, const Value& b, bool ta, bool tb) {
  return record("matmul", {a, b}, {{"transpose_a", std::int64_t{ta}}, {"transpose_b", std::int64_t{tb}}});
}

}  // namespace

std::span<const Op> matmul_ops() { return matmul_table; }

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b) {
  if (a.rank() == 0 || b.rank() == 0)
    fail("[matmul] {} times {}: a scalar is no matrix; multiply instead", to_string(a.type()), to_string(b.type()));
  if (a.rank() == 1) {
    Value c = matmul(reshape(a, Shape{1, a.shape()[0]}), b, false, transpose_b);
    Shape shape(std::span(c.shape().begin(), c.shape().end() - (b.rank() == 1 ? 1 : 2)));
    if (b.rank() > 1) shape.push_back(c.shape().back());
    return reshape(c, shape);
  }
  if (b.rank() == 1) {
    Value c = matmul(a, reshape(b, Shape{b.shape()[0], 1}), transpose_a, false);
    return reshape(c, Shape(std::span(c.shape().begin(), c.shape().end() - 1)));
  }
  // One matrix b for all of a: one product of two matrices, whose gradients are such products too.
  if (b.rank() == 2 && a.rank() > 2 && !transpose_a)
    return with_rows_of(a, product(flat_rows(a), b, false, transpose_b));
  return product(a, b, transpose_a, transpose_b);
}

Value linear(const Value& x, const Value& weight) { return matmul(x, weight, false, true); }

Value linear(const Value& x, const Value& weight, const Value& bias) {
  if (x.rank() == 0) fail("[linear] x is a scalar: its last dimension must be the weight's input size");
  return with_rows_of(x, record("linear", {flat_rows(x), weight, bias}));
}

}  // namespace reprise
