// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/tensor.h"

namespace reprise {
namespace {

TEST(Tensor, LiteralsAreVectorsAndMatricesOfF32) {
  EXPECT_EQ(Tensor({1, 2, 3}).type(), parse_type("f32[3]"));
  Tensor matrix{{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(matrix.type(), parse_type("f32[3,2]"));
  Tensor column{{1}, {2}};
  EXPECT_EQ(column.type(), parse_type("f32[2,1]"));
  EXPECT_EQ(column.to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(Tensor{}.type(), parse_type("f32[0]"));
}

TEST(Tensor, UnequalRowsAreRefused) {
  EXPECT_EQ(message([] { Tensor{{1, 2}, {3}}; }), "[Tensor] rows of 2 and 1 numbers: all rows must be equally long");
}

TEST(Tensor, SpansGoInAndOut) {
  std::vector<std::int32_t> numbers{1, 2, 3, 4, 5, 6};
  Tensor t = Tensor::from(numbers, {2, 3});
  EXPECT_EQ(t.type(), parse_type("i32[2,3]"));
  t.span<std::int32_t>()[5] = 60;
  EXPECT_EQ(t.to_vector<double>().back(), 60);
  EXPECT_EQ(numbers.back(), 6);
  EXPECT_EQ(message([&] { Tensor::from(numbers, {4}); }), "[Tensor::from] 6 values do not fill shape [4]");
  EXPECT_EQ(message([&] { t.span<float>(); }), "[tensor] this is i32[2,3], not f32: convert it with to()");
}

TEST(Tensor, FillsAreOfTheirDType) {
  EXPECT_EQ(Tensor::full({DType::bf16, {2}}, 1.5).to_vector<float>(), (std::vector<float>{1.5, 1.5}));
  EXPECT_EQ(Tensor::zeros({DType::i64, {2}}).to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(Tensor::scalar(3, DType::i32).item(), 3);
  EXPECT_EQ(message([] { Tensor{1, 2}.item(); }), "[item] f32[2] has 2 elements, not one");
}

TEST(Tensor, ConvertsTowardZeroToBoolAndToNearestEven) {
  Tensor t{-1.7, 0, 0.5, 3};
  EXPECT_EQ(t.to(DType::i32).to_vector<std::int32_t>(), (std::vector<std::int32_t>{-1, 0, 0, 3}));
  EXPECT_EQ(t.to(DType::boolean).to_vector<bool>(), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ((Tensor{2049, 2051, 65520}.to(DType::f16).to_vector<float>()),
            (std::vector<float>{2048, 2052, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(Tensor::scalar(257, DType::f64).to(DType::bf16).item(), 256);
  EXPECT_TRUE(std::isnan(Tensor::scalar(NAN).to(DType::f16).to(DType::f64).item()));
}

TEST(Tensor, NumbersBeyondAnIntegersRangeConvertToItsEnd) {
  Tensor t = Tensor::from(std::vector<double>{1e20, -1e20, INFINITY, NAN, 2147483647.9}, {5});
  EXPECT_EQ(t.to(DType::i32).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{2147483647, -2147483648, 2147483647, 0, 2147483647}));
  EXPECT_EQ(t.to(DType::f32).to(DType::i64).to_vector<std::int64_t>()[0], std::numeric_limits<std::int64_t>::max());
}

// The nearest of all values to x, the even one of two; exact, as the differences of close doubles are.
template <class Half>
std::uint16_t rounded_once(double x) {
  std::uint16_t best = 0;
  double best_distance = INFINITY;
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    Half h;
    h.bits = static_cast<std::uint16_t>(bits);
    double candidate = static_cast<double>(static_cast<float>(h));
    if (!std::isfinite(candidate)) break;
    double distance = std::abs(candidate - x);
    if (distance < best_distance || (distance == best_distance && bits % 2 == 0))
      best = h.bits, best_distance = distance;
  }
  return best;
}

template <class Half>
void expect_one_rounding(double x) {
  EXPECT_EQ(Tensor::scalar(x, DType::f64).to(dtype_of<Half>).template span<Half>()[0].bits, rounded_once<Half>(x)) << x;
}

TEST(Tensor, ConvertsFromF64To16BitsInOneRounding) {
  // Just above and below ties, nearer to them than a float can tell: two roundings would go to the even neighbour.
  for (double tie : {1 + 0x1p-11, 1 + 3 * 0x1p-11, 0x1p-24 * 1.5, 0x1p-25, 1000.25, 2049.0})
    for (double off : {-0x1p-40, 0.0, 0x1p-40}) expect_one_rounding<f16>(tie * (1 + off));
  for (double tie : {1 + 0x1p-8, 1 + 3 * 0x1p-8, 257.0, 0x1p-133 * 1.5, 0x1p-134})
    for (double off : {-0x1p-40, 0.0, 0x1p-40}) expect_one_rounding<bf16>(tie * (1 + off));
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    double x = std::exp2(random.uniform(-26, 15.9));
    expect_one_rounding<f16>(x);
    expect_one_rounding<bf16>(x);
  }
  EXPECT_EQ(Tensor::scalar(1e300, DType::f64).to(DType::bf16).item(), INFINITY);
  EXPECT_EQ(Tensor::scalar(-65519.999999999, DType::f64).to(DType::f16).item(), -65504);
  std::int64_t above_tie = (std::int64_t{257} << 40) + 1;  // a float would lose the 1
  EXPECT_EQ(Tensor::from(std::vector{above_tie, -above_tie}, {2}).to(DType::bf16).to_vector<double>(),
            (std::vector<double>{258 * 0x1p40, -258 * 0x1p40}));
}

TEST(Tensor, EveryDTypeConvertsToEveryOther) {
  const DType all[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16, DType::bf16};
  for (DType from : all)
    for (DType to : all)
      EXPECT_EQ(Tensor({0, 1, 1}).to(from).to(to).to_vector<double>(), (std::vector<double>{0, 1, 1}))
          << to_string(from) << " " << to_string(to);
}

TEST(Tensor, MemoryIsAligned) {
  for (std::int64_t n : {0, 1, 3, 17, 1000})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(Tensor::empty({DType::f32, {n}}).data()) % 64, 0u) << n;
}

TEST(Tensor, CopiesAndReshapesShareMemoryClonesDoNot) {
  Tensor t{1, 2, 3, 4}, copy = t, square = t.reshape({2, 2}), clone = t.clone();
  t.span<float>()[0] = 9;
  EXPECT_EQ(copy.span<float>()[0], 9);
  EXPECT_EQ(square.span<float>()[0], 9);
  EXPECT_EQ(clone.span<float>()[0], 1);
  EXPECT_EQ(message([&] { t.reshape({3}); }), "[reshape] f32[4] does not have the elements of [3]");
}

TEST(Tensor, LooksAtMemoryOfOthersAndKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(4, 2.0f);
  Tensor t = Tensor::over(owner->data(), {DType::f32, {4}}, owner);
  std::weak_ptr<std::vector<float>> watch = owner;
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(t.span<float>()[3], 2);
  t = Tensor{};
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, SameBitsTellsZerosApartAndFindsNaNEqual) {
  EXPECT_FALSE(same_bits(Tensor{0.0}, Tensor{-0.0}));
  EXPECT_TRUE(same_bits(Tensor{NAN}, Tensor{NAN}));
  EXPECT_FALSE(same_bits(Tensor{1, 2}, Tensor({1, 2}).reshape({2, 1})));
}

}  // namespace
}  // namespace reprise
