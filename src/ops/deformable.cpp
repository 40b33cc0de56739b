// SPDX-License-Identifier: Apache-2.0
// Deformable convolution of images, with its gradient as one op; higher orders go through a plain expression.
#include "kernels/deformable.h"

#include "base/error.h"
#include "graph/backpropagate.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

using kernels::DeformableSizes;

// Checks x, offsets, weight (inputs 0 to 2) and the mask, if there is one, and finds the output's shape.
DeformableSizes sizes_of(const Signature& s, int mask_input) {
  expect_float(s);
  expect_same_dtype(s);
  for (int i = 0; i < 3; ++i) expect_rank(s, i, 4);
  const Shape &x = s.in(0).shape, &offsets = s.in(1).shape, &weight = s.in(2).shape;
  Window w = window_of(s, 2);
  std::int64_t groups = s.integer("groups"), offset_groups = s.integer("offset_groups");
  if (groups < 1 || offset_groups < 1 || x[1] % groups != 0 || weight[0] % groups != 0 || x[1] % offset_groups != 0 ||
      weight[1] != x[1] / groups || weight[2] < 1 || weight[3] < 1)
    fail(
        "[{}] x {} and weight {} do not fit {} groups and {} offset groups: they are [n,in,height,width] and "
        "[out,in/groups,kernel...]",
        s.name(), to_string(s.in(0)), to_string(s.in(2)), groups, offset_groups);
  Shape y{x[0], weight[0], window_count(x[2], weight[2], w, 0), window_count(x[3], weight[3], w, 1)};
  if (y[2] == 0 || y[3] == 0)
    fail("[{}] a kernel of {} taps does not fit x {} with these pads: pad more", s.name(), to_string(weight),
         to_string(s.in(0)));
  std::int64_t places = offset_groups * weight[2] * weight[3];
  Shape wanted{x[0], 2 * places, y[2], y[3]}, wanted_mask{x[0], places, y[2], y[3]};
  if (offsets != wanted)
    fail("[{}] offsets {} must have shape {}: two per tap, group and output element", s.name(), to_string(s.in(1)),
         to_string(wanted));
  if (s.arity() > mask_input && s.in(mask_input).shape != wanted_mask)
    fail("[{}] mask {} must have shape {}: one per tap, group and output element", s.name(),
         to_string(s.in(mask_input)), to_string(wanted_mask));
  return {x, weight, y, w.strides, w.dilations, w.pads_begin, groups, offset_groups};
}

template <class T>
kernels::DeformableInputs<T> inputs_of(const Buffers& b, std::size_t mask_input) {
  bool masked = b.inputs.size() > mask_input;
  return {b.in<T>(0), b.in<T>(1), b.in<T>(2), masked ? b.in<T>(static_cast<int>(mask_input)) : nullptr};
}

std::vector<Type> deformable_type(const Signature& s) {
  if (s.arity() != 4) expect_arity(s, 3);
  return {{s.in().dtype, sizes_of(s, 3).y}};
}

Kernel deformable_kernel(const Signature& s) {
  DeformableSizes sizes = sizes_of(s, 3);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[sizes](const Buffers& b) { kernels::deformable(sizes, inputs_of<T>(b, 3), b.out<T>(), b.scratch); },
            kernels::deformable_scratch_bytes<T>(sizes, false)};
  });
}

// Inputs: x, offsets, weight, dy and perhaps the mask; outputs: the gradients of all but dy.
std::vector<Type> gradient_type(const Signature& s) {
  if (s.arity() != 5) expect_arity(s, 4);
  DeformableSizes sizes = sizes_of(s, 4);
  if (s.in(3).shape != sizes.y)
    fail("[deformable_conv_grad] output gradient {} does not fit: it must have shape {}", to_string(s.in(3)),
         to_string(sizes.y));
  std::vector<Type> types{s.in(0), s.in(1), s.in(2)};
  if (s.arity() == 5) types.push_back(s.in(4));
  return types;
}

Kernel gradient_kernel(const Signature& s) {
  DeformableSizes sizes = sizes_of(s, 4);
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[sizes](const Buffers& b) {
              T* dmask = b.outputs.size() == 4 ? b.out<T>(3) : nullptr;
              kernels::deformable_gradient<T>(sizes, inputs_of<T>(b, 4), b.in<T>(3),
                                              {b.out<T>(0), b.out<T>(1), b.out<T>(2), dmask}, b.scratch);
            },
            kernels::deformable_scratch_bytes<T>(sizes, true)};
  });
}

template <int products, int mask_input>
Cost deformable_cost(const Signature& s) {
  DeformableSizes sizes = sizes_of(s, mask_input);
  Cost cost = moved_bytes(s);
  double taps = static_cast<double>(sizes.weight[1] * sizes.taps());
  cost.flops = products * (2 * taps * static_cast<double>(sizes.y.elements()) +
                           20 * static_cast<double>(sizes.x[0] * sizes.unfolded()));
  return cost;
}

// Where the taps would read without offsets, along one axis: [taps, positions].
Value regular_places(const Call& c, const Shape& weight, const Shape& y, int axis, DType dtype) {
  auto i = static_cast<std::size_t>(axis);
  std::int64_t stride = c.integers("strides")[i], dilation = c.integers("dilations")[i], pad = c.integers("pads")[i];
  std::vector<double> places;
  for (std::int64_t k = 0; k < weight[2] * weight[3]; ++k)
    for (std::int64_t p = 0; p < y[2] * y[3]; ++p) {
      std::int64_t tap = axis == 0 ? k / weight[3] : k % weight[3], at = axis == 0 ? p / y[3] : p % y[3];
      places.push_back(static_cast<double>(at * stride - pad + tap * dilation));
    }
  return Tensor::from(places, {weight[2] * weight[3], y[2] * y[3]}).to(dtype);
}

