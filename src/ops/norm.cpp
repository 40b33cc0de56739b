// SPDX-License-Identifier: Apache-2.0
// Layer, group (with instance) and RMS norm: one kernel over rows, seen as [batch, groups, segments, length]. Forward
// gives the statistics too; the fused gradient reads x, the statistics, dy and the weight.
#include "kernels/norm.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

enum class Kind { layer, group, rms };

constexpr bool has_mean(Kind kind) { return kind != Kind::rms; }

// `q` is a Signature or a Call.
template <Kind kind, class Q>
kernels::RowNorm plan_of(const Q& q, const Shape& x) {
  kernels::RowNorm p{.centred = has_mean(kind), .epsilon = q.real("epsilon")};
  if constexpr (kind == Kind::group) {
    p.groups = q.integer("groups");
    p.segments = x[1] / p.groups;
    p.rows = x[0] * p.groups;
    p.weight_per_element = false;
    for (int i = 2; i < x.rank(); ++i) p.length *= x[i];
    return p;
  }
  int lead = x.rank() - static_cast<int>(q.integer("dims"));
  p.rows = 1;
  for (int i = 0; i < x.rank(); ++i) (i < lead ? p.rows : p.length) *= x[i];
  return p;
}

void expect_epsilon(const Signature& s) {
  if (!(s.real("epsilon") >= 0)) fail("[{}] epsilon is {}: it must not be negative", s.name(), s.real("epsilon"));
}

template <Kind kind>
void expect_geometry(const Signature& s) {
  expect_float(s);
  expect_same_dtype(s);
  expect_epsilon(s);
  const Shape& x = s.in().shape;
  if constexpr (kind == Kind::group) {
    if (x.rank() < 2)
      fail("[{}] input {} has no channels: it takes [batch, channels, ...], reshape it", s.name(), to_string(s.in()));
    std::int64_t groups = s.integer("groups");
    if (groups < 1 || x[1] % groups != 0)
      fail("[{}] {} groups do not divide the channels of {}: take a divisor of their number", s.name(), groups,
           to_string(s.in()));
  } else if (std::int64_t dims = s.integer("dims"); dims < 1 || dims > x.rank()) {
    fail("[{}] dims is {}: {} has 1 to {} dimensions to normalise over", s.name(), dims, to_string(s.in()), x.rank());
  }
  if (kernels::RowNorm p = plan_of<kind>(s, x); p.row_size() == 0 && p.rows > 0)
    fail("[{}] {} has nothing to normalise over: a row needs at least one element", s.name(), to_string(s.in()));
}

// What a weight must look like; and one mean or scale a row.
template <Kind kind>
Shape weight_shape(const Signature& s) {
  const Shape& x = s.in().shape;
  if constexpr (kind == Kind::group) return {x[1]};
  return Shape(std::span(x.end() - s.integer("dims"), x.end()));
}
template <Kind kind>
Type statistic_type(const Signature& s) {
  const Shape& x = s.in().shape;
  if constexpr (kind == Kind::group) return {s.in().dtype, {x[0], s.integer("groups")}};
  return {s.in().dtype, Shape(std::span(x.begin(), x.end() - s.integer("dims")))};
}

void expect_shape(const Signature& s, int input, const Shape& shape, std::string_view what) {
  if (s.in(input).shape != shape)
    fail("[{}] the {} of {} does not fit: it must have shape {}, not {}", s.name(), what, to_string(s.in()),
         to_string(shape), to_string(s.in(input).shape));
}

template <Kind kind>
std::vector<Type> forward_type(const Signature& s) {
  constexpr int most = has_mean(kind) ? 3 : 2;
  if (s.arity() != 1 && s.arity() != most) expect_arity(s, most);
  expect_geometry<kind>(s);
  if (s.arity() > 1) expect_shape(s, 1, weight_shape<kind>(s), "weight");
  if (s.arity() > 2) expect_shape(s, 2, weight_shape<kind>(s), "bias");
  Type statistic = statistic_type<kind>(s);
  if constexpr (has_mean(kind)) return {s.in(), statistic, statistic};
  return {s.in(), statistic};
}

