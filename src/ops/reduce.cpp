// SPDX-License-Identifier: Apache-2.0
// Reductions over axes.
#include <algorithm>
#include <numeric>

#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

Shape reduced(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    bool gone = std::ranges::binary_search(axes, axis);
    if (!gone || keepdims) result.push_back(gone ? 1 : shape[axis]);
  }
  return result;
}

std::vector<Type> reduce_type(const Signature& s) {
  expect_arity(s, 1);
  expect_number(s);
  const Shape& shape = s.in().shape;
  return {{s.in().dtype, reduced(shape, normal_axes(s.name(), s.integers("axes"), shape.rank()), s.flag("keepdims"))}};
}

// A gradient of the reduced shape, spread back over the reduced axes.
Value spread(const Value& dy, const Call& c) {
  const Shape& shape = c.in().shape();
  return expand(reshape(dy, reduced(shape, normal_axes("sum", c.integers("axes"), shape.rank()), true)), shape);
}

Kernel sum_kernel(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Shape shape = s.in().shape;
    Shape kept = reduced(shape, normal_axes(s.name(), s.integers("axes"), shape.rank()), true);
    return {[=, strides = kernels::broadcast_strides(kept, shape)](const Buffers& b) {
      const T* x = b.in<T>();
      T* y = b.out<T>();
      std::fill_n(y, kept.elements(), T(0));
      for (std::int64_t i = 0; i < shape.elements(); ++i) y[kernels::offset_of(i, shape, strides)] += x[i];
    }};
  });
}

const Op table[] = {
    {.name = "sum",
     .infer = reduce_type,
     .forward = sum_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {spread(dy[0], c)}; },
     .cost = moved_bytes,
     .examples = "f32[2,3] axes=[0,1] keepdims=0; f32[2,3,4] axes=[-1,0] keepdims=1; f32[3,0] axes=[1] keepdims=0; "
                 "f32[2] axes=[] keepdims=0",
     .onnx = "ReduceSum",
     .doc = "sum over axes"},
};

Axes all_axes(const Value& x) {
  Axes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

}  // namespace

std::span<const Op> reduce_ops() { return table; }

Value sum(const Value& x) { return sum(x, all_axes(x)); }
Value sum(const Value& x, const Axes& axes, bool keepdims) {
  return record("sum", {x}, {{"axes", axes}, {"keepdims", std::int64_t{keepdims}}});
}

}  // namespace reprise
