// SPDX-License-Identifier: Apache-2.0
// Reductions over axes: any order, each axis once; no axes leave every element as it is.
#include "kernels/reduce.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "kernels/parallel.h"
#include "kernels/strided.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

constexpr std::string_view shapes =
    "f32[2,3] axes=[0,1] keepdims=0; f32[2,3,4] axes=[-1,0] keepdims=1; f32[2,3,4] axes=[1] keepdims=0; f32[2,3] "
    "axes=[0] "
    "keepdims=0; f32[2] axes=[] keepdims=0; f32[] axes=[] keepdims=1; f32[1,5] axes=[1] keepdims=0; f32[70,3] axes=[0] "
    "keepdims=0; f32[3,70] axes=[1] keepdims=1; i64[4]{-9..9} axes=[0] keepdims=0; f32[0,3] axes=[1] keepdims=0; "
    "f32[2,3,2,3] axes=[0,2] keepdims=0; f32[2,3,2,3] axes=[1,3] keepdims=0";
constexpr std::string_view shapes_and_empty =
    "f32[2,3] axes=[0,1] keepdims=0; f32[2,3,4] axes=[-1,0] keepdims=1; f32[2,3,4] axes=[1] keepdims=0; f32[2,3] "
    "axes=[0] "
    "keepdims=0; f32[2] axes=[] keepdims=0; f32[] axes=[] keepdims=1; f32[1,5] axes=[1] keepdims=0; f32[70,3] axes=[0] "
    "keepdims=0; f32[3,70] axes=[1] keepdims=1; i64[4]{-9..9} axes=[0] keepdims=0; f32[0,3] axes=[1] keepdims=0; "
    "f32[2,3,2,3] axes=[0,2] keepdims=0; f32[2,3,2,3] axes=[1,3] keepdims=0; f32[3,0] axes=[1] keepdims=0; f32[0] "
    "axes=[0] "
    "keepdims=1";
constexpr std::string_view bools =
    "bool[2,3] axes=[0,1] keepdims=0; bool[2,3,4] axes=[1] keepdims=1; bool[5] axes=[] keepdims=0; bool[3,0] axes=[1] "
    "keepdims=0";

std::vector<int> axes_of(const Signature& s) { return normal_axes(s.name(), s.integers("axes"), s.in().shape.rank()); }

Shape reduced(const Shape& shape, const std::vector<int>& axes, bool keepdims) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    bool gone = std::ranges::binary_search(axes, axis);
    if (!gone || keepdims) result.push_back(gone ? 1 : shape[axis]);
  }
  return result;
}

std::vector<Type> reduced_type(const Signature& s) {
  return {{s.in().dtype, reduced(s.in().shape, axes_of(s), s.flag("keepdims"))}};
}

std::vector<Type> number_type(const Signature& s) {
  expect_arity(s, 1);
  expect_number(s);
  return reduced_type(s);
}

std::vector<Type> float_type(const Signature& s) {
  expect_arity(s, 1);
  expect_float(s);
  return reduced_type(s);
}

std::vector<Type> bool_type(const Signature& s) {
  expect_arity(s, 1);
  expect_dtype(s, 0, DType::boolean);
  return reduced_type(s);
}

std::vector<Type> extreme_type(const Signature& s) {
  std::vector<Type> type = number_type(s);
  for (int axis : axes_of(s))
    if (s.in().shape[axis] == 0 && type[0].elements() > 0)
      fail("[{}] axis {} of {} is empty, there is no element to choose: give it one or more", s.name(), axis,
           to_string(s.in()));
  return type;
}

template <class Acc>
Kernel reduce_with(const Signature& s, const kernels::Reducer<Acc>& by) {
  kernels::Reduction plan = kernels::plan_reduction(s.in().shape, axes_of(s));
  return {[=](const Buffers& b) { kernels::reduce(plan, by, b.inputs[0], b.outputs[0], static_cast<Acc*>(b.scratch)); },
          plan.partials() * static_cast<std::int64_t>(sizeof(Acc))};
}

template <template <class> class P>
Kernel reduce_numbers(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return reduce_with(s, kernels::reducer<P<T>, T>());
  });
}

Kernel mean_kernel(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto count = static_cast<double>(kernels::plan_reduction(s.in().shape, axes_of(s)).count);
    return reduce_with(s, kernels::reducer<kernels::Sum<T>, T>(count));
  });
}

