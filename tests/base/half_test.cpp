// SPDX-License-Identifier: Apache-2.0
#include "reprise/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace reprise {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Half>
Half from_bits(std::uint32_t bits) {
  Half h;
  h.bits = static_cast<std::uint16_t>(bits);
  return h;
}

// Rounds by definition: the nearest of all values, the one with an even last bit when two are equally near.
template <class Half>
Half nearest_half(float x) {
  Half best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    float candidate = static_cast<float>(from_bits<Half>(bits));
    if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(x)) continue;
    double distance = std::abs(static_cast<double>(candidate) - x);
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0)) {
      best = from_bits<Half>(bits);
      best_distance = distance;
    }
  }
  return best;
}

template <class Half>
class HalfTest : public testing::Test {};
using Halves = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    TypeParam h = from_bits<TypeParam>(bits);
    float x = static_cast<float>(h);
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(x)))) << bits;
    else
      EXPECT_EQ(TypeParam(x), h) << bits;
  }
}

TYPED_TEST(HalfTest, RoundsToNearestEvenByDefinition) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    float x = static_cast<float>((random.chance(0.5) ? 1 : -1) * std::exp2(random.uniform(-26, 15.9)));
    EXPECT_EQ(TypeParam(x), nearest_half<TypeParam>(x)) << x;
  }
}

TYPED_TEST(HalfTest, TiesGoToTheEvenNeighbour) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7b00; bits += 7) {
    double low = static_cast<float>(from_bits<TypeParam>(bits)),
           high = static_cast<float>(from_bits<TypeParam>(bits + 1));
    float middle = static_cast<float>((low + high) / 2);
    if (middle != (low + high) / 2) continue;
    EXPECT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? bits : bits + 1);
  }
}

TYPED_TEST(HalfTest, InfinitiesAndSignedZeroAreExact) {
  EXPECT_EQ(static_cast<float>(TypeParam(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-infinity)), -infinity);
  EXPECT_TRUE(std::signbit(static_cast<float>(TypeParam(-0.0f))));
}

TEST(HalfTest, F16OverflowsToInfinityExactlyPast65504) {
  EXPECT_EQ(static_cast<float>(f16(65504.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(f16(65519.996f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(f16(65520.0f)), infinity);
}

TEST(HalfTest, OneTenThousandthSurvives) {
  EXPECT_NEAR(static_cast<float>(f16(1e-4f)), 1e-4, 3e-8);
  EXPECT_NEAR(static_cast<float>(bf16(1e-4f)), 1e-4, 4e-7);
}

}  // namespace
}  // namespace reprise
