// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/messages.h"
#include "reprise/autodiff.h"

namespace reprise::random_tests {
namespace {

template <class F>
Tensor run(F f, const std::vector<Tensor>& inputs) {
  std::vector<Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  return evaluate(trace([&](const Values& v) -> Values { return {f(v)}; }, types), inputs)[0];
}

TEST(RandomOps, TheSameKeyDrawsTheSameNumbersAnotherDrawsOthers) {
  auto draw = [](const Values& v) { return random_normal(v[0], {100}); };
  EXPECT_TRUE(same_bits(run(draw, {random_key(1)}), run(draw, {random_key(1)})));
  EXPECT_FALSE(same_bits(run(draw, {random_key(1)}), run(draw, {random_key(2)})));
  EXPECT_FALSE(same_bits(run(draw, {random_key(1)}), run(draw, {random_key(1, 1)})));
}

TEST(RandomOps, FoldedKeysDiffer) {
  auto fold = [](std::int64_t n) {
    return run([n](const Values& v) { return fold_in(v[0], n); }, {random_key(1)}).to_vector<std::int64_t>();
  };
  std::vector<std::vector<std::int64_t>> keys;
  for (std::int64_t n = 0; n < 100; ++n) keys.push_back(fold(n));
  std::ranges::sort(keys);
  EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
  EXPECT_EQ(fold(5), fold(5));
}

TEST(Dropout, KeepsItsShareAndScalesIt) {
  Tensor y = run([](const Values& v) { return dropout(v[0], v[1], 0.25); },
                 {Tensor::full({DType::f32, {10000}}, 3), random_key(4)});
  std::vector<double> numbers = y.to_vector<double>();
  auto kept = std::ranges::count(numbers, 4.0), dropped = std::ranges::count(numbers, 0.0);
  EXPECT_EQ(kept + dropped, 10000);
  EXPECT_NEAR(static_cast<double>(kept), 7500, 200);
}

TEST(Dropout, TheGradientDrawsTheSameMaskAndKeepsNothing) {
  Tensor x = Tensor::full({DType::f32, {1000}}, 1), key = random_key(9);
  auto y = [](const Value& v, const Value& k) { return dropout(v, k, 0.5); };
  Tensor forward = run([&](const Values& v) { return y(v[0], v[1]); }, {x, key});
  Tensor gradient = grad([&](const Value& v, const Value& k) { return sum(y(v, k)); })(x, key);
  EXPECT_TRUE(same_bits(forward, gradient));  // of ones: both are the mask, scaled
}

TEST(RandomOps, RefuseWhatIsNoKeyRangeOrProbability) {
  auto says = [](auto f) { return message([&] { run([&](const Values& v) { return f(v[0]); }, {random_key(0)}); }); };
  EXPECT_EQ(message([] {
              run([](const Values& v) { return random_uniform(v[0], {2}); }, {Tensor{1, 2}});
            }),
            "[random_uniform] the key, input 0, is f32[2]: a key is i64[2]: make one with random_key(seed)");
  EXPECT_EQ(says([](auto k) { return random_uniform(k, {2}, 1, 1); }),
            "[random_uniform] there is nothing from 1 to 1: low must be less than high, both finite");
  EXPECT_EQ(says([](auto k) { return random_bernoulli(k, {2}, 1.5); }),
            "[random_bernoulli] p = 1.5 is no probability: it lies between 0 and 1");
  EXPECT_EQ(says([](auto k) { return random_integers(k, {2}, 3, 3); }),
            "[random_integers] there is nothing from 3 to before 3: low must be less than high");
  EXPECT_EQ(says([](auto k) { return random_normal(k, {2}, 0, -1); }),
            "[random_normal] mean 0 and deviation -1 describe no distribution: give a finite mean and a deviation of 0 "
            "or more");
  EXPECT_EQ(says([](auto k) { return random_normal(k, {2}, 0, 1, DType::i64); }),
            "[random_normal] draws in dtype f32 and f64, not i64: cast the result");
}

}  // namespace
}  // namespace reprise::random_tests
