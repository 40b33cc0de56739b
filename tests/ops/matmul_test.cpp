// SPDX-License-Identifier: Apache-2.0
#include "ops/nn_testing.h"
#include "reprise/ops.h"

namespace reprise::matmul_tests {
namespace {

Shape product_shape(const Shape& a, const Shape& b) {
  Shape shape;
  std::vector<Type> types{{DType::f32, a}, {DType::f32, b}};
  trace(
      [&](const Values& v) -> Values {
        Value c = matmul(v[0], v[1]);
        shape = c.shape();
        return {c};
      },
      types);
  return shape;
}

TEST(MatmulOp, GivesTheKnownGradientsUnderSum) {
  auto results = run(
      [](const Values& v) {
        Value loss = sum(matmul(v[0], v[1]));
        return backpropagate({loss}, {full_like(loss, 1)}, v);
      },
      {Tensor{{1, 2}, {3, 4}}, Tensor{{5, 6}, {7, 8}}});
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{11, 15, 11, 15}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{4, 4, 6, 6}));
}

TEST(MatmulOp, TreatsVectorsAsNumPyDoes) {
  EXPECT_EQ(product_shape({3}, {3}), Shape{});
  EXPECT_EQ(product_shape({3}, {3, 4}), (Shape{4}));
  EXPECT_EQ(product_shape({2, 3}, {3}), (Shape{2}));
  EXPECT_EQ(product_shape({3}, {5, 3, 4}), (Shape{5, 4}));
  EXPECT_EQ(product_shape({5, 2, 3}, {3}), (Shape{5, 2}));
  EXPECT_EQ(product_shape({2, 1, 2, 3}, {5, 3, 4}), (Shape{2, 5, 2, 4}));
}

TEST(MatmulOp, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of([] {
              product_shape({2, 3}, {4, 5});
            }),
            "[matmul] inner sizes differ: f32[2,3] times f32[4,5]: 3 columns meet 4 rows");
  EXPECT_EQ(error_of([] {
              product_shape({}, {4, 5});
            }),
            "[matmul] f32[] times f32[4,5]: a scalar is no matrix; multiply instead");
}

TEST(LinearOp, AppliesToTheLastDimension) {
  auto results = run([](const Values& v) -> Values { return {linear(v[0], v[1], v[2])}; },
                     {Tensor{1, 2, 3, 4}.reshape({2, 1, 2}), Tensor{{1, 1}}, Tensor{10}});
  EXPECT_EQ(results[0].shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{13, 17}));
}

TEST(LinearOp, RefusesAWeightOfAnotherSize) {
  EXPECT_EQ(error_of([] {
              run([](const Values& v) -> Values { return {linear(v[0], v[1], v[2])}; },
                  {Tensor{{1, 2}}, Tensor{{1, 1, 1}}, Tensor{10}});
            }),
            "[linear] x f32[1,2], weight f32[1,3] and bias f32[1] do not fit: they are [rows,in], [out,in] and [out]");
}

}  // namespace
}  // namespace reprise::matmul_tests
