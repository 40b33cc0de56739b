// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/nn_testing.h"

namespace reprise::pooling_tests {
namespace {

Tensor line(std::initializer_list<Number> values) {
  Tensor t(values);
  return t.reshape({1, 1, t.elements()});
}

std::vector<float> apply(const std::function<Value(const Value&)>& f, const Tensor& x) {
  return run([&](const Values& v) -> Values { return {f(v[0])}; }, {x})[0].to_vector<float>();
}

std::vector<float> gradient_under_sum(const std::function<Value(const Value&)>& f, const Tensor& x) {
  return run(
             [&](const Values& v) {
               Value loss = sum(f(v[0]));
               return backpropagate({loss}, {full_like(loss, 1)}, v);
             },
             {x})[0]
      .to_vector<float>();
}

TEST(MaxPool, GivesTheGradientToTheFirstOfEqualElements) {
  auto f = [](const Value& x) { return max_pool(x, {3}); };
  EXPECT_EQ(apply(f, line({1, 2, 2, 3, 3, 3})), (std::vector<float>{2, 3}));
  EXPECT_EQ(gradient_under_sum(f, line({1, 2, 2, 3, 3, 3})), (std::vector<float>{0, 1, 0, 1, 0, 0}));
}

TEST(MaxPool, PassesNaNOn) {
  std::vector<float> y = apply([](const Value& x) { return max_pool(x, {2}); }, line({1, NAN, 5, 2}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 5);
}

TEST(AvgPool, CountsThePaddingOnlyWhenAsked) {
  Tensor x = line({2, 4, 6});
  auto with = [](bool count) {
    return [count](const Value& v) {
      return avg_pool(v, {2}, {.strides = {2}, .pads = {1, 0}, .count_include_pad = count});
    };
  };
  EXPECT_EQ(apply(with(false), x), (std::vector<float>{2, 5}));
  EXPECT_EQ(apply(with(true), x), (std::vector<float>{1, 5}));
}

TEST(AvgPool, InCeilModeReachesPastTheEnd) {
  auto f = [](bool ceil) { return [ceil](const Value& v) { return avg_pool(v, {2}, {.ceil_mode = ceil}); }; };
  EXPECT_EQ(apply(f(false), line({1, 3, 8})), (std::vector<float>{2}));
  EXPECT_EQ(apply(f(true), line({1, 3, 8})), (std::vector<float>{2, 8}));
}

TEST(AdaptivePool, ChoosesItsWindows) {
  EXPECT_EQ(apply([](const Value& v) { return adaptive_avg_pool(v, {2}); }, line({1, 2, 3, 4, 5})),
            (std::vector<float>{2, 4}));
  EXPECT_EQ(apply([](const Value& v) { return adaptive_max_pool(v, {3}); }, line({1, 2, 3, 4, 5})),
            (std::vector<float>{2, 4, 5}));
  EXPECT_EQ(apply([](const Value& v) { return global_avg_pool(v); }, line({1, 2, 6})), (std::vector<float>{3}));
  EXPECT_EQ(apply([](const Value& v) { return global_max_pool(v); }, line({1, 2, 6})), (std::vector<float>{6}));
}

TEST(Pooling, RefusesWindowsThatDoNotFit) {
  EXPECT_EQ(
      error_of([] {
        apply([](const Value& v) { return max_pool(v, {4}); }, line({1, 2}));
      }),
      "[max_pool] no window fits the 2 elements of spatial dimension 0 of [1,1,2]: pad, or take a smaller kernel");
  EXPECT_EQ(error_of([] {
              apply([](const Value& v) { return max_pool(v, {1}, {.pads = {1}}); }, line({1, 2}));
            }),
            "[max_pool] window 0 of dimension 0 lies in the padding alone: pad 1+1 less, or widen the kernel of 1");
}

TEST(Pooling, RefusesEmptyWindowsAndSizesInTheNameOfWhatWasCalled) {
  Value x = line({1, 2, 3});
  EXPECT_EQ(error_of([&] { max_pool(x, {0}); }), "[max_pool] kernel holds 0: give 1 or more");
  EXPECT_EQ(error_of([&] {
              avg_pool(x, {2, 2});
            }),
            "[avg_pool] the kernel has 2 numbers: give one, or one per spatial dimension of f32[1,1,3]");
  EXPECT_EQ(error_of([&] { adaptive_avg_pool(x, {0}); }), "[adaptive_avg_pool] output_size holds 0: give 1 or more");
  EXPECT_EQ(error_of([&] {
              adaptive_max_pool(x, {1, 2});
            }),
            "[adaptive_max_pool] output_size has 2 numbers: f32[1,1,3] needs 1");
  EXPECT_EQ(error_of([&] {
              global_max_pool(Tensor{1, 2});
            }),
            "[global_max_pool] [2] is no signal or image: it needs the form [n,channels,spatial...] with one to three "
            "spatial dimensions");
}

TEST(Resize, RepeatsOrBlendsNeighbours) {
  Tensor x = line({0, 4});
  EXPECT_EQ(apply([](const Value& v) { return upsample_nearest(v, 2); }, x), (std::vector<float>{0, 0, 4, 4}));
  EXPECT_EQ(apply([](const Value& v) { return resize(v, {4}); }, x), (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(apply([](const Value& v) { return resize(v, {5}, {.align_corners = true}); }, x),
            (std::vector<float>{0, 1, 2, 3, 4}));
}

TEST(Resize, RefusesAnEmptySize) {
  EXPECT_EQ(error_of([] {
              apply([](const Value& v) { return resize(v, {0}); }, line({1, 2}));
            }),
            "[resize] spatial size 2 of f32[1,1,2] becomes 0: both must be 1 or more");
}

}  // namespace
}  // namespace reprise::pooling_tests
