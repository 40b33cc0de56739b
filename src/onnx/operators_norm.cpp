// SPDX-License-Identifier: Apache-2.0
// Normalisation and dropout.
#include <algorithm>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

bool by_batch(const NodeCall& c) {
  if (c.opset() >= 14) return c.flag("training_mode");
  if (c.opset() < 7) return !c.flag("is_test");
  return std::ranges::count_if(c.node().outputs, [](const std::string& name) { return !name.empty(); }) > 1;
}

// The running statistic at an input: so much of it stays, the rest is the batch's.
Value running(const NodeCall& c, int input, const Value& batch) {
  double kept = c.real("momentum", 0.9);
  Value old = c.in(input), next = cast(old, batch.dtype()) * kept + batch * (1 - kept);
  c.around().statistic(input, stop_gradient(cast(next, old.dtype())));
  return next;
}

// Outputs: y, running mean, running variance; up to opset 13 also the batch's own mean and variance.
Values batch_normalized(const NodeCall& c) {
  Value x = c.in(0);
  if (c.opset() < 9 && !c.flag("spatial", true))
    unsupported("spatial=0 is not supported: export with opset 9 or later");
  double epsilon = c.real("epsilon", 1e-5);
  if (!by_batch(c) || !c.around().training)
    return {batch_norm_inference(x, c.in(1), c.in(2), c.in(3), c.in(4), epsilon)};
  BatchNormOutput y = batch_norm(x, c.in(1), c.in(2), epsilon);
  return {y.out, running(c, 3, y.mean), running(c, 4, y.variance), y.mean, y.variance};
}

Values instance_normalized(const NodeCall& c) {
  return {instance_norm(c.in(0), c.in(1), c.in(2), c.real("epsilon", 1e-5))};
}

Value with_ones(const Value& statistic, const Value& x, int axis) {
  Shape shape(std::span(x.shape().begin(), x.shape().begin() + axis));
  for (int i = axis; i < x.rank(); ++i) shape.push_back(1);
  return reshape(statistic, shape);
}

// Outputs: y, mean, 1 / deviation.
Values layer_normalized(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1), bias = c.maybe(2);
  int axis = axis_of(c, c.integer("axis", -1), x.rank());
  Shape normal(std::span(x.shape().begin() + axis, x.shape().end()));
  Attributes attributes{{"dims", std::int64_t{x.rank() - axis}}, {"epsilon", c.real("epsilon", 1e-5)}};
  bool together = weight.shape() == normal && bias && bias.shape() == normal;
  Values y = together ? record(*find_op("layer_norm"), {x, weight, bias}, attributes)
                      : record(*find_op("layer_norm"), {x}, attributes);
  if (!together) y[0] = y[0] * weight;
  if (!together && bias) y[0] = y[0] + bias;
  return {y[0], with_ones(y[1], x, axis), with_ones(y[2], x, axis)};
}

// Weights are one a group up to opset 20, then one a channel.
Values group_normalized(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1), bias = c.in(2);
  std::int64_t groups = c.integer("num_groups", 0);
  if (x.rank() < 2 || groups < 1 || x.shape()[1] % groups != 0)
    fail("[onnx] {} groups do not part the channels of {}", groups, to_string(x.type()));
  if (c.opset() < 21) {
    weight = repeat(weight, x.shape()[1] / groups, 0);
    bias = repeat(bias, x.shape()[1] / groups, 0);
  }
  return {group_norm(x, groups, weight, bias, c.real("epsilon", 1e-5))};
}

// x / (bias + alpha / size · Σ x²)^beta, the sum over `size` channels around each.
Values local_response(const NodeCall& c) {
  Value x = c.in(0);
  std::int64_t size = c.integer("size", 0);
  if (x.rank() < 3 || size < 1 || size > 1 << 24)
    fail("[onnx] LRN over {} channels of {} is not possible", size, to_string(x.type()));
  Value squares = reshape(x * x, {x.shape()[0], 1, x.shape()[1], -1});
  PoolOptions options{.strides = {1, 1}, .pads = {(size - 1) / 2, 0, size / 2, 0}, .count_include_pad = true};
  Value mean_square = reshape(avg_pool(squares, {size, 1}, options), x.shape());
  return {x * pow(mean_square * c.real("alpha", 1e-4) + c.real("bias", 1), -c.real("beta", 0.75))};
}

double dropout_ratio(const NodeCall& c) {
  double ratio = c.opset() < 12 ? c.real("ratio", 0.5) : c.has(1) ? c.real_of(1) : 0.5;
  if (!(ratio >= 0 && ratio < 1)) fail("[onnx] a dropout ratio of {} is not below 1", ratio);
  return ratio;
}

// From opset 12 on an input says whether it is live; before that it is wherever it stands, in training. Without a key
// there is no training.
bool is_live(const NodeCall& c) {
  if (!c.around().training) return false;
  if (c.opset() >= 12) return c.has(2) && c.tensor_of(2).elements() == 1 && c.tensor_of(2).item() != 0;
  return c.around().dropout_key && !c.flag("is_test");
}

Values dropped(const NodeCall& c) {
  Value x = c.in(0);
  double ratio = is_live(c) ? dropout_ratio(c) : 0;
  if (ratio == 0) return {x, c.wants(1) ? expand(Value(Tensor::scalar(1, DType::boolean)), x.shape()) : Value{}};
  if (!c.around().dropout_key) unsupported("its random numbers cannot be had here: there is no key");
  Value key = c.around().dropout_key();
  if (!c.wants(1)) return {dropout(x, key, ratio)};
  Value kept = random_bernoulli(key, x.shape(), 1 - ratio, x.dtype());
  return {x * kept / (1 - ratio), cast(kept, DType::boolean)};
}

constexpr Operator norm_table[] = {
    {"BatchNormalization", 6, 21, computes, batch_normalized},
    {"Dropout", 6, 21, computes, dropped, 0b110},
    {"GroupNormalization", 18, 21, computes, group_normalized},
    {"InstanceNormalization", 6, 21, computes, instance_normalized},
    {"LRN", 1, 21, computes, local_response},
    {"LayerNormalization", 17, 21, computes, layer_normalized},
};

}  // namespace

std::span<const Operator> norm_operators() { return norm_table; }

}  // namespace reprise::onnx
