// SPDX-License-Identifier: Apache-2.0
// Batch norm. In training it also gives the batch's mean and variance, from which the caller keeps running statistics.
#include "kernels/batch_norm.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/map.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

void expect_channels(const Signature& s, int input) {
  if (s.in(input).shape != Shape{s.in().shape[1]})
    fail("[{}] input {} does not fit: it must have one element a channel of {}, it is {}", s.name(), input,
         to_string(s.in()), to_string(s.in(input)));
}

void expect_batch(const Signature& s) {
  expect_float(s);
  expect_same_dtype(s);
  if (s.in().shape.rank() < 2)
    fail("[{}] input {} has no channels: it takes [batch, channels, ...], reshape it", s.name(), to_string(s.in()));
  if (!(s.real("epsilon") >= 0)) fail("[{}] epsilon is {}: it must not be negative", s.name(), s.real("epsilon"));
  if (s.in().elements() == 0)
    fail("[{}] {} has nothing to normalise over: a channel needs at least one element", s.name(), to_string(s.in()));
}

kernels::BatchNorm plan_of(const Signature& s) {
  const Shape& x = s.in().shape;
  kernels::BatchNorm p{.batch = x[0], .channels = x[1], .epsilon = s.real("epsilon")};
  for (int i = 2; i < x.rank(); ++i) p.length *= x[i];
  return p;
}

// [channels] as it broadcasts to x; and the axes that a channel spreads over.
Value per_channel(const Value& v, const Value& x) {
  Shape shape{v.shape()[0]};
  for (int i = 2; i < x.rank(); ++i) shape.push_back(1);
  return reshape(v, shape);
}
Axes other_axes(const Value& x) {
  Axes axes{0};
  for (int i = 2; i < x.rank(); ++i) axes.push_back(i);
  return axes;
}

Values statistics_expression(const Call& c) {
  Value x = c.in();
  Value mu = mean(x, other_axes(x));
  return {mu, mean(square(x - per_channel(mu, x)), other_axes(x))};
}

Values gradient_expression(const Call& c) {
  Value x = c.in(0), w = c.in(1), scale = rsqrt(c.in(3) + c.real("epsilon")), dy = c.in(4);
  Axes axes = other_axes(x);
  Value xhat = (x - per_channel(c.in(2), x)) * per_channel(scale, x);
  Value dx = per_channel(w * scale, x) * (dy - mean(dy, axes, true) - xhat * mean(dy * xhat, axes, true));
  return {dx, sum(dy * xhat, axes), sum(dy, axes)};
}

const Op batch_norm_table[] = {
    {.name = "batch_norm",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 3);
       expect_batch(s);
       expect_channels(s, 1), expect_channels(s, 2);
       return {s.in(0), s.in(1), s.in(1)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[plan = plan_of(s)](const Buffers& b) {
           kernels::batch_norm(plan, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.out<T>(0), b.out<T>(1), b.out<T>(2));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Values gradients =
           record(*find_op("batch_norm_grad"), {c.in(0), c.in(1), c.out(1), c.out(2), dy[0]}, c.attributes());
       if (is_zero(dy[1]) && is_zero(dy[2])) return gradients;
       gradients[0] = gradients[0] + gradient_of_expression(c, {dy[1], dy[2]}, statistics_expression)[0];
       return gradients;
     },
     .cost = per_element<8>,
     .may_overwrite = 1,
     .examples =
         "f32[2,3,4] f32[3] f32[3] epsilon=1e-5; f32[4,3] f32[3] f32[3] epsilon=1e-3; f32[2,2,2,3] f32[2] f32[2] "
         "epsilon=1e-5; f32[5,1] f32[1] f32[1] epsilon=0.1; f32[3,70] f32[70] f32[70] epsilon=0.1",
     .doc = "every channel of [batch, channels, ...] brought to mean 0 and variance 1, then weight * x + bias; also "
            "the batch's "
            "mean and variance"},
    {.name = "batch_norm_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 5);
       expect_batch(s);
       for (int i : {1, 2, 3}) expect_channels(s, i);
       if (s.in(4) != s.in(0))
         fail("[batch_norm_grad] dy is {}, x is {}: they must be of one type", to_string(s.in(4)), to_string(s.in(0)));
       return {s.in(0), s.in(1), s.in(1)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[plan = plan_of(s)](const Buffers& b) {
           kernels::batch_norm_grad(plan, b.in<T>(0), b.in<T>(1), b.in<T>(2), b.in<T>(3), b.in<T>(4), b.out<T>(0),
                                    b.out<T>(1), b.out<T>(2));
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, gradient_expression);
     },
     .cost = per_element<16>,
     .may_overwrite = 1 | 16,
     .examples = "f32[2,3,4] f32[3] f32[3] f32[3]{0.5..2} f32[2,3,4] epsilon=1e-5; f32[4,3] f32[3] f32[3] "
                 "f32[3]{0.5..2} f32[4,3] "
                 "epsilon=1e-3",
     .doc = "gradient of batch_norm, from x, weight, mean, variance and dy"},
};

}  // namespace

std::span<const Op> batch_norm_ops() { return batch_norm_table; }

BatchNormOutput batch_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  Values out = record(*find_op("batch_norm"), {x, weight, bias}, {{"epsilon", epsilon}});
  return {out[0], out[1], out[2]};
}

Value batch_norm_inference(const Value& x, const Value& weight, const Value& bias, const Value& mean,
                           const Value& variance, double epsilon) {
  if (x.rank() < 2)
    fail("[batch_norm_inference] {} has no channels: it takes [batch, channels, ...], reshape it", to_string(x.type()));
  return as_told_by("batch_norm_inference", [&] {
    Value factor = weight * rsqrt(variance + epsilon);
    return multiply_add(x, per_channel(factor, x), per_channel(bias - mean * factor, x));
  });
}

}  // namespace reprise
