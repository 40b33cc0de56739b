// SPDX-License-Identifier: Apache-2.0
// The whole vocabulary on a tape: every op of the registry gives the gradients of its graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/examples.h"
#include "reprise/autodiff.h"
#include "reprise/tape.h"

namespace reprise {
namespace {

struct Seeds {
  Values outputs, seeds;
};

// Outputs that are floats, each with a seed that is drawn by position.
Seeds seeded(const Values& outputs) {
  Seeds s;
  for (const Value& y : outputs) {
    if (y.dtype() != DType::f32 && y.dtype() != DType::f64) continue;
    Tensor seed = Tensor::empty({DType::f64, y.shape()});
    double x = 0.3;
    for (double& e : seed.span<double>()) e = x = 1.7 * x * (1 - x) + 0.1;
    s.outputs.push_back(y);
    s.seeds.push_back(seed.to(y.dtype()));
  }
  return s;
}

bool is_float_tensor(const Tensor& t) { return t.dtype() == DType::f32 || t.dtype() == DType::f64; }

std::vector<Tensor> by_graph(const Op& op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  std::vector<Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  Graph graph = trace(
      [&](const Values& v) {
        Seeds s = seeded(record(op, v, attributes));
        Values wrt;
        for (std::size_t i = 0; i < v.size(); ++i)
          if (is_float_tensor(inputs[i])) wrt.push_back(v[i]);
        if (s.outputs.empty()) return Values{};
        return gradients(s.outputs, s.seeds, wrt);
      },
      types);
  return evaluate(graph, inputs);
}

// Each output's sweep starts from sum(y * seed), so that one backward pass serves all.
std::vector<Tensor> by_tape(const Op& op, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  Tape tape;
  std::vector<Var> vars, wrt;
  for (const Tensor& t : inputs) {
    vars.push_back(is_float_tensor(t) ? tape.variable(t) : tape.constant(t));
    if (is_float_tensor(t)) wrt.push_back(vars.back());
  }
  std::vector<Var> outputs = tape.apply(op, vars, attributes);
  Seeds s = seeded({outputs.begin(), outputs.end()});
  for (std::size_t k = 0; k < s.outputs.size(); ++k) {
    Tensor seed = evaluate(
        [&] {
          Graph g = *s.seeds[k].graph();
          g.outputs = {s.seeds[k].ref()};
          return g;
        }(),
        {})[0];
    tape.backward(s.outputs[k], seed);
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < wrt.size(); ++i)
    results.push_back(tape.has_grad(wrt[i]) ? tape.grad(wrt[i]) : Tensor::zeros(wrt[i].type()));
  return results;
}

bool near(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 * (1 + std::abs(b));
}

void compare(const Op& op, const Example& example) {
  std::vector<Tensor> inputs = draw(example, 5);
  std::vector<Tensor> wanted = by_graph(op, inputs, example.attributes);
  if (wanted.empty()) return;
  std::vector<Tensor> got = by_tape(op, inputs, example.attributes);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto a = got[i].to_vector<double>(), b = wanted[i].to_vector<double>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k)
      EXPECT_TRUE(near(a[k], b[k])) << "input " << i << " element " << k << ": " << a[k] << " and " << b[k];
  }
}

TEST(TapeOps, EveryOpOfTheRegistryHasItsGraphsGradients) {
  int checked = 0;
  for (const Op* op : all_ops()) {
    if (!op->gradient) continue;
    for (const Example& example : examples_of(*op)) {
      bool has_float = std::ranges::any_of(example.inputs, [](const auto& i) { return is_float(i.type.dtype); });
      if (!has_float) continue;
      SCOPED_TRACE(std::string(op->name));
      compare(*op, example);
      ++checked;
    }
  }
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace reprise
