// SPDX-License-Identifier: Apache-2.0
// Views cost and allocate nothing; expand repeats a value along its dimensions of size 1.
#include "base/error.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

const Op table[] = {
    {.name = "reshape",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape(s.integers("shape"));
       if (shape.elements() != s.in().elements())
         fail("[reshape] {} has {} elements, {} has {}", to_string(s.in()), s.in().elements(), to_string(shape),
              shape.elements());
       return {{s.in().dtype, shape}};
     },
     .gradient = [](const Call& c, const Values& dy) -> Values { return {reshape(dy[0], c.in().shape())}; },
     .view_of = 0,
     .examples = "f32[2,3] shape=[3,2]; f32[4] shape=[2,1,2]; f32[0,3] shape=[0]; i64[1]{0..9} shape=[]",
     .onnx = "Reshape",
     .doc = "the same elements under another shape"},
    {.name = "stop_gradient",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       return {s.in()};
     },
     .gradient = [](const Call&, const Values&) -> Values { return {Value{}}; },
     .view_of = 0,
     .examples = "f32[2,3]; i64[2]{0..9}",
     .doc = "the same value; no gradient flows back"},
    {.name = "expand",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape(s.integers("shape"));
       if (broadcast("expand", s.in().shape, shape) != shape)
         fail("[expand] {} does not broadcast to {}", to_string(s.in()), to_string(shape));
       return {{s.in().dtype, shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_dtype(s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         Shape shape = s.out().shape;
         return {[=, strides = kernels::broadcast_strides(s.in().shape, shape)](const Buffers& b) {
           for (std::int64_t i = 0; i < shape.elements(); ++i)
             b.out<T>()[i] = b.in<T>()[kernels::offset_of(i, shape, strides)];
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values { return {sum_to(dy[0], c.in().shape())}; },
     .examples = "f32[1,3] shape=[2,3]; f32[] shape=[4]; f32[2,1] shape=[3,2,2]; f32[1] shape=[0]",
     .onnx = "Expand",
     .doc = "repeated along dimensions of size 1, as NumPy broadcasts"},
};

// One size may be -1.
Shape completed(const Value& x, std::span<const std::int64_t> sizes) {
  Shape shape;
  int unknown = -1;
  for (std::int64_t size : sizes) {
    if (size == -1 && unknown >= 0) fail("[reshape] two sizes are -1: at most one can follow from the others");
    if (size == -1) unknown = shape.rank();
    shape.push_back(size == -1 ? 1 : size);
  }
  if (unknown < 0) return shape;
  std::int64_t rest = shape.elements();
  if (rest == 0 || x.type().elements() % rest != 0)
    fail("[reshape] no size for -1 turns {} into the shape asked for", to_string(x.type()));
  shape[unknown] = x.type().elements() / rest;
  return shape;
}

}  // namespace

std::span<const Op> view_ops() { return table; }

Value reshape(const Value& x, std::span<const std::int64_t> shape) { return reshape(x, completed(x, shape)); }
Value reshape(const Value& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  return record("reshape", {x}, {{"shape", shape.sizes()}});
}
Value expand(const Value& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  return record("expand", {x}, {{"shape", shape.sizes()}});
}
Value stop_gradient(const Value& x) { return record("stop_gradient", {x}); }

}  // namespace reprise
