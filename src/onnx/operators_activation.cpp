// SPDX-License-Identifier: Apache-2.0
// Activations.
#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

Values elu_of(const NodeCall& c) { return {elu(c.in(0), c.real("alpha", 1))}; }
Values leaky_relu_of(const NodeCall& c) { return {leaky_relu(c.in(0), c.real("alpha", 0.01))}; }
Values hard_sigmoid_of(const NodeCall& c) { return {hard_sigmoid(c.in(0), c.real("alpha", 0.2), c.real("beta", 0.5))}; }
Values selu_of(const NodeCall& c) {
  return {elu(c.in(0), c.real("alpha", 1.67326319217681884765625)) * c.real("gamma", 1.05070102214813232421875)};
}
// alpha * (exp(x / alpha) - 1) below 0
Values celu_of(const NodeCall& c) {
  double alpha = c.real("alpha", 1);
  return {elu(c.in(0) / alpha, 1) * alpha};
}

// A slope per channel may come without the dimensions that follow (before opset 7), or broadcast to x.
Values prelu_of(const NodeCall& c) {
  Value x = c.in(0), slope = c.in(1);
  if (c.opset() < 7 && slope.rank() == 1 && slope.shape()[0] != 1 && x.rank() > 2) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.rank()) - 1, 1);
    sizes[0] = slope.shape()[0];
    slope = reshape(slope, checked_shape(c, sizes));
  }
  return {prelu(x, slope)};
}

Values gelu_of(const NodeCall& c) {
  std::string form = c.text("approximate", "none");
  if (form != "none" && form != "tanh") unsupported("approximate=\"{}\" is not supported: none and tanh are", form);
  return {form == "none" ? gelu(c.in(0)) : gelu_tanh(c.in(0))};
}

Values softsign_of(const NodeCall& c) { return {c.in(0) / (abs(c.in(0)) + 1)}; }

Values thresholded_relu_of(const NodeCall& c) {
  Value x = c.in(0);
  return {where(greater(x, c.real("alpha", 1)), x, number(0, x))};
}

Values shrink_of(const NodeCall& c) {
  Value x = c.in(0);
  if (!is_float(x.dtype())) unsupported("integers are not supported: cast them to floats");
  double bias = c.real("bias", 0), lambda = c.real("lambd", 0.5);
  return {where(less(x, -lambda), x + bias, where(greater(x, lambda), x - bias, number(0, x)))};
}

constexpr Operator activation_table[] = {
    {"Celu", 12, 21, computes, celu_of},
    {"Elu", 6, 21, computes, elu_of},
    {"Gelu", 20, 21, computes, gelu_of},
    {"HardSigmoid", 6, 21, computes, hard_sigmoid_of},
    {"HardSwish", 14, 21, computes, unary<hard_swish>},
    {"LeakyRelu", 6, 21, computes, leaky_relu_of},
    {"Mish", 18, 21, computes, unary<mish>},
    {"PRelu", 6, 21, computes, prelu_of},
    {"Selu", 6, 21, computes, selu_of},
    {"Shrink", 9, 21, computes, shrink_of},
    {"Sigmoid", 6, 21, computes, unary<sigmoid>},
    {"Softplus", 1, 21, computes, unary<softplus>},
    {"Softsign", 1, 21, computes, softsign_of},
    {"Tanh", 6, 21, computes, unary<tanh>},
    {"ThresholdedRelu", 10, 21, computes, thresholded_relu_of},
};

}  // namespace

std::span<const Operator> activation_operators() { return activation_table; }

}  // namespace reprise::onnx