template <Kind kind>
Kernel forward_kernel(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[plan = plan_of<kind>(s, s.in().shape), arity = s.arity()](const Buffers& b) {
      const T *w = arity > 1 ? b.in<T>(1) : nullptr, *bias = arity > 2 ? b.in<T>(2) : nullptr;
      T *mean = has_mean(kind) ? b.out<T>(1) : nullptr, *scale = b.out<T>(has_mean(kind) ? 2 : 1);
      kernels::row_norm(plan, b.in<T>(), w, bias, b.out<T>(), mean, scale);
    }};
  });
}

// The gradient op's inputs: x, mean (unless RMS), scale, dy, and the weight where there is one.
template <Kind kind>
struct Inputs {
  static constexpr int scale = has_mean(kind) ? 2 : 1, dy = scale + 1, weight = scale + 2;
};

template <Kind kind>
std::vector<Type> gradient_type(const Signature& s) {
  using In = Inputs<kind>;
  if (s.arity() != In::weight && s.arity() != In::weight + 1) expect_arity(s, In::weight + 1);
  expect_geometry<kind>(s);
  for (int i = 1; i <= In::scale; ++i) expect_shape(s, i, statistic_type<kind>(s).shape, "statistics");
  expect_shape(s, In::dy, s.in().shape, "dy");
  if (s.arity() == In::weight) return {s.in()};
  expect_shape(s, In::weight, weight_shape<kind>(s), "weight");
  if constexpr (has_mean(kind)) return {s.in(), s.in(In::weight), s.in(In::weight)};
  return {s.in(), s.in(In::weight)};
}

template <Kind kind>
Kernel gradient_kernel(const Signature& s) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using In = Inputs<kind>;
    kernels::RowNorm plan = plan_of<kind>(s, s.in().shape);
    bool weighted = s.arity() > In::weight;
    std::int64_t scratch = weighted ? 2 * plan.tiles() * plan.weights() * static_cast<std::int64_t>(sizeof(T)) : 0;
    return {[=](const Buffers& b) {
              const T* w = weighted ? b.in<T>(In::weight) : nullptr;
              T *dw = weighted ? b.out<T>(1) : nullptr, *db = weighted && has_mean(kind) ? b.out<T>(2) : nullptr;
              kernels::row_norm_grad(plan, b.in<T>(), w, has_mean(kind) ? b.in<T>(1) : nullptr, b.in<T>(In::scale),
                                     b.in<T>(In::dy), b.out<T>(), dw, db, static_cast<T*>(b.scratch));
            },
            scratch};
  });
}

// Expressions of the same functions, for gradients of the statistics and for second order.

struct Frame {
  Shape rows, statistics, weights;  // [batch, groups, segments, length] and what broadcasts to it
  Axes weight_axes;                 // over which a weight's gradient is summed
};

template <Kind kind>
Frame frame_of(const Call& c) {
  kernels::RowNorm p = plan_of<kind>(c, c.in().shape());
  std::int64_t batch = p.rows / p.groups;
  Frame f{.rows = {batch, p.groups, p.segments, p.length}, .statistics = {batch, p.groups, 1, 1}};
  f.weights = p.weight_per_element ? Shape{1, 1, 1, p.length} : Shape{1, p.groups, p.segments, 1};
  f.weight_axes = p.weight_per_element ? Axes{0, 1, 2} : Axes{0, 3};
  return f;
}

template <Kind kind>
Values statistics_expression(const Call& c) {
  Frame f = frame_of<kind>(c);
  Value x = reshape(c.in(), f.rows), mu = mean(x, {2, 3}, true);
  Value centred = has_mean(kind) ? x - mu : x;
  Value scale = rsqrt(mean(square(centred), {2, 3}, true) + c.real("epsilon"));
  if (!has_mean(kind)) return {reshape(scale, c.out(1).shape())};
  return {reshape(mu, c.out(1).shape()), reshape(scale, c.out(2).shape())};
}