struct Any {
  using Acc = std::int64_t;
  static constexpr bool identity = false;
  template <class A>
  static A step(A a, A x) {
    return a | x;
  }
};
struct All {
  using Acc = std::int64_t;
  static constexpr bool identity = true;
  template <class A>
  static A step(A a, A x) {
    return a & x;
  }
};

// A value of the reduced shape, with its reduced axes back at size 1.
Value with_axes(const Value& reduced_value, const Call& c) {
  const Shape& shape = c.in().shape();
  return reshape(reduced_value, reduced(shape, normal_axes("reduction", c.integers("axes"), shape.rank()), true));
}

Value spread(const Value& dy, const Call& c) { return expand(with_axes(dy, c), c.in().shape()); }

// dy goes to the first of the elements that are the extreme, in row-major order.
Values extreme_gradient(const Call& c, const Values& dy) {
  Value chosen = record("first_equal", {c.in(), c.out()}, c.attributes());
  return {where(chosen, with_axes(dy[0], c), scalar_like(dy[0], 0))};
}

Kernel first_equal_kernel(const Signature& s) {
  return with_number(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    Shape shape = s.in().shape, strides = shape.strides(), kept, kept_strides, gone, gone_strides;
    std::vector<int> axes = axes_of(s);
    for (int axis = 0; axis < shape.rank(); ++axis) {
      bool is_reduced = std::ranges::binary_search(axes, axis);
      (is_reduced ? gone : kept).push_back(shape[axis]);
      (is_reduced ? gone_strides : kept_strides).push_back(strides[axis]);
    }
    return {[=](const Buffers& b) {
      const T *x = b.in<T>(0), *y = b.in<T>(1);
      bool* chosen = b.out<bool>();
      std::fill_n(chosen, shape.elements(), false);
      std::int64_t count = gone.elements();
      kernels::parallel_ranges(kept.elements(), kernels::elementwise_grain / (count + 1) + 1,
                               [&](std::int64_t begin, std::int64_t end) {
                                 for (std::int64_t o = begin; o < end; ++o) {
                                   std::int64_t base = kernels::offset_of(o, kept, kept_strides);
                                   for (std::int64_t k = 0; k < count; ++k) {
                                     std::int64_t at = base + kernels::offset_of(k, gone, gone_strides);
                                     if (x[at] != y[o] && !(x[at] != x[at] && y[o] != y[o])) continue;
                                     chosen[at] = true;
                                     break;
                                   }
                                 }
                               });
    }};
  });
}

const Op reduce_table[] = {
    {.name = "sum",
     .infer = number_type,
     .forward = reduce_numbers<kernels::Sum>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {spread(dy[0], c)}; },
     .cost = moved_bytes,
     .examples = shapes_and_empty,
     .onnx = "ReduceSum",
     .doc = "sum over axes"},
    {.name = "mean",
     .infer = float_type,
     .forward = mean_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       double count = static_cast<double>(c.in().type().elements()) / static_cast<double>(c.out().type().elements());
       return {spread(dy[0] / count, c)};
     },
     .cost = moved_bytes,
     .examples =
         "f32[2,3] axes=[0,1] keepdims=0; f32[2,3,4] axes=[-1,0] keepdims=1; f32[2,3,4] axes=[1] keepdims=0; f32[2] "
         "axes=[] keepdims=0; f32[] axes=[] keepdims=1; f32[0,3] axes=[1] keepdims=0",
     .onnx = "ReduceMean",
     .doc = "mean over axes"},
    {.name = "max",
     .infer = extreme_type,
     .forward = reduce_numbers<kernels::Largest>,
     .gradient = extreme_gradient,
     .cost = moved_bytes,
     .examples = shapes,
     .onnx = "ReduceMax",
     .doc = "the largest over axes; of equals the first takes the gradient, NaN wins"},
    {.name = "min",
     .infer = extreme_type,
     .forward = reduce_numbers<kernels::Smallest>,
     .gradient = extreme_gradient,
     .cost = moved_bytes,
     .examples = shapes,
     .onnx = "ReduceMin",
     .doc = "the smallest over axes; of equals the first takes the gradient, NaN wins"},
    {.name = "first_equal",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 2);
       expect_number(s);
       expect_same_dtype(s);
       if (Type wanted = reduced_type(s)[0]; s.in(1) != wanted)
         fail("[first_equal] input 1 does not fit: {} reduced over these axes is {}, not {}", to_string(s.in(0)),
              to_string(wanted), to_string(s.in(1)));
       return {{DType::boolean, s.in(0).shape}};
     },
     .forward = first_equal_kernel,
     .cost = moved_bytes,
     .examples = "i64[2,3]{0..2} i64[2]{0..2} axes=[1] keepdims=0; f32[4] f32[1] axes=[0] keepdims=1; i64[3,2]{0..1} "
                 "i64[2]{0..1} axes=[0] keepdims=0",
     .doc = "true at the first element, along the axes, that equals the reduced value"},
    {.name = "any",
     .infer = bool_type,
     .forward = [](const Signature& s) { return reduce_with(s, kernels::reducer<Any, bool>()); },
     .cost = moved_bytes,
     .examples = bools,
     .doc = "whether any element over axes is true"},
    {.name = "all",
     .infer = bool_type,
     .forward = [](const Signature& s) { return reduce_with(s, kernels::reducer<All, bool>()); },
     .cost = moved_bytes,
     .examples = bools,
     .doc = "whether all elements over axes are true"},
};

