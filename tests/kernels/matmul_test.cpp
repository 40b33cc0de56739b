// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

#include <cstring>
#include <thread>

#include "kernels/naive_nn.h"
#include "kernels/random_data.h"

namespace reprise::kernels::matmul_tests {
namespace {

using testing::expect_close;
using testing::RandomData;
using testing::rounding_bound;

Shape matrix(const Shape& batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  Shape shape = batch;
  shape.push_back(transposed ? columns : rows);
  shape.push_back(transposed ? rows : columns);
  return shape;
}

template <class T>
void compare_with_naive(RandomData& random, std::int64_t largest) {
  std::int64_t m = random.size(0, largest), n = random.size(0, largest), k = random.size(0, largest);
  std::int64_t outer = random.size(1, 3), inner = random.size(1, 3);
  bool ta = random.coin(), tb = random.coin(), broadcast = random.coin();
  Shape all{outer, inner}, some = broadcast ? Shape{1, inner} : all;
  Matmul product(matrix(all, m, k, ta), ta, matrix(some, k, n, tb), tb, matrix(all, m, n, false));
  auto a = random.array<T>(outer * inner * m * k), b = random.array<T>(some.elements() * k * n);
  std::vector<T> got(static_cast<std::size_t>(outer * inner * m * n)), want = got;
  product.run(a.data(), b.data(), nullptr, got.data());
  for (std::int64_t i = 0; i < outer * inner; ++i)
    naive::matmul(m, n, k, ta, tb, a.data() + i * m * k, b.data() + (broadcast ? i % inner : i) * k * n,
                  want.data() + i * m * n);
  expect_close(got, want, rounding_bound<T>);
}

TEST(Matmul, AgreesWithTheNaiveLoopsOnRandomShapes) {
  RandomData random(1);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    compare_with_naive<float>(random, i % 10 == 0 ? 130 : 20);
    compare_with_naive<double>(random, 20);
  }
}

// More than 256 products are added up in parts where both other sizes are 64 or more.
TEST(Matmul, AgreesWithTheNaiveLoopsOnLongSums) {
  RandomData random(3);
  for (std::int64_t k : {256, 257, 700, 1024})
    for (std::int64_t m : {63, 64})
      for (bool ta : {false, true})
        for (bool tb : {false, true}) {
          SCOPED_TRACE(::testing::Message() << m << " rows, sums of " << k << ", transposed " << ta << tb);
          std::int64_t n = 65;
          auto a = random.array<float>(m * k), b = random.array<float>(k * n), bias = random.array<float>(n);
          std::vector<float> got(static_cast<std::size_t>(m * n)), want = got;
          Matmul(matrix({}, m, k, ta), ta, matrix({}, k, n, tb), tb, {m, n})
              .run(a.data(), b.data(), bias.data(), got.data());
          naive::matmul(m, n, k, ta, tb, a.data(), b.data(), want.data());
          for (std::size_t i = 0; i < want.size(); ++i) want[i] += bias[i % bias.size()];
          expect_close(got, want, rounding_bound<float>);
        }
}

TEST(Matmul, AddsTheBiasToEveryRow) {
  std::vector<float> x{1, 2, 3, 4}, w{1, 0, 0, 1, 1, 1}, bias{10, 20, 30}, y(6);
  Matmul({2, 2}, false, {3, 2}, true, {2, 3}).run(x.data(), w.data(), bias.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{11, 22, 33, 13, 24, 37}));
}

TEST(Matmul, OfAnEmptyInnerDimensionIsZero) {
  std::vector<double> c{1, 2, 3, 4};
  Matmul({2, 0}, false, {0, 2}, false, {2, 2}).run(c.data(), c.data(), nullptr, c.data());
  EXPECT_EQ(c, (std::vector<double>{0, 0, 0, 0}));
}

TEST(Matmul, RunsInTwoThreadsAtOnceWithTheSameBits) {
  RandomData random(2);
  Matmul product({3, 96, 80}, false, {3, 80, 112}, false, {3, 96, 112});
  auto a = random.array<float>(3 * 96 * 80), b = random.array<float>(3 * 80 * 112);
  std::vector<float> first(3 * 96 * 112), second = first;
  auto repeat = [&](std::vector<float>& c) {
    for (int i = 0; i < 20; ++i) product.run(a.data(), b.data(), nullptr, c.data());
  };
  std::thread other([&] { repeat(second); });
  repeat(first);
  other.join();
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace reprise::kernels::matmul_tests