template <Kind kind>
Values gradient_expression(const Call& c) {
  using In = Inputs<kind>;
  Frame f = frame_of<kind>(c);
  Value x = reshape(c.in(), f.rows), dy = reshape(c.in(In::dy), f.rows), scale = reshape(c.in(In::scale), f.statistics);
  Value xhat = (has_mean(kind) ? x - reshape(c.in(1), f.statistics) : x) * scale;
  bool weighted = c.arity() > In::weight;
  Value g = weighted ? dy * reshape(c.in(In::weight), f.weights) : dy;
  Value spread = has_mean(kind) ? g - mean(g, {2, 3}, true) : g;
  Value dx = reshape(scale * (spread - xhat * mean(g * xhat, {2, 3}, true)), c.in().shape());
  if (!weighted) return {dx};
  const Shape& shape = c.in(In::weight).shape();
  Values result{dx, reshape(sum(dy * xhat, f.weight_axes), shape)};
  if (has_mean(kind)) result.push_back(reshape(sum(dy, f.weight_axes), shape));
  return result;
}

template <Kind kind, const char* grad>
Values forward_gradient(const Call& c, const Values& dy) {
  Values inputs{c.in()}, statistics(dy.begin() + 1, dy.end());
  for (int i = 1; i <= Inputs<kind>::scale; ++i) inputs.push_back(c.out(i));
  inputs.push_back(dy[0]);
  if (c.arity() > 1) inputs.push_back(c.in(1));
  Values gradients = record(*find_op(grad), inputs, c.attributes());
  if (!std::ranges::all_of(statistics, is_zero))
    gradients[0] = gradients[0] + gradient_of_expression(c, statistics, statistics_expression<kind>)[0];
  return gradients;
}

template <Kind kind>
Values gradient_gradient(const Call& c, const Values& dy) {
  return gradient_of_expression(c, dy, gradient_expression<kind>);
}

constexpr char layer_norm_grad[] = "layer_norm_grad", group_norm_grad[] = "group_norm_grad",
               rms_norm_grad[] = "rms_norm_grad";

