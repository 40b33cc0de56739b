// SPDX-License-Identifier: Apache-2.0
// Views cost and allocate nothing: reshape, and the functions that are a reshape under another name.
#include <algorithm>

#include "base/error.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

const Op view_table[] = {
    {.name = "reshape",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape = shape_attribute(s);
       if (shape.elements() != s.in().elements())
         fail("[reshape] {} has {} elements, {} has {}: both must have as many", to_string(s.in()), s.in().elements(),
              to_string(shape), shape.elements());
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
};

// One size may be -1.
Shape completed(const Value& x, std::span<const std::int64_t> sizes) {
  Shape shape;
  int unknown = -1;
  for (std::int64_t size : sizes) {
    if (size < -1)
      fail("[reshape] size {} is negative: sizes are 0 or more, one may be -1 to follow from the others", size);
    if (size == -1 && unknown >= 0) fail("[reshape] two sizes are -1: at most one can follow from the others");
    if (size == -1) unknown = shape.rank();
    shape.push_back(size == -1 ? 1 : size);
  }
  if (unknown < 0) return shape;
  std::int64_t rest = shape.elements();
  if (rest == 0 || x.type().elements() % rest != 0)
    fail("[reshape] no size for -1 turns {} into {}: the others must divide {} elements", to_string(x.type()),
         to_string(Attribute(std::vector(sizes.begin(), sizes.end()))), x.type().elements());
  shape[unknown] = x.type().elements() / rest;
  return shape;
}

}  // namespace

std::span<const Op> view_ops() { return view_table; }

Value reshape(const Value& x, std::span<const std::int64_t> shape) { return reshape(x, completed(x, shape)); }
Value reshape(const Value& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  return record("reshape", {x}, {{"shape", shape.sizes()}});
}
Value stop_gradient(const Value& x) { return record("stop_gradient", {x}); }

Value squeeze(const Value& x) {
  Shape shape;
  for (std::int64_t size : x.shape())
    if (size != 1) shape.push_back(size);
  return reshape(x, shape);
}

Value squeeze(const Value& x, const std::vector<std::int64_t>& axes) {
  std::vector<int> gone = normal_axes("squeeze", axes, x.rank());
  for (int axis : gone)
    if (x.shape()[axis] != 1)
      fail("[squeeze] axis {} of {} has size {}, not 1: select or slice it", axis, to_string(x.type()),
           x.shape()[axis]);
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (!std::ranges::binary_search(gone, axis)) shape.push_back(x.shape()[axis]);
  return reshape(x, shape);
}

Value unsqueeze(const Value& x, const std::vector<std::int64_t>& axes) {
  int rank = x.rank() + static_cast<int>(axes.size());
  std::vector<int> fresh = normal_axes("unsqueeze", axes, rank);
  Shape shape;
  for (int axis = 0, old = 0; axis < rank; ++axis)
    shape.push_back(std::ranges::binary_search(fresh, axis) ? 1 : x.shape()[old++]);
  return reshape(x, shape);
}

Value flatten(const Value& x, std::int64_t first, std::int64_t last) {
  if (x.rank() == 0) return reshape(x, Shape{1});
  int from = normal_axis("flatten", first, x.rank()), to = normal_axis("flatten", last, x.rank());
  if (from > to) fail("[flatten] axis {} comes after axis {}: name the first one first", from, to);
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis > from && axis <= to)
      shape[from] *= x.shape()[axis];
    else
      shape.push_back(x.shape()[axis]);
  }
  return reshape(x, shape);
}

}  // namespace reprise
