// SPDX-License-Identifier: Apache-2.0
// Small training programs, written once for tapes and graphs, and the least memory that any order of theirs needs.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "graph/builtin.h"
#include "reprise/autodiff.h"
#include "reprise/ops.h"
#include "reprise/plan.h"
#include "reprise/tape.h"

namespace reprise {

/// A training program small enough for a test.
struct Toy {
  std::string name;
  std::vector<Tensor> parameters;
  std::vector<Tensor> data;
  std::function<Value(const Values& parameters, const Values& data)> loss;
};

inline Tensor random_tensor(Random& random, const Shape& shape, double scale = 0.5) {
  Tensor t = Tensor::empty({DType::f32, shape});
  for (float& x : t.span<float>()) x = static_cast<float>(random.uniform(-scale, scale));
  return t;
}

inline Toy mlp_program(int layers, std::int64_t batch, std::int64_t width) {
  Random random(1);
  Toy p{"mlp", {}, {random_tensor(random, {batch, width}), random_tensor(random, {batch, width})}, {}};
  for (int i = 0; i < layers; ++i) p.parameters.push_back(random_tensor(random, {width, width}));
  p.loss = [](const Values& w, const Values& data) {
    Value h = data[0];
    for (const Value& layer : w) h = tanh(matmul(h, layer));
    return mse(h, data[1]);
  };
  return p;
}

// Blocks of two convolutions and a skip.
inline Toy resnet_program(int blocks, std::int64_t batch, std::int64_t channels, std::int64_t size) {
  Random random(2);
  Shape image{batch, channels, size, size};
  Toy p{"resnet", {}, {random_tensor(random, image), random_tensor(random, image)}, {}};
  for (int i = 0; i < 2 * blocks; ++i) p.parameters.push_back(random_tensor(random, {channels, channels, 3, 3}, 0.2));
  p.loss = [](const Values& w, const Values& data) {
    Value h = data[0];
    for (std::size_t i = 0; i + 1 < w.size(); i += 2) {
      Value inner = relu(conv(h, w[i], {.pads = {1}}));
      h = relu(h + conv(inner, w[i + 1], {.pads = {1}}));
    }
    return mse(h, data[1]);
  };
  return p;
}

// A gated cell, unrolled; a loss at every step.
inline Toy lstm_program(int steps, std::int64_t batch, std::int64_t width) {
  Random random(3);
  Shape state{batch, width};
  Toy p{"lstm", {}, {random_tensor(random, state)}, {}};
  for (int i = 0; i < 4; ++i) p.parameters.push_back(random_tensor(random, {width, width}));
  for (int t = 0; t < steps; ++t) p.data.push_back(random_tensor(random, state));
  p.loss = [](const Values& w, const Values& data) {
    Value h = data[0], c = data[0], loss;
    for (std::size_t t = 1; t < data.size(); ++t) {
      Value in = h + data[t];
      Value gate = sigmoid(matmul(in, w[0]));
      c = sigmoid(matmul(in, w[1])) * c + gate * tanh(matmul(in, w[2]));
      h = sigmoid(matmul(in, w[3])) * tanh(c);
      Value error = mse(h, data[t]);
      loss = loss ? loss + error : error;
    }
    return loss;
  };
  return p;
}

/// Loss, then the gradient of every parameter; inputs are the parameters, then the data.
inline Graph training_graph(const Toy& p) {
  std::vector<Type> types;
  for (const Tensor& t : p.parameters) types.push_back(t.type());
  for (const Tensor& t : p.data) types.push_back(t.type());
  auto split = static_cast<std::ptrdiff_t>(p.parameters.size());
  Graph graph = trace(
      [&](const Values& v) -> Values {
        return {p.loss({v.begin(), v.begin() + split}, {v.begin() + split, v.end()})};
      },
      types);
  std::vector<int> wrt(p.parameters.size());
  for (std::size_t i = 0; i < wrt.size(); ++i) wrt[i] = static_cast<int>(i);
  return eliminate_dead_code(gradient(graph, wrt));
}

/// Views are what they show; inputs and constants are always there, outputs stay.
inline Problem problem_of_graph(const Graph& graph) {
  Problem problem;
  std::vector<ValueRef> first(static_cast<std::size_t>(graph.size()));
  std::vector<Type> types;
  auto value = [&](Ref r) {
    while (graph.node(r.node).op->view_of >= 0)
      r = graph.node(r.node).inputs[static_cast<std::size_t>(graph.node(r.node).op->view_of)];
    return first[static_cast<std::size_t>(r.node)][r.output];
  };
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(i);
    if (node.op->view_of >= 0) continue;
    std::vector<std::int64_t> bytes;
    for (const Type& type : node.outputs) bytes.push_back(type.bytes());
    bool is_pinned = node.op == &input_op || node.op == &constant_op;
    std::vector<ValueRef> inputs;
    for (Ref r : node.inputs)
      if (std::ranges::find(inputs, value(r)) == inputs.end()) inputs.push_back(value(r));
    NodeSpec spec{std::to_string(i) + " " + std::string(node.op->name), Sizes(bytes), is_pinned ? 0.0 : 1.0};
    if (!is_pinned) spec.scratch = node.op->forward(graph.signature(i, types)).scratch_bytes;
    spec.pinned = is_pinned;
    first[static_cast<std::size_t>(i)] = problem.add(spec, inputs);
  }
  for (Ref r : graph.outputs) problem.output(value(r));
  return problem;
}

struct TapeRun {
  std::vector<std::vector<float>> gradients;
  float loss = 0;
  std::int64_t peak_bytes = 0;  // as the allocator measured it
  LazyStats stats;
};

/// Runs the program on a tape that alone holds its tensors.
inline TapeRun run_on_tape(const Toy& p, const TapeOptions& options,
                           const std::function<void(Tape&, const Var&)>& backward = {}) {
  TapeRun result;
  MemoryScope scope;
  Tape tape(options);
  std::vector<Var> parameters;
  Values w, data;
  for (const Tensor& t : p.parameters) w.push_back(parameters.emplace_back(tape.variable(t.clone())));
  for (const Tensor& t : p.data) data.push_back(tape.constant(t.clone()));
  Var loss = p.loss(w, data);
  if (backward)
    backward(tape, loss);
  else
    tape.backward(loss);
  for (const Var& v : parameters) {
    auto g = tape.grad(v).span<float>();
    result.gradients.emplace_back(g.begin(), g.end());
  }
  result.peak_bytes = scope.use().peak_bytes;
  result.loss = tape.value(loss).span<float>()[0];
  result.stats = tape.stats();
  return result;
}

}  // namespace reprise
