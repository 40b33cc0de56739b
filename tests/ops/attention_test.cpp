// SPDX-License-Identifier: Apache-2.0
#include "ops/nn_testing.h"

namespace reprise::attention_tests {
namespace {

Tensor ramp(const Shape& shape, double step) {
  Tensor t = Tensor::empty({DType::f32, shape});
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(step * static_cast<double>(i % 7 - 3));
  return t;
}

TEST(AttentionOp, AveragesTheValuesTheQueriesSee) {
  Tensor zeros = Tensor::zeros({DType::f32, {1, 1, 3, 2}}), v = Tensor{1, 3, 8}.reshape({1, 1, 3, 1});
  auto out = run([](const Values& x) -> Values { return {attention(x[0], x[1], x[2], {.causal = true})}; },
                 {zeros, zeros, v})[0];
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{1, 2, 4}));
}

TEST(AttentionOp, RefusesWhatDoesNotFit) {
  auto shape_error = [](const Shape& q, const Shape& k, const Shape& v) {
    return error_of([&] {
      run([](const Values& x) -> Values { return {attention(x[0], x[1], x[2])}; },
          {ramp(q, 1), ramp(k, 1), ramp(v, 1)});
    });
  };
  EXPECT_EQ(
      shape_error({1, 2, 3, 4}, {1, 2, 3, 5}, {1, 2, 3, 4}),
      "[attention] q f32[1,2,3,4], k f32[1,2,3,5] and v f32[1,2,3,4] do not fit: they are [batch,heads,tokens,width]; "
      "k and v agree in heads and tokens, q and k in width, and q's heads are a multiple of k's");
  EXPECT_EQ(
      error_of([] {
        run([](const Values& x) -> Values { return {attention(x[0], x[0], x[0], {.mask = x[1]})}; },
            {ramp({1, 2, 3, 4}, 1), ramp({2, 3}, 1)});
      }),
      "[attention] shapes [2,3] and [1,2,3,3] do not broadcast: sizes must be equal or 1, counted from the right");
}

TEST(MultiHeadAttention, ProjectsAttendsAndProjectsBack) {
  auto out = run(
      [](const Values& x) -> Values {
        MultiHeadWeights w{.query = x[1], .key = x[2], .value = x[2], .out = x[1], .out_bias = x[3]};
        return {multi_head_attention(x[0], w, 4, {.causal = true})};
      },
      {ramp({2, 5, 8}, 0.1), ramp({8, 8}, 0.2), ramp({4, 8}, 0.1), ramp({8}, 1)});
  EXPECT_EQ(out[0].shape(), (Shape{2, 5, 8}));
}

TEST(MultiHeadAttention, RefusesHeadsThatDoNotDivideTheWidth) {
  EXPECT_EQ(
      error_of([] {
        run(
            [](const Values& x) -> Values {
              return {multi_head_attention(x[0], {.query = x[1], .key = x[1], .value = x[1], .out = x[1]}, 3)};
            },
            {ramp({2, 5, 8}, 0.1), ramp({8, 8}, 0.2)});
      }),
      "[multi_head_attention] f32[2,5,8] does not part into heads: it must be [batch,tokens,width] with a width that 3 "
      "heads divide");
}

TEST(AttentionOp, NeverHoldsTheSquareOfTheSequence) {
  auto peak = [](std::int64_t tokens) {
    Tensor q = ramp({1, 1, tokens, 8}, 0.1);
    MemoryScope scope;
    run(
        [](const Values& x) {
          Value loss = sum(attention(x[0], x[0], x[0], {.causal = true}));
          return backpropagate({loss}, {full_like(loss, 1)}, x);
        },
        {q});
    return scope.use().peak_bytes;
  };
  std::int64_t scratch = peak(16), small = peak(1024) - scratch, large = peak(4096) - scratch;
  EXPECT_LE(large, 5 * small);
  EXPECT_LT(large, 4096 * 4096);
}

}  // namespace
}  // namespace reprise::attention_tests
