// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/random.h"
#include "graph/exact.h"
#include "message.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

Graph traced(const std::function<Values(const Values&)>& f, int inputs = 1) {
  std::vector<Type> types(static_cast<std::size_t>(inputs), Type{DType::f32, {3}});
  return trace(f, types);
}

int count(const Graph& graph, std::string_view op) {
  int n = 0;
  for (const Node& node : graph.nodes()) n += node.op->name == op;
  return n;
}

TEST(Refs, HoldAnyNumberThroughCopiesAndMoves) {
  for (std::int32_t count = 0; count < 8; ++count) {
    std::vector<Ref> all;
    for (std::int32_t i = 0; i < count; ++i) all.push_back({i, i % 2});
    Refs refs(all), copy = refs;
    Refs moved = std::move(refs);
    EXPECT_TRUE(refs.empty());
    EXPECT_EQ(moved, copy);
    EXPECT_TRUE(std::ranges::equal(moved, all));
    copy = Refs{{7, 0}};
    EXPECT_TRUE(std::ranges::equal(moved, all)) << "a copy of its own";
    moved = moved;
    EXPECT_TRUE(std::ranges::equal(moved, all));
  }
}

TEST(Graph, SharesEqualTypesAndAttributesAsItIsRecorded) {
  Graph g = traced([](const Values& v) {
    Value x = v[0];
    for (int i = 0; i < 5; ++i) x = tanh(leaky_relu(x, 0.25));
    return Values{x};
  });
  std::set<const void*> types, attributes;
  for (const Node& node : g.nodes()) {
    if (node.op->name == "tanh") types.insert(node.outputs.begin());
    if (!node.inputs.empty() && !node.attributes.empty()) attributes.insert(node.attributes.begin());
  }
  EXPECT_EQ(count(g, "tanh"), 5);
  EXPECT_EQ(types.size(), 1u);
  EXPECT_EQ(attributes.size(), 1u);
}

TEST(DeadCode, IsRemovedAndInputsStay) {
  Graph graph = traced(
      [](const Values& v) -> Values {
        tanh(tanh(v[0]));
        return {square(v[1])};
      },
      2);
  Graph lean = eliminate_dead_code(graph);
  EXPECT_EQ(lean.size(), 3);
  EXPECT_EQ(lean.inputs.size(), 2u);
  verify(lean);
}

TEST(DoublePrecision, GivesWhatRoundingTookAway) {
  Tensor big = Tensor::full({DType::f32, {3}}, 16'777'216);  // 2^24: adding 1 is lost in f32
  Graph graph = traced([&](const Values& v) -> Values { return {v[0] + Value(big) - Value(big)}; });
  Tensor one = Tensor::full({DType::f32, {3}}, 1);
  EXPECT_EQ(evaluate(graph, std::vector{one})[0].to_vector<float>()[0], 0);
  Graph exact = in_double_precision(graph);
  verify(exact);
  EXPECT_EQ(evaluate(exact, std::vector{one.to(DType::f64)})[0].to_vector<double>()[0], 1);
}

TEST(CommonSubexpressions, BecomeOneNode) {
  Graph graph = traced([](const Values& v) -> Values { return {tanh(v[0]) * 2.0 + tanh(v[0]) * 2.0}; });
  Graph lean = eliminate_common_subexpressions(graph);
  EXPECT_EQ(count(lean, "tanh"), 1);
  EXPECT_EQ(count(lean, "multiply"), 1);
  EXPECT_EQ(count(lean, "constant"), 1);
  verify(lean);
}

TEST(CommonSubexpressions, ValuesTheUserMarkedDifferentlyStayApart) {
  Graph graph = traced([](const Values& v) -> Values { return {keep(tanh(v[0])) + tanh(v[0])}; });
  EXPECT_EQ(count(eliminate_common_subexpressions(graph), "tanh"), 2);
}

TEST(CommonSubexpressions, NodesWithTheSameAttributesShareThem) {
  Graph graph = traced([](const Values& v) -> Values { return {sum(v[0], {0}) + sum(tanh(v[0]), {0})}; });
  Graph lean = eliminate_common_subexpressions(graph);
  std::vector<const void*> held;
  for (const Node& node : lean.nodes())
    if (node.op->name == "sum") held.push_back(node.attributes.begin());
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0], held[1]);
}

TEST(CommonSubexpressions, NodesWithTheSameTypesShareThem) {
  Graph graph = traced([](const Values& v) -> Values { return {tanh(v[0]) + v[0], sum(v[0], {0})}; });
  Graph lean = eliminate_common_subexpressions(graph);
  std::set<const Type*> held;
  for (const Node& node : lean.nodes()) held.insert(node.outputs.begin());
  EXPECT_EQ(held.size(), 2u);
  verify(lean);
}

TEST(Constants, AreFoldedAsFarAsTheyAreKnown) {
  Graph graph = traced([](const Values& v) -> Values { return {v[0] * square(Value(Tensor{1, 2, 3}) + 1.0)}; });
  Graph folded = eliminate_dead_code(fold_constants(graph));
  EXPECT_EQ(folded.size(), 3);  // input, constant, multiply
  verify(folded);
  EXPECT_EQ(evaluate(folded, std::vector{Tensor{1, 1, 1}})[0].to_vector<float>(), (std::vector<float>{4, 9, 16}));
}

