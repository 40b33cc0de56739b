// SPDX-License-Identifier: Apache-2.0
#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace reprise::kernels::philox_tests {
namespace {

using Block = std::array<std::uint32_t, 4>;

TEST(Philox, GivesTheKnownAnswersOfItsAuthors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, VectorsDrawTheSameWordsAsSingleBlocks) {
  for (std::uint64_t group : {0ull, 1ull, 12345ull, 0x0fffffffull, 0x10000000ull, 0x123456789ull}) {
    std::uint32_t fast[philox_group], naive[philox_group];
    PhiloxStream s{0x1234567890abcdef, 0xfedcba0987654321};
    philox_words(s, group, fast);
    philox_words_naive(s, group, naive);
    EXPECT_TRUE(std::equal(fast, fast + philox_group, naive)) << group;
  }
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

template <class T>
Moments moments_of(const std::vector<T>& x) {
  Moments m;
  auto n = static_cast<double>(x.size());
  for (T v : x) m.mean += v / n;
  for (T v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (T v : x) m.skew += std::pow((v - m.mean) / std::sqrt(m.variance), 3) / n;
  for (T v : x) m.kurtosis += std::pow((v - m.mean) / std::sqrt(m.variance), 4) / n;
  return m;
}

template <class T>
class Draws : public ::testing::Test {};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Draws, Floats);

TYPED_TEST(Draws, UniformNumbersHaveTheirMomentsAndBounds) {
  std::vector<TypeParam> x(200000);
  random_uniform({1, 2}, std::ssize(x), -1, 3, x.data());
  Moments m = moments_of(x);
  EXPECT_NEAR(m.mean, 1, 0.02);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.02);
  EXPECT_GE(std::ranges::min(x), -1);
  EXPECT_LT(std::ranges::max(x), 3);
}

TYPED_TEST(Draws, NormalNumbersHaveTheirMomentsAndTails) {
  std::vector<TypeParam> x(400000);
  random_normal({3, 4}, std::ssize(x), 5, 2, x.data());
  Moments m = moments_of(x);
  EXPECT_NEAR(m.mean, 5, 0.02);
  EXPECT_NEAR(m.variance, 4, 0.05);
  EXPECT_NEAR(m.skew, 0, 0.03);
  EXPECT_NEAR(m.kurtosis, 3, 0.06);
  auto beyond = [&](double k) {
    return static_cast<double>(std::ranges::count_if(x, [&](TypeParam v) { return std::abs(v - 5) > 2 * k; })) / 400000;
  };
  EXPECT_NEAR(beyond(1), 0.3173, 0.005);
  EXPECT_NEAR(beyond(3), 0.0027, 0.0006);
}

TYPED_TEST(Draws, KeepingScalesOrZeroes) {
  std::vector<TypeParam> ones(100001, 1), y(100001);
  random_keep({5, 6}, std::ssize(y), 0.75, TypeParam(4), ones.data(), y.data());
  auto kept = std::ranges::count(y, TypeParam(4)), dropped = std::ranges::count(y, TypeParam(0));
  EXPECT_EQ(kept + dropped, 100001);
  EXPECT_NEAR(static_cast<double>(kept) / 100001, 0.75, 0.01);
}

TEST(Draws, ProbabilitiesZeroAndOneAreCertain) {
  std::vector<float> ones(1000, 1), y(1000);
  random_keep({1, 1}, 1000, 1.0, 1.0f, ones.data(), y.data());
  EXPECT_EQ(y, ones);
  random_keep({1, 1}, 1000, 0.0, 1.0f, ones.data(), y.data());
  EXPECT_EQ(std::ranges::count(y, 0), 1000);
  random_bernoulli({1, 1}, 1000, 1.0, y.data());
  EXPECT_EQ(y, ones);
}

TEST(Draws, IntegersCoverTheirRangeEvenly) {
  std::vector<std::int64_t> x(70000), counts(7);
  random_integers({7, 8}, std::ssize(x), -3, 4, x.data());
  for (std::int64_t v : x) ++counts.at(static_cast<std::size_t>(v + 3));
  for (std::int64_t count : counts) EXPECT_NEAR(static_cast<double>(count), 10000, 500);
  random_integers({7, 8}, std::ssize(x), INT64_MIN, INT64_MAX, x.data());
  EXPECT_GT(std::ranges::max(x), INT64_MAX / 2);
  EXPECT_LT(std::ranges::min(x), INT64_MIN / 2);
}

TEST(Draws, ShorterDrawsAreTheBeginningOfLongerOnes) {
  std::vector<float> longer(1000), shorter(333);
  random_normal({9, 9}, 1000, 0, 1, longer.data());
  random_normal({9, 9}, 333, 0, 1, shorter.data());
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.begin() + 320, longer.begin()));
}

#ifdef _OPENMP
TEST(Draws, BitsDoNotDependOnTheNumberOfThreads) {
  std::vector<float> one(300007), many(300007);
  int before = omp_get_max_threads();
  omp_set_num_threads(1);
  random_normal({1, 5}, std::ssize(one), 0, 1, one.data());
  omp_set_num_threads(3);
  random_normal({1, 5}, std::ssize(many), 0, 1, many.data());
  omp_set_num_threads(before);
  EXPECT_EQ(one, many);
}
#endif

TEST(Draws, KeysAndStreamsAreUnrelated) {
  std::vector<double> a(100000), b(100000);
  for (PhiloxStream other : {PhiloxStream{1, 1}, PhiloxStream{2, 0}}) {
    random_uniform({1, 0}, std::ssize(a), -1, 1, a.data());
    random_uniform(other, std::ssize(b), -1, 1, b.data());
    double correlation = std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / 100000 * 3;
    EXPECT_NEAR(correlation, 0, 0.02);
  }
}

}  // namespace
}  // namespace reprise::kernels::philox_tests
