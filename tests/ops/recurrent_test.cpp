// SPDX-License-Identifier: Apache-2.0
// Recurrent nets against plain loops over single numbers, written from the definitions.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/autodiff.h"

namespace reprise::recurrent_tests {
namespace {

using Row = std::vector<double>;
using Net = std::function<RecurrentOutput(const Value& x, const Value& h, const Value& c,
                                          const std::vector<RecurrentWeights>& weights)>;

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

struct Layer {
  int gates, inputs, hidden;
  Tensor input, recurrent, input_bias, hidden_bias;

  // Gate `g`, unit `j` of W x + b.
  double in(int g, int j, const Row& x) const { return affine(input, input_bias, inputs, g, j, x); }
  double re(int g, int j, const Row& h) const { return affine(recurrent, hidden_bias, hidden, g, j, h); }

 private:
  double affine(const Tensor& w, const Tensor& b, int n, int g, int j, const Row& x) const {
    int row = g * hidden + j;
    double sum = b.span<double>()[static_cast<std::size_t>(row)];
    for (int k = 0; k < n; ++k)
      sum += w.span<double>()[static_cast<std::size_t>(row * n + k)] * x[static_cast<std::size_t>(k)];
    return sum;
  }
};

Tensor random_tensor(Random& random, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) values.push_back(random.uniform(-1, 1));
  return Tensor::from(values, shape);
}

Layer random_layer(Random& random, int gates, int inputs, int hidden) {
  return {gates,
          inputs,
          hidden,
          random_tensor(random, {gates * hidden, inputs}),
          random_tensor(random, {gates * hidden, hidden}),
          random_tensor(random, {gates * hidden}),
          random_tensor(random, {gates * hidden})};
}

// One step by definition; 4 gates: lstm, 3: gru, 1: tanh.
void step(const Layer& l, const Row& x, Row& h, Row& c) {
  Row next = h;
  for (int j = 0; j < l.hidden; ++j) {
    auto at = static_cast<std::size_t>(j);
    auto gate = [&](int g) { return l.in(g, j, x) + l.re(g, j, h); };
    if (l.gates == 1) next[at] = std::tanh(gate(0));
    if (l.gates == 4) {
      c[at] = sigma(gate(1)) * c[at] + sigma(gate(0)) * std::tanh(gate(2));
      next[at] = sigma(gate(3)) * std::tanh(c[at]);
    }
    if (l.gates == 3) {
      double n = std::tanh(l.in(2, j, x) + sigma(gate(0)) * l.re(2, j, h)), z = sigma(gate(1));
      next[at] = (1 - z) * n + z * h[at];
    }
  }
  h = next;
}

Net net_of(int gates) {
  if (gates == 1) return [](auto& x, auto& h, auto&, auto& w) { return rnn(x, h, w); };
  if (gates == 3) return [](auto& x, auto& h, auto&, auto& w) { return gru(x, h, w); };
  return [](auto& x, auto& h, auto& c, auto& w) { return lstm(x, h, c, w); };
}

std::vector<Tensor> inputs_of(const Tensor& x, const Tensor& h, const Tensor& c, const std::vector<Layer>& layers) {
  std::vector<Tensor> inputs{x, h, c};
  for (const Layer& l : layers) inputs.insert(inputs.end(), {l.input, l.recurrent, l.input_bias, l.hidden_bias});
  return inputs;
}

std::vector<RecurrentWeights> weights_of(const Values& v) {
  std::vector<RecurrentWeights> weights;
  for (std::size_t i = 3; i < v.size(); i += 4) weights.push_back({v[i], v[i + 1], v[i + 2], v[i + 3]});
  return weights;
}

std::vector<Tensor> evaluated(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  return evaluate(trace(f, types), inputs);
}

class Recurrent : public testing::TestWithParam<int> {};

TEST_P(Recurrent, FollowsItsDefinition) {
  constexpr int T = 4, B = 2, I = 3, H = 2;
  Random random(1);
  std::vector<Layer> layers{random_layer(random, GetParam(), I, H)};
  Tensor x = random_tensor(random, {T, B, I}), h0 = random_tensor(random, {1, B, H}),
         c0 = random_tensor(random, {1, B, H});
  auto f = [&](const Values& v) -> Values {
    RecurrentOutput out = net_of(GetParam())(v[0], v[1], v[2], weights_of(v));
    return out.c ? Values{out.output, out.h, out.c} : Values{out.output, out.h};
  };
  std::vector<Tensor> y = evaluated(f, inputs_of(x, h0, c0, layers));
  for (int b = 0; b < B; ++b) {
    Row h(h0.span<double>().begin() + b * H, h0.span<double>().begin() + (b + 1) * H);
    Row c(c0.span<double>().begin() + b * H, c0.span<double>().begin() + (b + 1) * H);
    for (int t = 0; t < T; ++t) {
      auto row = x.span<double>().begin() + (t * B + b) * I;
      step(layers[0], Row(row, row + I), h, c);
      for (int j = 0; j < H; ++j)
        EXPECT_NEAR(y[0].span<double>()[static_cast<std::size_t>((t * B + b) * H + j)], h[static_cast<std::size_t>(j)],
                    1e-12);
    }
    for (int j = 0; j < H; ++j) {
      EXPECT_NEAR(y[1].span<double>()[static_cast<std::size_t>(b * H + j)], h[static_cast<std::size_t>(j)], 1e-12);
      if (GetParam() == 4) {
        EXPECT_NEAR(y[2].span<double>()[static_cast<std::size_t>(b * H + j)], c[static_cast<std::size_t>(j)], 1e-12);
      }
    }
  }
}

TEST(Rnn, WithReluFollowsItsDefinitionAndHasItsGradient) {
  constexpr int T = 3, I = 2, H = 2;
  Random random(5);
  std::vector<Layer> layers{random_layer(random, 1, I, H)};
  Tensor x = random_tensor(random, {T, 1, I}), h0 = random_tensor(random, {1, 1, H}),
         unused = random_tensor(random, {1, 1, H});
  auto f = [&](const Values& v) -> Values { return {rnn(v[0], v[1], weights_of(v), {.activation = "relu"}).output}; };
  std::vector<Tensor> inputs = inputs_of(x, h0, unused, layers);
  Tensor y = evaluated(f, inputs)[0];
  Row h(h0.span<double>().begin(), h0.span<double>().end());
  for (int t = 0; t < T; ++t) {
    Row row(x.span<double>().begin() + t * I, x.span<double>().begin() + (t + 1) * I), next = h;
    for (int j = 0; j < H; ++j)
      next[static_cast<std::size_t>(j)] = std::max(0.0, layers[0].in(0, j, row) + layers[0].re(0, j, h));
    h = next;
    for (int j = 0; j < H; ++j)
      EXPECT_NEAR(y.span<double>()[static_cast<std::size_t>(t * H + j)], h[static_cast<std::size_t>(j)], 1e-12);
  }
  GradientCheck check = check_gradient(f, inputs);
  EXPECT_TRUE(check.ok) << check.why;
}

TEST_P(Recurrent, GradientsOfTwoLayersAgreeWithFiniteDifferences) {
  Random random(2);
  std::vector<Layer> layers{random_layer(random, GetParam(), 2, 2), random_layer(random, GetParam(), 2, 2)};
  auto f = [&](const Values& v) -> Values {
    RecurrentOutput out = net_of(GetParam())(v[0], v[1], v[2], weights_of(v));
    return {out.output, out.h};
  };
  GradientCheck check = check_gradient(f, inputs_of(random_tensor(random, {3, 2, 2}), random_tensor(random, {2, 2, 2}),
                                                    random_tensor(random, {2, 2, 2}), layers));
  EXPECT_TRUE(check.ok) << check.why;
}

INSTANTIATE_TEST_SUITE_P(Gates, Recurrent, testing::Values(1, 3, 4), [](const auto& test) {
  return std::string(test.param == 1 ? "rnn" : test.param == 3 ? "gru" : "lstm");
});

TEST(RecurrentNets, BackwardsIsForwardsOnTheFlippedSequence) {
  Random random(3);
  Layer forwards = random_layer(random, 4, 3, 2), backwards = random_layer(random, 4, 3, 2);
  Tensor x = random_tensor(random, {5, 2, 3});
  std::vector<Tensor> inputs = inputs_of(x, Tensor{}, Tensor{}, {forwards, backwards});
  Tensor both = evaluated(
      [](const Values& v) -> Values { return {lstm(v[0], {}, {}, weights_of(v), {.bidirectional = true}).output}; },
      inputs)[0];
  Tensor apart = evaluated(
      [](const Values& v) -> Values {
        std::vector<RecurrentWeights> w = weights_of(v);
        Value there = lstm(v[0], {}, {}, {w[0]}).output, back = lstm(flip(v[0], {0}), {}, {}, {w[1]}).output;
        return {concat({there, flip(back, {0})}, 2)};
      },
      inputs)[0];
  EXPECT_EQ(both.type(), parse_type("f64[5,2,4]"));
  EXPECT_TRUE(same_bits(both, apart));
}

TEST(RecurrentNets, RefusesWhatDoesNotFit) {
  Tensor x = Tensor::zeros({DType::f32, {3, 2, 4}}), wi = Tensor::zeros({DType::f32, {8, 4}}),
         wh = Tensor::zeros({DType::f32, {8, 2}});
  auto says = [&](auto f) {
    return message([&] { evaluated([&](const Values& v) -> Values { return {f(v).output}; }, {x, wi, wh}); });
  };
  EXPECT_EQ(says([](auto& v) { return lstm(v[0], {}, {}, {}); }),
            "[lstm] 0 sets of weights for 1 direction: give one a layer and direction");
  EXPECT_EQ(says([](auto& v) {
              return lstm(v[0], {}, {}, {{v[2], v[2], {}, {}}});
            }),
            "[lstm] the input weight is f32[8,2]: it must have shape [8,4]");
  EXPECT_EQ(says([](auto& v) {
              return gru(v[0], {}, {{v[1], v[2], {}, {}}});
            }),
            "[gru] the hidden weight is f32[8,2]: it must be [3·hidden, hidden]");
  EXPECT_EQ(says([](auto& v) {
              return lstm(v[1], {}, {}, {{v[1], v[2], {}, {}}});
            }),
            "[lstm] x is f32[8,4]: it takes sequences [time, batch, inputs] of at least one step");
  EXPECT_EQ(says([](auto& v) {
              return lstm(v[0], v[0], {}, {{v[1], v[2], {}, {}}});
            }),
            "[lstm] an initial state is f32[3,2,4]: it must have shape [1,2,2]");
  EXPECT_EQ(says([](auto& v) {
              return rnn(v[0], {}, {{v[1], v[2], {}, {}}}, {.activation = "gelu"});
            }),
            "[rnn] there is no activation 'gelu': use tanh or relu");
}

}  // namespace
}  // namespace reprise::recurrent_tests
