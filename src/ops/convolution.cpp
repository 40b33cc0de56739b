// SPDX-License-Identifier: Apache-2.0
// Convolution and its two gradients. Each of the three is bilinear, and the other two are its gradient rule, so every
// order works.
#include "kernels/convolution.h"

#include <algorithm>

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

using kernels::ConvPass;
using kernels::ConvSizes;

Shape spatial(const Shape& s) { return Shape(std::span(s.begin() + 2, s.end())); }
Shape with_spatial(std::int64_t first, std::int64_t second, const Shape& sizes) {
  Shape shape{first, second};
  for (std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

int spatial_rank(const Signature& s) {
  int rank = s.in().shape.rank() - 2;
  if (rank < 1 || rank > 3)
    fail(
        "[{}] input {} is no signal or image: it needs the form [n,channels,spatial...] with one to three spatial "
        "dimensions",
        s.name(), to_string(s.in()));
  return rank;
}

std::int64_t groups_of(const Signature& s, std::int64_t in, std::int64_t out) {
  std::int64_t groups = s.integer("groups");
  if (groups < 1 || in % groups != 0 || out % groups != 0)
    fail("[{}] {} groups do not divide {} input and {} output channels: take a common divisor", s.name(), groups, in,
         out);
  return groups;
}

Shape sizes_attribute(const Signature& s, std::string_view name, int rank, std::int64_t lowest) {
  const auto& sizes = s.integers(name);
  if (static_cast<int>(sizes.size()) != rank)
    fail("[{}] {} has {} numbers: {} needs {}", s.name(), name, sizes.size(), to_string(s.in()), rank);
  for (std::int64_t size : sizes)
    if (size < lowest || size > 1 << 24) fail("[{}] {} holds {}: give {} or more", s.name(), name, size, lowest);
  return Shape(sizes);
}

Shape output_of(const Signature& s, const Shape& x, const Shape& kernel, const Window& w) {
  Shape y;
  for (int d = 0; d < w.rank(); ++d) {
    std::int64_t count = kernel[d] < 1 ? 0 : window_count(x[d], kernel[d], w, d);
    if (count == 0)
      fail("[{}] a kernel of {} taps (dilation {}) does not fit {} elements and padding {}+{}: pad more", s.name(),
           kernel[d], w.dilations[d], x[d], w.pads_begin[d], w.pads_end[d]);
    y.push_back(count);
  }
  return y;
}

void expect_shape(const Signature& s, int input, const Shape& wanted) {
  if (s.in(input).shape != wanted)
    fail("[{}] input {} is {}: with {} and these attributes it must have shape {}", s.name(), input,
         to_string(s.in(input)), to_string(s.in(1 - input)), to_string(wanted));
}

void expect_operands(const Signature& s) {
  expect_float(s);
  expect_same_dtype(s);
  expect_rank(s, 1, s.in().shape.rank());
}

ConvSizes sized(const Signature& s, const Shape& x, const Shape& weight, const Shape& y) {
  Window w = window_of(s, spatial_rank(s));
  return {x, weight, y, w.strides, w.dilations, w.pads_begin, w.pads_end, s.integer("groups")};
}

std::vector<Type> conv_type(const Signature& s) {
  bool has_bias = s.arity() == 3;
  if (!has_bias) expect_arity(s, 2);
  int rank = spatial_rank(s);
  expect_operands(s);
  const Shape &x = s.in(0).shape, &weight = s.in(1).shape;
  std::int64_t groups = groups_of(s, x[1], weight[0]);
  expect_shape(s, 1, with_spatial(weight[0], x[1] / groups, spatial(weight)));
  if (has_bias && s.in(2).shape != Shape{weight[0]})
    fail("[conv] bias {} does not fit: it must have shape [{}], one number an output channel", to_string(s.in(2)),
         weight[0]);
  return {{s.in().dtype, with_spatial(x[0], weight[0], output_of(s, spatial(x), spatial(weight), window_of(s, rank)))}};
}

std::vector<Type> data_grad_type(const Signature& s) {
  expect_arity(s, 2);
  int rank = spatial_rank(s);
  expect_operands(s);
  const Shape &dy = s.in(0).shape, &weight = s.in(1).shape;
  Shape size = sizes_attribute(s, "size", rank, 0);
  std::int64_t groups = groups_of(s, weight[1] * s.integer("groups"), weight[0]);
  expect_shape(s, 0, with_spatial(dy[0], weight[0], output_of(s, size, spatial(weight), window_of(s, rank))));
  return {{s.in().dtype, with_spatial(dy[0], weight[1] * groups, size)}};
}

std::vector<Type> weight_grad_type(const Signature& s) {
  expect_arity(s, 2);
  int rank = spatial_rank(s);
  expect_operands(s);
  const Shape &x = s.in(0).shape, &dy = s.in(1).shape;
  Shape kernel = sizes_attribute(s, "kernel", rank, 1);
  std::int64_t groups = groups_of(s, x[1], dy[1]);
  expect_shape(s, 1, with_spatial(x[0], dy[1], output_of(s, spatial(x), kernel, window_of(s, rank))));
  return {{s.in().dtype, with_spatial(dy[1], x[1] / groups, kernel)}};
}

ConvSizes sizes_of(const Signature& s, ConvPass pass) {
  if (pass == ConvPass::forward) return sized(s, s.in(0).shape, s.in(1).shape, s.out().shape);
  if (pass == ConvPass::data_gradient) return sized(s, s.out().shape, s.in(1).shape, s.in(0).shape);
  return sized(s, s.in(0).shape, s.out().shape, s.in(1).shape);
}

template <ConvPass pass>
Kernel conv_kernel(const Signature& s) {
  bool has_bias = s.arity() == 3;
  auto kernel_of = [has_bias]<class T>(kernels::Convolution<T> c) -> Kernel {
    return {[c, has_bias](const Buffers& b) {
              c.run(b.in<T>(0), b.in<T>(1), has_bias ? b.in<T>(2) : nullptr, b.out<T>(), b.scratch);
            },
            c.scratch_bytes};
  };
  if (s.in().dtype == DType::f64) return kernel_of(kernels::prepare_convolution_f64(pass, sizes_of(s, pass)));
  return kernel_of(kernels::prepare_convolution_f32(pass, sizes_of(s, pass), has_bias));
}

template <ConvPass pass>
Cost conv_cost(const Signature& s) {
  Cost cost = moved_bytes(s);
  ConvSizes c = sizes_of(s, pass);
  double taps = c.weight[0] == 0 ? 0 : static_cast<double>(c.weight.elements() / c.weight[0]);
  cost.flops = 2 * taps * static_cast<double>(c.y.elements());
  return cost;
}

Attributes window_part(const Call& c) {
  return {{"strides", c.integers("strides")},
          {"dilations", c.integers("dilations")},
          {"pads", c.integers("pads")},
          {"groups", c.integer("groups")}};
}

Value data_grad(const Call& c, const Value& dy, const Value& weight, const Value& like) {
  Attributes attributes = window_part(c);
  attributes.set("size", spatial(like.shape()).sizes());
  return record("conv_data_grad", {dy, weight}, attributes);
}

Value weight_grad(const Call& c, const Value& x, const Value& dy, const Value& like) {
  Attributes attributes = window_part(c);
  attributes.set("kernel", spatial(like.shape()).sizes());
  return record("conv_weight_grad", {x, dy}, attributes);
}

Value forward(const Call& c, const Value& x, const Value& weight) {
  return record("conv", {x, weight}, window_part(c));
}

Axes all_but_channels(const Value& y) {
  Axes axes{0};
  for (int d = 2; d < y.rank(); ++d) axes.push_back(d);
  return axes;
}

const Op convolution_table[] = {
    {.name = "conv",
     .infer = conv_type,
     .forward = conv_kernel<ConvPass::forward>,
     .gradient = [](const Call& c, const Values& dy) -> Values {
       Values gradients{data_grad(c, dy[0], c.in(1), c.in(0)), weight_grad(c, c.in(0), dy[0], c.in(1))};
       if (c.arity() == 3) gradients.push_back(sum(dy[0], all_but_channels(dy[0])));
       return gradients;
     },
     .cost = conv_cost<ConvPass::forward>,
     .examples = "f32[2,3,5] f32[4,3,3] strides=[1] dilations=[1] pads=[1,1] groups=1; "
                 "f32[2,4,6,5] f32[6,2,3,2] f32[6] strides=[2,1] dilations=[1,2] pads=[1,0,2,1] groups=2; "
                 "f32[1,2,4,3,4] f32[2,2,2,3,2] strides=[1,1,2] dilations=[1,1,1] pads=[0,1,0,1,1,0] groups=1; "
                 "f32[2,3,5,5] f32[3,1,3,3] f32[3] strides=[1,1] dilations=[1,1] pads=[1,1,1,1] groups=3; "
                 "f32[0,2,4,4] f32[3,2,3,3] f32[3] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1; "
                 "f32[2,0,4] f32[3,0,2] strides=[1] dilations=[1] pads=[0,0] groups=1; "
                 "f32[1,1,1,1] f32[1,1,1,1] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1; "
                 "f32[1,2,2] f32[2,2,2] strides=[1] dilations=[1] pads=[3,4] groups=1",
     .onnx = "Conv",
     .doc = "convolution of [n,in,spatial...] with weight [out,in/groups,kernel...], plus bias [out] if given"},
    {.name = "conv_data_grad",
     .infer = data_grad_type,
     .forward = conv_kernel<ConvPass::data_gradient>,
     .gradient = [](const Call& c, const Values& u) -> Values {
       return {forward(c, u[0], c.in(1)), weight_grad(c, u[0], c.in(0), c.in(1))};
     },
     .cost = conv_cost<ConvPass::data_gradient>,
     .examples =
         "f32[2,4,5] f32[4,3,3] strides=[1] dilations=[1] pads=[1,1] groups=1 size=[5]; "
         "f32[2,6,4,4] f32[6,2,3,2] strides=[2,1] dilations=[1,2] pads=[1,0,2,1] groups=2 size=[6,5]; "
         "f32[1,2,3,2,2] f32[2,2,2,3,2] strides=[1,1,2] dilations=[1,1,1] pads=[0,1,0,1,1,0] groups=1 size=[3,2,4]; "
         "f32[2,3,5,5] f32[3,1,3,3] strides=[1,1] dilations=[1,1] pads=[1,1,1,1] groups=3 size=[5,5]; "
         "f32[0,3,2,2] f32[3,2,3,3] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1 size=[4,4]",
     .doc = "gradient of a convolution's input; the transposed convolution"},
    {.name = "conv_weight_grad",
     .infer = weight_grad_type,
     .forward = conv_kernel<ConvPass::weight_gradient>,
     .gradient = [](const Call& c, const Values& v) -> Values {
       return {data_grad(c, c.in(1), v[0], c.in(0)), forward(c, c.in(0), v[0])};
     },
     .cost = conv_cost<ConvPass::weight_gradient>,
     .examples =
         "f32[2,3,5] f32[2,4,5] strides=[1] dilations=[1] pads=[1,1] groups=1 kernel=[3]; "
         "f32[2,4,6,5] f32[2,6,4,4] strides=[2,1] dilations=[1,2] pads=[1,0,2,1] groups=2 kernel=[3,2]; "
         "f32[1,2,3,2,4] f32[1,2,3,2,2] strides=[1,1,2] dilations=[1,1,1] pads=[0,1,0,1,1,0] groups=1 kernel=[2,3,2]; "
         "f32[2,3,5,5] f32[2,3,5,5] strides=[1,1] dilations=[1,1] pads=[1,1,1,1] groups=3 kernel=[3,3]; "
         "f32[0,2,4,4] f32[0,3,2,2] strides=[1,1] dilations=[1,1] pads=[0,0,0,0] groups=1 kernel=[3,3]",
     .doc = "gradient of a convolution's weight"},
};

template <class Options>
Attributes conv_attributes(std::string_view who, const Value& x, const Options& o) {
  Attributes attributes = window_attributes(who, {o.strides, o.dilations, o.pads}, std::max(0, x.rank() - 2));
  attributes.set("groups", o.groups);
  return attributes;
}

Value plus_bias(const Value& y, const Value& bias) {
  Shape shape{bias.type().elements()};
  for (int d = 2; d < y.rank(); ++d) shape.push_back(1);
  return y + reshape(bias, shape);
}

}  // namespace

std::span<const Op> convolution_ops() { return convolution_table; }

Value conv(const Value& x, const Value& weight, const ConvOptions& options) {
  return record("conv", {x, weight}, conv_attributes("conv", x, options));
}
Value conv(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options) {
  return record("conv", {x, weight, bias}, conv_attributes("conv", x, options));
}

Value conv_transpose(const Value& x, const Value& weight, const ConvTransposeOptions& options) {
  if (weight.rank() != x.rank() || x.rank() < 3)
    fail(
        "[conv_transpose] x {} and weight {} do not fit: they need the forms [n,in,spatial...] and "
        "[in,out/groups,kernel...]",
        to_string(x.type()), to_string(weight.type()));
  int rank = x.rank() - 2;
  Attributes attributes = conv_attributes("conv_transpose", x, options);
  if (auto count = static_cast<int>(options.output_padding.size()); count > 1 && count != rank)
    fail("[conv_transpose] output_padding has {} numbers: give one, or one per dimension ({})", count, rank);
  auto numbers = [&](std::string_view name) { return std::get<std::vector<std::int64_t>>(*attributes.find(name)); };
  auto strides = numbers("strides"), dilations = numbers("dilations"), pads = numbers("pads");
  std::vector<std::int64_t> size;
  for (int d = 0; d < rank; ++d) {
    auto i = static_cast<std::size_t>(d);
    std::int64_t extra = options.output_padding.empty()       ? 0
                         : options.output_padding.size() == 1 ? options.output_padding[0]
                                                              : options.output_padding[i];
    if (extra < 0 || extra >= std::max(strides[i], dilations[i]))
      fail("[conv_transpose] output_padding holds {}: give 0 or more, and less than the stride {} or the dilation {}",
           extra, strides[i], dilations[i]);
    size.push_back((x.shape()[d + 2] - 1) * strides[i] - pads[i] - pads[i + static_cast<std::size_t>(rank)] +
                   dilations[i] * (weight.shape()[d + 2] - 1) + 1 + extra);
  }
  if (auto least = std::ranges::min(size); least < 0)
    fail("[conv_transpose] x {}, weight {} and these pads leave an output of size {}: pad less", to_string(x.type()),
         to_string(weight.type()), least);
  attributes.set("size", size);
  return as_told_by("conv_transpose", [&] { return record("conv_data_grad", {x, weight}, attributes); });
}

Value conv_transpose(const Value& x, const Value& weight, const Value& bias, const ConvTransposeOptions& options) {
  Value y = conv_transpose(x, weight, options);
  if (bias.type() != Type{y.dtype(), {y.shape()[1]}})
    fail("[conv_transpose] bias {} does not fit: it must be {}[{}], one number an output channel",
         to_string(bias.type()), to_string(y.dtype()), y.shape()[1]);
  return plus_bias(y, bias);
}

}  // namespace reprise