const Op norm_table[] = {
    {.name = "layer_norm",
     .infer = forward_type<Kind::layer>,
     .forward = forward_kernel<Kind::layer>,
     .gradient = forward_gradient<Kind::layer, layer_norm_grad>,
     .cost = per_element<8>,
     .may_overwrite = 1,
     .examples =
         "f32[3,4] f32[4] f32[4] dims=1 epsilon=1e-5; f32[2,3,4] f32[3,4] f32[3,4] dims=2 epsilon=1e-3; f32[2,70] "
         "dims=1 "
         "epsilon=1e-5; f32[5] f32[5] f32[5] dims=1 epsilon=1e-5; f32[0,4] f32[4] f32[4] dims=1 epsilon=1e-5; f32[2,1] "
         "f32[1] f32[1] dims=1 epsilon=0.5; f32[70,3] f32[3] f32[3] dims=1 epsilon=0.01",
     .doc = "the last dims brought to mean 0 and variance 1, then weight * x + bias; also mean and 1 / deviation"},
    {.name = layer_norm_grad,
     .infer = gradient_type<Kind::layer>,
     .forward = gradient_kernel<Kind::layer>,
     .gradient = gradient_gradient<Kind::layer>,
     .cost = per_element<16>,
     .examples =
         "f32[3,4] f32[3] f32[3]{0.5..2} f32[3,4] f32[4] dims=1 epsilon=1e-5; f32[2,3,4] f32[2] f32[2]{0.5..2} "
         "f32[2,3,4] f32[3,4] dims=2 epsilon=1e-3; f32[2,70] f32[2] f32[2]{0.5..2} f32[2,70] dims=1 epsilon=1e-5; "
         "f32[0,4] f32[0] f32[0] f32[0,4] f32[4] dims=1 epsilon=1e-5",
     .doc = "gradient of layer_norm, from x, mean, scale, dy and weight"},
    {.name = "group_norm",
     .infer = forward_type<Kind::group>,
     .forward = forward_kernel<Kind::group>,
     .gradient = forward_gradient<Kind::group, group_norm_grad>,
     .cost = per_element<8>,
     .may_overwrite = 1,
     .examples =
         "f32[2,4,3] f32[4] f32[4] groups=2 epsilon=1e-5; f32[2,3,2,2] f32[3] f32[3] groups=3 epsilon=1e-3; f32[2,4] "
         "f32[4] f32[4] groups=1 epsilon=1e-2; f32[2,2,5] groups=1 epsilon=1e-5; f32[0,2,3] f32[2] f32[2] groups=2 "
         "epsilon=1e-5; f32[33,2,3] f32[2] f32[2] groups=1 epsilon=0.01",
     .doc = "groups of channels of [batch, channels, ...] brought to mean 0 and variance 1, then weight * x + bias"},
    {.name = group_norm_grad,
     .infer = gradient_type<Kind::group>,
     .forward = gradient_kernel<Kind::group>,
     .gradient = gradient_gradient<Kind::group>,
     .cost = per_element<16>,
     .examples = "f32[2,4,3] f32[2,2] f32[2,2]{0.5..2} f32[2,4,3] f32[4] groups=2 epsilon=1e-5; f32[2,2,5] f32[2,1] "
                 "f32[2,1]{0.5..2} f32[2,2,5] groups=1 epsilon=1e-5; f32[2,3,2,2] f32[2,3] f32[2,3]{0.5..2} "
                 "f32[2,3,2,2] f32[3] "
                 "groups=3 epsilon=1e-3",
     .doc = "gradient of group_norm, from x, mean, scale, dy and weight"},
    {.name = "rms_norm",
     .infer = forward_type<Kind::rms>,
     .forward = forward_kernel<Kind::rms>,
     .gradient = forward_gradient<Kind::rms, rms_norm_grad>,
     .cost = per_element<6>,
     .may_overwrite = 1,
     .examples =
         "f32[3,4] f32[4] dims=1 epsilon=1e-5; f32[2,3,4] f32[3,4] dims=2 epsilon=1e-3; f32[2,70] dims=1 epsilon=1e-5; "
         "f32[5] f32[5] dims=1 epsilon=1e-5; f32[0,4] f32[4] dims=1 epsilon=1e-5; f32[2,1] f32[1] dims=1 epsilon=0.5",
     .doc = "the last dims divided by the root of their mean square, times weight; also that factor"},
    {.name = rms_norm_grad,
     .infer = gradient_type<Kind::rms>,
     .forward = gradient_kernel<Kind::rms>,
     .gradient = gradient_gradient<Kind::rms>,
     .cost = per_element<12>,
     .examples =
         "f32[3,4] f32[3]{0.5..2} f32[3,4] f32[4] dims=1 epsilon=1e-5; f32[2,70] f32[2]{0.5..2} f32[2,70] dims=1 "
         "epsilon=1e-5; f32[0,4] f32[0] f32[0,4] f32[4] dims=1 epsilon=1e-5",
     .doc = "gradient of rms_norm, from x, scale, dy and weight"},
};

}  // namespace

std::span<const Op> norm_ops() { return norm_table; }

Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  return record("layer_norm", {x, weight, bias}, {{"dims", std::int64_t{weight.rank()}}, {"epsilon", epsilon}});
}
Value layer_norm(const Value& x, int dims, double epsilon) {
  return record("layer_norm", {x}, {{"dims", std::int64_t{dims}}, {"epsilon", epsilon}});
}
Value rms_norm(const Value& x, const Value& weight, double epsilon) {
  return record("rms_norm", {x, weight}, {{"dims", std::int64_t{weight.rank()}}, {"epsilon", epsilon}});
}
Value group_norm(const Value& x, std::int64_t groups, const Value& weight, const Value& bias, double epsilon) {
  return record("group_norm", {x, weight, bias}, {{"groups", groups}, {"epsilon", epsilon}});
}
Value instance_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  if (x.rank() < 2)
    fail("[instance_norm] {} has no channels: it takes [batch, channels, ...], reshape it", to_string(x.type()));
  return as_told_by("instance_norm", [&] { return group_norm(x, x.shape()[1], weight, bias, epsilon); });
}

}  // namespace reprise