// One axis of the places: the element before, and how far behind it the place is.
struct Between {
  Value before, fraction;
};
Between between(const Value& places) {
  Value before = stop_gradient(floor(places));
  return {before, places - before};
}

// Element `before` or the one after it, kept inside; and its weight, zero outside.
struct Neighbour {
  Value index, weight;
};
Neighbour neighbour(const Between& b, bool after, std::int64_t size) {
  Value at = after ? b.before + 1 : b.before;
  Value inside = clamp(at, 0, static_cast<double>(size - 1));
  Value weight = after ? b.fraction : 1 - b.fraction;
  return {inside, where(equal(at, inside), weight, scalar_like(weight, 0))};
}

// deformable_conv from gathers and products. Inputs of the call: x, offsets, weight, dy and perhaps the mask.
Value plain_deformable(const Call& c) {
  Value x = c.in(0), weight = c.in(2);
  const Shape y = c.in(3).shape(), &w = weight.shape();
  std::int64_t n = x.shape()[0], in = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  std::int64_t groups = c.integer("groups"), offset_groups = c.integer("offset_groups");
  std::int64_t taps = w[2] * w[3], area = y[2] * y[3], channels = in / offset_groups;
  Value offsets = reshape(c.in(1), Shape{n, offset_groups, taps, 2, area});
  Between row = between(select(offsets, 3, 0) + regular_places(c, w, y, 0, x.dtype()));
  Between column = between(select(offsets, 3, 1) + regular_places(c, w, y, 1, x.dtype()));
  Value image = reshape(x, Shape{n, offset_groups, channels, height * width}), columns;
  Shape one{n, offset_groups, 1, taps * area}, all{n, offset_groups, channels, taps * area};
  for (int corner = 0; corner < 4; ++corner) {
    Neighbour i = neighbour(row, corner / 2 == 1, height), j = neighbour(column, corner % 2 == 1, width);
    Value index = cast(stop_gradient(i.index * static_cast<double>(width) + j.index), DType::i64);
    Value read = record("gather_elements", {image, expand(reshape(index, one), all)}, {{"axis", std::int64_t{3}}});
    Value part = read * reshape(i.weight * j.weight, one);
    columns = columns ? columns + part : part;
  }
  if (c.arity() == 5) columns = columns * reshape(c.in(4), one);
  Value product = matmul(reshape(weight, Shape{groups, w[0] / groups, w[1] * taps}),
                         reshape(columns, Shape{n, groups, in / groups * taps, area}));
  return reshape(product, y);
}

Values plain_gradient(const Call& c) {
  Values wrt{c.in(0), c.in(1), c.in(2)};
  if (c.arity() == 5) wrt.push_back(c.in(4));
  return backpropagate({plain_deformable(c)}, {c.in(3)}, wrt);
}

const Op deformable_table[] = {
    {.name = "deformable_conv",
     .infer = deformable_type,
     .forward = deformable_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Values inputs{c.in(0), c.in(1), c.in(2), dy[0]};
       if (c.arity() == 4) inputs.push_back(c.in(3));
       return record(*find_op("deformable_conv_grad"), inputs, c.attributes());
     },
     .cost = deformable_cost<1, 3>,
     .examples =
         "f32[1,2,4,5] f32[1,8,3,4]{0.1..0.4} f32[2,2,2,2] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1 "
         "offset_groups=1; "
         "f32[2,4,4,4] f32[2,36,2,2]{-0.4..-0.1} f32[2,2,3,3] f32[2,18,2,2] strides=[2,2] dilations=[1,1] "
         "pads=[1,1,1,1] groups=2 offset_groups=2; "
         "f32[0,2,3,3] f32[0,2,3,3] f32[3,2,1,1] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1 "
         "offset_groups=1",
     .onnx = "DeformConv",
     .doc = "convolution whose taps read at offsets of their own, between elements; a mask weighs them"},
    {.name = "deformable_conv_grad",
     .infer = gradient_type,
     .forward = gradient_kernel,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return gradient_of_expression(c, dy, plain_gradient);
     },
     .cost = deformable_cost<3, 4>,
     .examples = "f32[1,2,4,5] f32[1,8,3,4]{0.1..0.4} f32[2,2,2,2] f32[1,2,3,4] strides=[1,1] dilations=[1,1] "
                 "pads=[0,0,0,0] groups=1 offset_groups=1; "
                 "f32[1,2,4,4] f32[1,36,2,2]{-0.4..-0.1} f32[2,1,3,3] f32[1,2,2,2] f32[1,18,2,2] strides=[2,2] "
                 "dilations=[1,1] pads=[1,1,1,1] groups=2 offset_groups=2",
     .doc = "gradients of deformable_conv"},
};

}  // namespace

std::span<const Op> deformable_ops() { return deformable_table; }

Value deformable_conv(const Value& x, const Value& offsets, const Value& weight, const DeformableOptions& o) {
  Attributes attributes = window_attributes("deformable_conv", {o.strides, o.dilations, o.pads}, 2);
  attributes.set("groups", o.groups);
  attributes.set("offset_groups", o.offset_groups);
  Values inputs{x, offsets, weight};
  if (o.mask) inputs.push_back(o.mask);
  return record("deformable_conv", inputs, attributes);
}

}  // namespace reprise
