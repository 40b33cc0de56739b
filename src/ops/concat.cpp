// SPDX-License-Identifier: Apache-2.0
// Joining and parting along an axis: each the other's gradient.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "graph/text.h"
#include "ops/copy_kernel.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// A part of a whole, along an axis: where it begins in the whole, in bytes, and the copy between the two.
struct Part {
  kernels::StridedCopy copy;
  std::int64_t skip = 0;
};

enum class Way { join, part };

std::vector<Part> parts_of(const Type& whole, std::span<const Type> types, int axis, Way way) {
  std::vector<Part> parts;
  std::int64_t width = size_of(whole.dtype), at = 0;
  Shape strides = whole.shape.strides();
  for (const Type& type : types) {
    Shape own = type.shape.strides();
    kernels::StridedCopy copy(width, type.shape, way == Way::join ? own : strides, way == Way::join ? strides : own);
    parts.push_back({copy, at * strides[axis] * width});
    at += type.shape[axis];
  }
  return parts;
}

std::vector<std::int64_t> sizes_along(const Values& parts, int axis) {
  std::vector<std::int64_t> sizes;
  for (const Value& v : parts) sizes.push_back(v.shape()[axis]);
  return sizes;
}

std::vector<Type> concat_type(const Signature& s) {
  if (s.arity() == 0) fail("[concat] there is no part: give one or more");
  expect_same_dtype(s);
  Shape shape = s.in().shape;
  int axis = normal_axis("concat", s.integer("axis"), shape.rank());
  for (int i = 1; i < s.arity(); ++i) {
    Shape part = s.in(i).shape;
    bool fits = part.rank() == shape.rank();
    for (int a = 0; fits && a < shape.rank(); ++a) fits = a == axis || part[a] == shape[a];
    if (!fits)
      fail("[concat] {} and {} differ in more than axis {}: all other sizes must be equal", to_string(s.in(0)),
           to_string(s.in(i)), axis);
    shape[axis] += part[axis];
  }
  return {{s.in().dtype, shape}};
}

std::vector<Type> split_type(const Signature& s) {
  expect_arity(s, 1);
  const auto& sizes = s.integers("sizes");
  int axis = normal_axis("split", s.integer("axis"), s.in().shape.rank());
  std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (!sizes.empty() && std::ranges::min(sizes) < 0)
    fail("[split] sizes {} hold {}: give each part 0 elements or more", to_string(Attribute(sizes)),
         std::ranges::min(sizes));
  if (sizes.empty() || total != s.in().shape[axis])
    fail("[split] sizes {} do not add up to axis {} of {}: they must make {} together", to_string(Attribute(sizes)),
         axis, to_string(s.in()), s.in().shape[axis]);
  std::vector<Type> types;
  for (std::int64_t size : sizes) {
    types.push_back(s.in());
    types.back().shape[axis] = size;
  }
  return types;
}

const Op concat_table[] = {
    {.name = "concat",
     .infer = concat_type,
     .forward = [](const Signature& s) -> Kernel {
       int axis = normal_axis("concat", s.integer("axis"), s.out().shape.rank());
       return {[parts = parts_of(s.out(), s.inputs, axis, Way::join)](const Buffers& b) {
         for (std::size_t i = 0; i < parts.size(); ++i)
           parts[i].copy.run(b.inputs[i], b.out<std::byte>() + parts[i].skip);
       }};
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       int axis = normal_axis("concat", c.integer("axis"), c.out().rank());
       return split(dy[0], sizes_along(c.inputs(), axis), axis);
     },
     .examples = "f32[2,3] f32[2,1] axis=1; f32[2] f32[3] f32[0] axis=-1; f32[1,2,3] f32[4,2,3] axis=0; f32[3] axis=0; "
                 "i64[2]{0..9} i64[1]{0..9} axis=0; f64[2,2,3] f64[2,5,3] axis=1",
     .onnx = "Concat",
     .doc = "parts joined along an axis"},
    {.name = "split",
     .infer = split_type,
     .forward = [](const Signature& s) -> Kernel {
       int axis = normal_axis("split", s.integer("axis"), s.in().shape.rank());
       return {[parts = parts_of(s.in(), s.outputs, axis, Way::part)](const Buffers& b) {
         for (std::size_t i = 0; i < parts.size(); ++i)
           parts[i].copy.run(b.in<std::byte>() + parts[i].skip, b.outputs[i]);
       }};
     },
     .gradient = [](const Call& c, const Values& dy) -> Values { return {concat(dy, c.integer("axis"))}; },
     .examples = "f32[2,4] axis=1 sizes=[3,1]; f32[6] axis=0 sizes=[2,0,4]; f32[3,2,2] axis=-3 sizes=[1,1,1]; "
                 "f32[0,2] axis=0 sizes=[0]; i64[3]{0..9} axis=0 sizes=[1,2]",
     .onnx = "Split",
     .doc = "parts of given sizes along an axis"},
};

}  // namespace

std::span<const Op> concat_ops() { return concat_table; }

Value concat(const Values& parts, std::int64_t axis) {
  if (parts.empty()) fail("[concat] there is no part: give one or more");
  if (parts.size() == 1) return parts[0];
  return record("concat", parts, {{"axis", axis}});
}

Value stack(const Values& parts, std::int64_t axis) {
  if (parts.empty()) fail("[stack] there is no part: give one or more");
  std::int64_t at = normal_axis("stack", axis, parts[0].rank() + 1);
  Values raised;
  for (const Value& part : parts) {
    if (part.shape() != parts[0].shape())
      fail("[stack] {} and {} differ: all parts must have one shape", to_string(parts[0].type()),
           to_string(part.type()));
    raised.push_back(unsqueeze(part, {at}));
  }
  return concat(raised, at);
}

Values split(const Value& x, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  return record(*find_op("split"), {x}, {{"axis", axis}, {"sizes", sizes}});
}

Values split(const Value& x, std::int64_t parts, std::int64_t axis) {
  std::int64_t size = x.shape()[normal_axis("split", axis, x.rank())];
  if (parts < 1 || size % parts != 0)
    fail("[split] {} does not part into {} equal parts along axis {}: give their sizes", to_string(x.type()), parts,
         axis);
  return split(x, std::vector(static_cast<std::size_t>(parts), size / parts), axis);
}

Value roll(const Value& x, std::int64_t shift, std::int64_t axis) {
  int at = normal_axis("roll", axis, x.rank());
  std::int64_t size = x.shape()[at];
  if (size == 0 || shift % size == 0) return x;
  std::int64_t back = (shift % size + size) % size;
  Values parts = split(x, {size - back, back}, at);
  return concat({parts[1], parts[0]}, at);
}

}  // namespace reprise
