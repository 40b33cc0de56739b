// SPDX-License-Identifier: Apache-2.0
#include "ops/nn_testing.h"

namespace reprise::convolution_tests {
namespace {

Shape conv_shape(const Shape& x, const Shape& w, const ConvOptions& options) {
  Tensor y = run([&](const Values& v) -> Values { return {conv(v[0], v[1], options)}; },
                 {Tensor::zeros({DType::f32, x}), Tensor::zeros({DType::f32, w})})[0];
  return y.shape();
}

TEST(ConvOp, SlidesTheKernelOverTheInput) {
  auto y = run(
      [](const Values& v) -> Values {
        return {conv(v[0], v[1], v[2], {.pads = {0, 1}})};
      },
      {Tensor{1, 2, 3, 4}.reshape({1, 1, 4}), Tensor{1, 10}.reshape({1, 1, 2}), Tensor{100}})[0];
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{121, 132, 143, 104}));
}

TEST(ConvOp, TakesOneNumberForAllDimensions) {
  EXPECT_EQ(conv_shape({2, 3, 9, 9}, {4, 3, 3, 3}, {.strides = {2}, .pads = {1}}), (Shape{2, 4, 5, 5}));
  EXPECT_EQ(conv_shape({2, 4, 9, 8}, {4, 1, 3, 2}, {.dilations = {2, 1}, .groups = 4}), (Shape{2, 4, 5, 7}));
}

TEST(ConvOp, RefusesWhatDoesNotFit) {
  EXPECT_EQ(error_of([] {
              conv_shape({2, 3, 4}, {4, 3, 6}, {});
            }),
            "[conv] a kernel of 6 taps (dilation 1) does not fit 4 elements and padding 0+0: pad more");
  EXPECT_EQ(error_of([] {
              conv_shape({2, 3, 4}, {4, 2, 3}, {});
            }),
            "[conv] input 1 is f32[4,2,3]: with f32[2,3,4] and these attributes it must have shape [4,3,3]");
  EXPECT_EQ(error_of([] {
              conv_shape({2, 3, 4}, {4, 1, 3}, {.groups = 2});
            }),
            "[conv] 2 groups do not divide 3 input and 4 output channels: take a common divisor");
  EXPECT_EQ(error_of([] {
              conv_shape({2, 3, 4, 4}, {4, 3, 3, 3}, {.strides = {1, 2, 3}});
            }),
            "[conv] strides has 3 numbers: give one, or one per dimension (2)");
  EXPECT_EQ(error_of([] {
              conv_shape({2, 3}, {4, 3}, {});
            }),
            "[conv] input f32[2,3] is no signal or image: it needs the form [n,channels,spatial...] with one to three "
            "spatial "
            "dimensions");
}

TEST(ConvTranspose, UndoesTheShapeOfAStridedConvolution) {
  auto y = run(
      [](const Values& v) -> Values {
        return {conv_transpose(v[0], v[1], v[2], {.strides = {2}, .pads = {1}, .output_padding = {1}})};
      },
      {Tensor{1, 2}.reshape({1, 1, 2}), Tensor{1, 10, 100}.reshape({1, 1, 3}), Tensor{1000}})[0];
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{1010, 1102, 1020, 1200}));
}

TEST(ConvTranspose, RefusesOutputPaddingPastTheStride) {
  EXPECT_EQ(error_of([] {
              run([](const Values& v) -> Values { return {conv_transpose(v[0], v[1], {.output_padding = {1}})}; },
                  {Tensor{1, 2}.reshape({1, 1, 2}), Tensor{1, 2}.reshape({1, 1, 2})});
            }),
            "[conv_transpose] output_padding holds 1: give 0 or more, and less than the stride 1 or the dilation 1");
}

}  // namespace
}  // namespace reprise::convolution_tests