Axes all_axes(const Value& x) {
  Axes axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Value reduce(std::string_view op, const Value& x, const Axes& axes, bool keepdims) {
  return record(op, {x}, {{"axes", axes}, {"keepdims", std::int64_t{keepdims}}});
}

Value without_axes(const Value& kept, const Axes& axes, bool keepdims) {
  if (keepdims) return kept;
  return reshape(kept, reduced(kept.shape(), normal_axes("reduction", axes, kept.rank()), false));
}

Value mean_square_deviation(const Value& x, const Axes& axes, bool keepdims, double correction) {
  Value deviation = square(x - mean(x, axes, true));
  if (correction == 0) return mean(deviation, axes, keepdims);
  Value total = sum(deviation, axes, keepdims);
  double count = static_cast<double>(x.type().elements()) /
                 static_cast<double>(std::max<std::int64_t>(1, total.type().elements()));
  return total / std::max(0.0, count - correction);  // as NumPy, infinite where too few are left
}

// The largest element is taken out first. Where it is infinite a huge number stands for it, so that no inf - inf
// arises.
Value stable_logsumexp(const Value& x, const Axes& axes, bool keepdims) {
  double huge = x.dtype() == DType::f32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  Value largest = clamp(stop_gradient(max(x, axes, true)), -huge, huge);
  return without_axes(log(sum(exp(x - largest), axes, true)) + largest, axes, keepdims);
}

}  // namespace

std::span<const Op> reduce_ops() { return reduce_table; }

Value sum(const Value& x) { return sum(x, all_axes(x)); }
Value sum(const Value& x, const Axes& axes, bool keepdims) { return reduce("sum", x, axes, keepdims); }
Value mean(const Value& x) { return mean(x, all_axes(x)); }
Value mean(const Value& x, const Axes& axes, bool keepdims) { return reduce("mean", x, axes, keepdims); }
Value max(const Value& x) { return max(x, all_axes(x)); }
Value max(const Value& x, const Axes& axes, bool keepdims) { return reduce("max", x, axes, keepdims); }
Value min(const Value& x) { return min(x, all_axes(x)); }
Value min(const Value& x, const Axes& axes, bool keepdims) { return reduce("min", x, axes, keepdims); }
Value any(const Value& x) { return any(x, all_axes(x)); }
Value any(const Value& x, const Axes& axes, bool keepdims) { return reduce("any", x, axes, keepdims); }
Value all(const Value& x) { return all(x, all_axes(x)); }
Value all(const Value& x, const Axes& axes, bool keepdims) { return reduce("all", x, axes, keepdims); }

Value var(const Value& x) { return var(x, all_axes(x)); }
Value var(const Value& x, const Axes& axes, bool keepdims, double correction) {
  return as_told_by("var", [&] { return mean_square_deviation(x, axes, keepdims, correction); });
}
Value std_deviation(const Value& x, const Axes& axes, bool keepdims, double correction) {
  return as_told_by("std_deviation", [&] { return sqrt(var(x, axes, keepdims, correction)); });
}

Value logsumexp(const Value& x) { return logsumexp(x, all_axes(x)); }
Value logsumexp(const Value& x, const Axes& axes, bool keepdims) {
  return as_told_by("logsumexp", [&] { return stable_logsumexp(x, axes, keepdims); });
}

}  // namespace reprise
