// SPDX-License-Identifier: Apache-2.0
#include "reprise/nn.h"

#include <gtest/gtest.h>

#include "message.h"
#include "reprise/autodiff.h"

namespace reprise::nn {
namespace {

struct GatedMlp {
  Linear gate, up, down;
  Value operator()(const Value& x) const { return x + down(tanh(gate(x)) * up(x)); }
  auto fields() { return reprise::fields("gate", gate, "up", up, "down", down); }
};

std::vector<std::string> names(const Fields& fields) {
  std::vector<std::string> all;
  for (const Named& p : fields) all.push_back(p.name);
  return all;
}

TEST(Layers, NameTheirParametersByPath) {
  GatedMlp mlp{Linear(4, 8), Linear(4, 8), Linear(8, 4, false)};
  EXPECT_EQ(names(parameters(mlp)),
            (std::vector<std::string>{"gate.weight", "gate.bias", "up.weight", "up.bias", "down.weight"}));
}

TEST(Layers, ASequenceMixesLayersAndFunctions) {
  Sequential model{Linear(3, 5), reprise::tanh, Linear(5, 2)};
  EXPECT_EQ(names(parameters(model)), (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  Type types[] = {{DType::f32, {7, 3}}};
  Graph graph = trace([&](const Values& v) -> Values { return {model(v[0])}; }, types);
  EXPECT_EQ(to_string(graph.type(graph.outputs[0])), "f32[7,2]");
  EXPECT_EQ(graph.captures.size(), 4u);
}

TEST(Layers, ThatWereMovedFromAreStillThere) {
  Linear layer(3, 2);
  Sequential model{std::move(layer)};
  EXPECT_EQ(layer.weight, parameters(model)[0].parameter);  // NOLINT: that is the claim
}

TEST(Layers, OneParameterIsOneInputHoweverOftenItIsUsed) {
  Linear tied(4, 4);
  Type types[] = {{DType::f32, {2, 4}}};
  Graph graph = trace([&](const Values& v) -> Values { return {tied(tied(v[0]))}; }, types);
  EXPECT_EQ(graph.captures.size(), 2u);
  EXPECT_EQ(graph.inputs.size(), 3u);
}

TEST(Layers, CopiesOfAParameterAreTied) {
  Linear a(4, 4), b = a;
  EXPECT_EQ(a.weight, b.weight);
  Sequential model{a, b};
  EXPECT_EQ(parameters(model).size(), 2u);
}

TEST(Layers, EqualSeedsGiveEqualWeights) {
  EXPECT_TRUE(same_bits(Linear(4, 4, true, 7).weight.value(), Linear(4, 4, true, 7).weight.value()));
  EXPECT_FALSE(same_bits(Linear(4, 4, true, 7).weight.value(), Linear(4, 4, true, 8).weight.value()));
}

TEST(Parameters, AreUpdatedOnceAStep) {
  Parameter p(Tensor{1, 2});
  Type types[] = {{DType::f32, {2}}};
  Graph graph = trace(
      [&](const Values& v) -> Values {
        p.update(p.in(v[0]) + v[0]);
        return {v[0]};
      },
      types);
  ASSERT_EQ(graph.updates.size(), 1u);
  EXPECT_EQ(eliminate_dead_code(graph).updates.size(), 1u);
  EXPECT_EQ(to_string(parse_graph(to_string(graph))), to_string(graph));
  EXPECT_EQ(message_of([&] {
              trace(
                  [&](const Values& v) -> Values {
                    p.update(v[0]);
                    p.update(v[0]);
                    return {};
                  },
                  types);
            }),
            "[parameter] one step updates it twice: a layer that keeps running statistics was used twice");
}

TEST(Parameters, KeepTheirType) {
  Parameter p(Tensor{1, 2});
  p.set(Tensor{3, 4});
  EXPECT_EQ(p.value().to_vector<float>(), (std::vector<float>{3, 4}));
  EXPECT_EQ(message_of([&] { p.set(Tensor{1}); }), "[parameter] it is f32[2], the new value is f32[1]");
}

}  // namespace
}  // namespace reprise::nn