TEST(Constants, LargeOnesAreNotMadeByFolding) {
  Graph graph = traced([](const Values& v) -> Values { return {v[0] * sum(expand(Value(Tensor{1}), {1000}))}; });
  EXPECT_EQ(count(eliminate_dead_code(fold_constants(graph, 100)), "expand"), 1);
}

// Random expressions over few inputs: much to share, much to drop, some to fold.
Graph random_graph(Random& random) {
  return traced(
      [&](const Values& inputs) -> Values {
        Values pool = inputs;
        pool.push_back(Value(Tensor{1, 2, 3}));
        auto pick = [&] {
          return pool[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(pool.size())))];
        };
        for (int i = 0; i < 25; ++i) {
          switch (random.below(4)) {
            case 0: pool.push_back(tanh(pick())); break;
            case 1: pool.push_back(pick() * pick()); break;
            case 2: pool.push_back(pick() + pick()); break;
            default: pool.push_back(pick() - 0.5); break;
          }
        }
        return {pool.back(), pick() + inputs[0]};
      },
      2);
}

TEST(Passes, KeepTheBitsOfEveryOutput) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Graph graph = random_graph(random);
    Graph lean = eliminate_dead_code(eliminate_common_subexpressions(fold_constants(graph)));
    verify(lean);
    EXPECT_LE(lean.size(), graph.size());
    std::vector<Tensor> inputs = {Tensor{0.1, 0.2, 0.3}, Tensor{-1, 0.5, 2}};
    std::vector<Tensor> before = evaluate(graph, inputs), after = evaluate(lean, inputs);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same_bits(before[i], after[i])) << "seed " << seed;
  }
}

TEST(Verify, FindsAWrongTypeAndAWrongOrder) {
  Graph graph = traced([](const Values& v) -> Values { return {tanh(tanh(v[0]))}; });
  Graph wrong_type = graph, wrong_order = graph, wrong_output = graph;
  wrong_type.node(1).outputs = {{DType::f32, {4}}};
  wrong_order.node(1).inputs[0].node = 2;
  wrong_output.outputs[0].output = 1;
  EXPECT_EQ(message_of([&] { verify(wrong_type); }), "[internal] node 1 (tanh) does not have the types its op infers");
  EXPECT_EQ(message_of([&] { verify(wrong_order); }),
            "[internal] node 1 (tanh) reads node 2, which does not come before it");
  EXPECT_EQ(message_of([&] { verify(wrong_output); }), "[internal] output 2:1 is not a value of the graph");
}

TEST(Record, RefusesValuesOfTwoGraphsAndEmptyOnes) {
  Value leaked;
  traced([&](const Values& v) -> Values { return {leaked = v[0]}; });
  EXPECT_EQ(message_of([&] { traced([&](const Values& v) -> Values { return {v[0] + leaked}; }); }),
            "[add] the inputs belong to two different graphs: record both in one function");
  EXPECT_EQ(message_of([&] { traced([&](const Values& v) -> Values { return {v[0] + Value()}; }); }),
            "[add] an input is an empty Value: it was never assigned");
}

TEST(Evaluate, NamesAnInputOfTheWrongType) {
  Graph graph = traced([](const Values& v) -> Values { return {tanh(v[0])}; });
  EXPECT_EQ(message_of([&] {
              evaluate(graph, std::vector{Tensor{1, 2}});
            }),
            "[evaluate] input 0 is f32[2], the graph wants f32[3]");
  EXPECT_EQ(message_of([&] { evaluate(graph, {}); }), "[evaluate] the graph has 1 inputs, 0 tensors were given");
}

TEST(Evaluate, FreesValuesAfterTheirLastUse) {
  Type types[] = {{DType::f32, {1000}}};
  Graph graph = trace(
      [](const Values& v) -> Values {
        Value x = v[0];
        for (int i = 0; i < 50; ++i) x = tanh(x);
        return {x};
      },
      types);
  std::vector<Tensor> inputs = {Tensor::zeros(types[0])};
  MemoryScope scope;
  evaluate(graph, inputs);
  EXPECT_LE(scope.use().peak_bytes, 2 * 4000 + 64);
}

TEST(Graph, Of100000NodesIsTracedVerifiedDifferentiatedPrintedAndParsed) {
  Type types[] = {{DType::f32, {2}}};
  Graph graph = trace(
      [](const Values& v) -> Values {
        Value x = v[0];
        for (int i = 0; i < 100'000; ++i) x = i % 2 ? tanh(x) : square(x);
        return {sum(x)};
      },
      types);
  Graph with_gradient = gradient(graph, std::vector<int>{0});
  verify(with_gradient);
  Graph lean = eliminate_dead_code(eliminate_common_subexpressions(with_gradient));
  verify(lean);
  std::string text = to_string(lean);
  EXPECT_GT(lean.size(), 200'000);
  EXPECT_EQ(hash(parse_graph(text)), hash(lean));
  EXPECT_TRUE(std::isfinite(evaluate(lean, std::vector{Tensor{0.5, -0.25}})[1].to_vector<float>()[0]));
}

}  // namespace
}  // namespace reprise
