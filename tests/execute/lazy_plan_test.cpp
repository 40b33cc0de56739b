// SPDX-License-Identifier: Apache-2.0
#include "reprise/lazy_plan.h"

#include <gtest/gtest.h>

#include "execute/programs.h"

namespace reprise {
namespace {

Graph diamond() {
  return trace(
      [](const Values& v) -> Values {
        Value h = exp(v[0]), a = sin(h), b = cos(reshape(h, {8}));
        return {a + reshape(b, {2, 4}), sum(b)};
      },
      std::vector<Type>{{DType::f32, {2, 4}}});
}

TEST(EvaluationPlan, PutsNodesThatDoNotDependOnEachOtherInOneLevel) {
  EvaluationPlan plan = plan_evaluation(diamond());
  std::vector<std::size_t> sizes;
  for (const auto& level : plan.levels) sizes.push_back(level.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 2}));
  EXPECT_EQ(plan.freeable[1], plan.levels[0]);  // h, once both have read it, through a view too
  EXPECT_EQ(plan.input_bytes, 32);
  EXPECT_EQ(plan.peak_bytes, 32 + 32 + 32 + 32 + 4);
  EXPECT_GT(plan.total_flops, 0);
  EXPECT_TRUE(plan.can_fit_in_memory(plan.peak_bytes));
  EXPECT_FALSE(plan.can_fit_in_memory(plan.peak_bytes - 1));
  EXPECT_EQ(plan.summary().find("5 nodes in 3 levels | peak 132 B (inputs 32 B)"), 0u) << plan.summary();
}

TEST(EvaluationPlan, NeverFreesOutputs) {
  Graph graph = diamond();
  EvaluationPlan plan = plan_evaluation(graph);
  for (const auto& freeable : plan.freeable)
    for (std::int32_t i : freeable)
      for (Ref r : graph.outputs) EXPECT_NE(i, r.node);
}

TEST(EvaluationPlan, ItsPeakIsTheMeasuredOneAndItsBitsThoseOfThePlainInterpreter) {
  for (const Toy& p : {mlp_program(5, 8, 16), resnet_program(3, 2, 4, 6), lstm_program(5, 4, 8)})
    for (int threads : {1, 3}) {
      Graph graph = training_graph(p);
      EvaluationPlan plan = plan_evaluation(graph);
      std::vector<Tensor> inputs = p.parameters;
      inputs.insert(inputs.end(), p.data.begin(), p.data.end());
      std::int64_t held_before = plan.input_bytes;  // made before the scope opens
      MemoryScope scope;
      std::vector<Tensor> outputs = run(plan, inputs, threads);
      EXPECT_EQ(held_before + scope.use().peak_bytes, plan.peak_bytes) << p.name;
      std::vector<Tensor> wanted = evaluate(graph, inputs);
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_bits(outputs[i], wanted[i])) << p.name;
    }
}

TEST(EvaluationPlan, RunsManyBranchesOnSeveralThreadsWithTheSameBits) {
  Graph graph = trace(
      [](const Values& v) -> Values {
        Values parts;
        for (int i = 0; i < 24; ++i) parts.push_back(tanh(matmul(v[0] * (0.1 * i), v[0])));
        return {concat(parts, 0)};
      },
      std::vector<Type>{{DType::f32, {48, 48}}});
  Random random(9);
  std::vector<Tensor> inputs{random_tensor(random, {48, 48})};
  Tensor wanted = evaluate(graph, inputs)[0];
  EvaluationPlan plan = plan_evaluation(graph);
  for (int repeat = 0; repeat < 5; ++repeat) EXPECT_TRUE(same_bits(run(plan, inputs, 4)[0], wanted));
}

TEST(EvaluationPlan, PassesOnTheErrorOfABranch) {
  Graph graph = trace(
      [](const Values& v) -> Values {
        Values parts;
        for (int i = 0; i < 16; ++i) parts.push_back(gather(tanh(matmul(v[0], v[0])), v[1]));
        return {concat(parts, 0)};
      },
      std::vector<Type>{{DType::f32, {64, 64}}, {DType::i64, {64}}});
  Tensor indices = Tensor::full({DType::i64, {64}}, 70);
  std::vector<Tensor> inputs{Tensor::full({DType::f32, {64, 64}}, 0.1), indices};
  EXPECT_THROW(run(plan_evaluation(graph), inputs, 3), Error);
}

}  // namespace
}  // namespace reprise
