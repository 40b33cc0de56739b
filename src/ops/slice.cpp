// SPDX-License-Identifier: Apache-2.0
// Cutting out and putting back: slice, its adjoint, and the functions that are a slice under another name.
#include <algorithm>

#include "base/error.h"
#include "ops/copy_kernel.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// One axis cut: `size` elements from `start` on, every `step`th.
struct Cut {
  std::int64_t start = 0, size = 0, step = 1;
};

// Python's slice.indices: negative positions count from the back, and what lies outside is clamped.
Cut python_cut(std::int64_t length, std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 0) fail("[slice] step 0 goes nowhere: use a positive or negative one");
  if (step == to_begin) step = -to_end;
  std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
  auto clamped = [&](std::int64_t at) { return std::clamp(at < 0 && at != to_begin ? at + length : at, low, high); };
  std::int64_t from = clamped(start), to = clamped(stop), reach = step > 0 ? to - from : from - to;
  std::int64_t pace = std::abs(step);
  return {from, reach <= 0 ? 0 : (reach - 1) / pace + 1, step};
}

// Where the cuts of slice and place lie in the larger shape.
struct Region {
  std::int64_t offset = 0;
  Shape strides;
};

void check_cut(const Signature& s, const Shape& whole, int axis, const Cut& cut) {
  std::int64_t last = cut.start + (cut.size - 1) * cut.step;
  bool inside = cut.start >= 0 && cut.start < whole[axis] && last >= 0 && last < whole[axis];
  if (cut.size > 0 && !inside)
    fail("[{}] {} elements from {} in steps of {} leave axis {} of {}: take fewer, or shorter steps", s.name(),
         cut.size, cut.start, cut.step, axis, to_string(whole));
}

Region region(const Signature& s, const Shape& whole, const Shape& part) {
  const auto &starts = s.integers("starts"), &steps = s.integers("steps");
  std::size_t rank = static_cast<std::size_t>(whole.rank());
  if (part.rank() != whole.rank() || starts.size() != rank || steps.size() != rank)
    fail("[{}] {} starts, {} steps and {} sizes for {}: give one of each an axis", s.name(), starts.size(),
         steps.size(), part.rank(), to_string(whole));
  Region r{0, whole.strides()};
  for (int axis = 0; axis < whole.rank(); ++axis) {
    Cut cut{starts[static_cast<std::size_t>(axis)], part[axis], steps[static_cast<std::size_t>(axis)]};
    check_cut(s, whole, axis, cut);
    if (part.elements() > 0) r.offset += cut.start * r.strides[axis];
    r.strides[axis] *= cut.step;
  }
  return r;
}

const Op slice_table[] = {
    {.name = "slice",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape part = as_told_by(s.name(), [&] { return Shape(s.integers("sizes")); });
       region(s, s.in().shape, part);
       return {{s.in().dtype, part}};
     },
     .forward = [](const Signature& s) -> Kernel {
       Region r = region(s, s.in().shape, s.out().shape);
       return read_strided(s, r.offset, r.strides);
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record(
           "place", {dy[0]},
           {{"shape", c.in().shape().sizes()}, {"starts", c.integers("starts")}, {"steps", c.integers("steps")}})};
     },
     .examples = "f32[5] starts=[1] sizes=[2] steps=[2]; f32[4,5] starts=[3,0] sizes=[4,2] steps=[-1,3]; "
                 "f32[3,0] starts=[1,0] sizes=[2,0] steps=[1,1]; f32[2,3] starts=[0,3] sizes=[2,0] steps=[1,1]; "
                 "f32[] starts=[] sizes=[] steps=[]; i64[4]{0..9} starts=[1] sizes=[1] steps=[1]; "
                 "f32[2,3,4] starts=[0,1,0] sizes=[2,2,4] steps=[1,1,1]",
     .onnx = "Slice",
     .doc = "a regular part: `sizes` elements from `starts` on in steps of `steps`"},
    {.name = "place",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape whole = shape_attribute(s);
       region(s, whole, s.in().shape);
       if (std::ranges::count(s.integers("steps"), 0) > 0)
         fail("[place] step 0 would write one place twice: use a positive or negative one");
       return {{s.in().dtype, whole}};
     },
     .forward = [](const Signature& s) -> Kernel {
       Region r = region(s, s.out().shape, s.in().shape);
       return write_strided(s, r.offset, r.strides);
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record(
           "slice", {dy[0]},
           {{"sizes", c.in().shape().sizes()}, {"starts", c.integers("starts")}, {"steps", c.integers("steps")}})};
     },
     .examples = "f32[2] shape=[5] starts=[1] steps=[2]; f32[4,2] shape=[4,5] starts=[3,0] steps=[-1,3]; "
                 "f32[0] shape=[3] starts=[0] steps=[1]; f32[] shape=[] starts=[] steps=[]",
     .doc = "the adjoint of slice: x where slice would read, zeros elsewhere"},
};

}  // namespace

std::span<const Op> slice_ops() { return slice_table; }

Value slice(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  return slice(x, std::vector{axis}, {start}, {stop}, {step});
}

Value slice(const Value& x, const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& starts,
            const std::vector<std::int64_t>& stops, const std::vector<std::int64_t>& steps) {
  if (starts.size() != axes.size() || stops.size() != axes.size() || (!steps.empty() && steps.size() != axes.size()))
    fail("[slice] {} axes, {} starts, {} stops and {} steps: give one of each an axis", axes.size(), starts.size(),
         stops.size(), steps.size());
  normal_axes("slice", axes, x.rank());
  std::vector<std::int64_t> from(static_cast<std::size_t>(x.rank()), 0), sizes = x.shape().sizes(),
                                                                         paces(from.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<std::size_t>(normal_axis("slice", axes[i], x.rank()));
    Cut cut = python_cut(sizes[axis], starts[i], stops[i], steps.empty() ? 1 : steps[i]);
    from[axis] = cut.size == 0 ? 0 : cut.start;
    sizes[axis] = cut.size;
    paces[axis] = cut.size <= 1 ? 1 : cut.step;
  }
  if (Shape(sizes) == x.shape() && std::ranges::count(paces, 1) == std::ssize(paces)) return x;
  return record("slice", {x}, {{"sizes", sizes}, {"starts", from}, {"steps", paces}});
}

Value narrow(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  int at = normal_axis("narrow", axis, x.rank());
  std::int64_t size = x.shape()[at], from = start < 0 ? start + size : start;
  if (from < 0 || length < 0 || length > size - from)
    fail("[narrow] {} elements from {} on do not exist along axis {} of {}: take fewer, or begin earlier", length,
         start, at, to_string(x.type()));
  return slice(x, at, from, from + length);
}

Value select(const Value& x, std::int64_t axis, std::int64_t index) {
  int at = normal_axis("select", axis, x.rank());
  std::int64_t size = x.shape()[at];
  if (index < -size || index >= size)
    fail("[select] index {} does not exist along axis {} of {}: indices go from {} to {}", index, at,
         to_string(x.type()), -size, size - 1);
  return squeeze(narrow(x, at, index < 0 ? index + size : index, 1), {at});
}

}  // namespace reprise
