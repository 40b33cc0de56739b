// SPDX-License-Identifier: Apache-2.0
// ONNX's training operators: gradients, and the steps of optimizers.
#include "onnx/operators.h"
#include "reprise/autodiff.h"

namespace reprise::onnx {
namespace {

// The derivatives of y by each of xs.
Values gradient_of(const NodeCall& c) {
  Values wrt;
  for (const std::string& name : c.texts("xs")) wrt.push_back(c.around().value_of(name));
  if (wrt.empty()) fail("[onnx] Gradient names no xs");
  Value y = c.around().value_of(c.text("y", ""));
  if (!y) fail("[onnx] Gradient names no y");
  return gradients({y}, {expand(number(1, y), y.shape())}, wrt);
}

// Inputs R (rate) and T (steps done), then as many of each kind as there are tensors to train.
struct Stepped {
  Value rate, steps;
  int count = 0;
};

Stepped stepped(const NodeCall& c, int kinds) {
  if (c.arity() < 2 + kinds || (c.arity() - 2) % kinds != 0)
    fail("[onnx] {} has {} inputs: two, and {} a tensor are needed", c.node().op, c.arity(), kinds);
  return {c.in(0), c.in(1), (c.arity() - 2) / kinds};
}

Value regularized(const NodeCall& c, const Value& x, const Value& g) { return x * c.real("norm_coefficient", 0) + g; }

Value is_begun(const Stepped& s) { return greater(s.steps, number(0, s.steps)); }

// Results of one kind stand together.
Values by_kind(const std::vector<Values>& each) {
  Values all;
  for (std::size_t kind = 0; kind < each[0].size(); ++kind)
    for (const Values& one : each) all.push_back(one[kind]);
  return all;
}

Values adam_step(const NodeCall& c) {
  Stepped s = stepped(c, 4);
  double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999), epsilon = c.real("epsilon", 1e-6);
  Value t = cast(s.steps, s.rate.dtype());
  Value correction = sqrt(1 - pow(number(beta, t), t)) / (1 - pow(number(alpha, t), t));
  Value rate = where(is_begun(s), s.rate * correction, s.rate);
  std::vector<Values> results;
  for (int i = 2; i < 2 + s.count; ++i) {
    Value x = c.in(i), g = regularized(c, x, c.in(i + s.count));
    Value v = c.in(i + 2 * s.count) * alpha + g * (1 - alpha);
    Value h = c.in(i + 3 * s.count) * beta + g * g * (1 - beta);
    Value next = x - rate * v / (sqrt(h) + epsilon);
    results.push_back({next * (1 - c.real("norm_coefficient_post", 0)), v, h});
  }
  return by_kind(results);
}

Values adagrad_step(const NodeCall& c) {
  Stepped s = stepped(c, 3);
  Value rate = s.rate / (cast(s.steps, s.rate.dtype()) * c.real("decay_factor", 0) + 1);
  std::vector<Values> results;
  for (int i = 2; i < 2 + s.count; ++i) {
    Value x = c.in(i), g = regularized(c, x, c.in(i + s.count)), h = c.in(i + 2 * s.count) + g * g;
    results.push_back({x - rate * g / (sqrt(h) + c.real("epsilon", 1e-6)), h});
  }
  return by_kind(results);
}

Values momentum_step(const NodeCall& c) {
  Stepped s = stepped(c, 3);
  std::string mode = c.text("mode", "standard");
  if (mode != "standard" && mode != "nesterov") unsupported("mode \"{}\" is not supported", mode);
  double alpha = c.real("alpha", 0);
  Value beta = where(is_begun(s), number(c.real("beta", 0), s.rate), number(1, s.rate));
  std::vector<Values> results;
  for (int i = 2; i < 2 + s.count; ++i) {
    Value x = c.in(i), g = regularized(c, x, c.in(i + s.count)), v = c.in(i + 2 * s.count) * alpha + beta * g;
    results.push_back({x - s.rate * (mode == "standard" ? v : g + v * alpha), v});
  }
  return by_kind(results);
}

constexpr Operator training_table[] = {
    {"Adagrad", 1, 1, computes, adagrad_step},
    {"Adam", 1, 1, computes, adam_step},
    {"Gradient", 1, 1, computes, gradient_of},
    {"Momentum", 1, 1, computes, momentum_step},
};

}  // namespace

std::span<const Operator> training_operators() { return training_table; }

}  // namespace reprise::onnx
