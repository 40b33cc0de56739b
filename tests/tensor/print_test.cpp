// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "base/random.h"
#include "numpy.h"
#include "reprise/tensor.h"

namespace reprise {
namespace {

TEST(Print, NestsBracketsAndAligns) {
  EXPECT_EQ(to_string(Tensor{1, 2.5, -3}), "[ 1.   2.5 -3. ]");
  EXPECT_EQ(to_string(Tensor{{1, 2}, {3, 4}}), "[[1. 2.]\n [3. 4.]]");
  EXPECT_EQ(to_string(Tensor::from(std::vector<std::int64_t>{1, 20, -3, 4}, {2, 1, 2})), "[[[ 1 20]]\n\n [[-3  4]]]");
}

TEST(Print, WritesScalarsBoolsAndNothing) {
  EXPECT_EQ(to_string(Tensor::scalar(1.5)), "1.5");
  EXPECT_EQ(to_string(Tensor::scalar(2, DType::i64)), "2");
  EXPECT_EQ(to_string(Tensor::scalar(1, DType::boolean)), "True");
  EXPECT_EQ(to_string(Tensor{1, 0}.to(DType::boolean)), "[ True False]");
  EXPECT_EQ(to_string(Tensor::zeros({DType::f32, {2, 0}})), "[]");
}

TEST(Print, StreamsAsItPrints) {
  std::ostringstream out;
  out << Tensor{1, 2};
  EXPECT_EQ(out.str(), "[1. 2.]");
}

TEST(Print, Bf16HasTheFewestDigitsThatTellItApart) {
  EXPECT_EQ(to_string(Tensor{0.1, 1, 3}.to(DType::bf16)), "[0.1 1.  3. ]");
}

// Arrays that exercise one rule each: magnitudes, ratios, special values, sizes.
Tensor random_array(Random& random) {
  const DType dtypes[] = {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean, DType::f16};
  DType dtype = dtypes[random.below(6)];
  Shape shape;
  std::int64_t rank = random.between(0, 4);
  for (int i = 0; i < rank; ++i) shape.push_back(random.between(random.chance(0.05) ? 0 : 1, rank == 1 ? 40 : 5));
  if (random.chance(0.06)) shape = Shape{random.between(2, 9), random.between(2, 9), random.between(10, 60)};
  if (random.chance(0.04)) shape = Shape{random.between(990, 1010)};
  double scale = std::exp2(random.uniform(-30, 30)), spread = random.chance(0.5) ? 0 : random.uniform(0, 12);
  bool special = random.chance(0.2), round = random.chance(0.4);
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    double x = random.uniform(-1, 1) * (dtype == DType::f16 ? 100 : scale) * std::exp2(random.uniform(-spread, spread));
    if (dtype == DType::i32 || dtype == DType::boolean)
      x = static_cast<double>(random.between(-1, 1) * random.below(50000));
    if (round) x = std::round(x * 100) / 100;
    if (special && is_float(dtype) && random.chance(0.3))
      x = random.chance(0.5) ? NAN : random.chance(0.5) ? INFINITY : -INFINITY;
    if (random.chance(0.05)) x = 0;
    values.push_back(x);
  }
  return Tensor::from(values, shape).to(dtype);
}

TEST(Print, ANaNHasNoSign) {
  EXPECT_EQ(to_string(Tensor{-NAN, -1}), "[nan -1.]");
  EXPECT_EQ(to_string(Tensor::scalar(-NAN, DType::f64)), "nan");
}

TEST(Print, AgreesWithNumPyOnRandomArrays) {
  REPRISE_NEEDS_NUMPY();
  Random random(20);
  std::vector<Tensor> arrays;
  std::string input;
  for (int i = 0; i < 1500; ++i) testing_numpy::append(input, arrays.emplace_back(random_array(random)));
  std::string answer = testing_numpy::ask(
      "with open(sys.argv[1], 'rb') as f, open(sys.argv[2], 'w') as out:\n"
      "    for i in range(1500): out.write(str(tensor(f)) + '\\0')\n",
      input);
  std::istringstream texts(answer);
  int wrong = 0;
  for (const Tensor& t : arrays) {
    std::string expected;
    std::getline(texts, expected, '\0');
    if (to_string(t) == expected || ++wrong > 5) continue;
    ADD_FAILURE() << to_string(t.type()) << "\n" << to_string(t) << "\nNumPy:\n" << expected;
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace reprise
