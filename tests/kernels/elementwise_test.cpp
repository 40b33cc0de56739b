// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include "kernels/naive_math.h"
#include "kernels/random_data.h"
#include "kernels/threads.h"

namespace reprise::kernels::elementwise_tests {
namespace {

using testing::RandomData;

// Two random shapes that broadcast, and what they broadcast to.
struct Shapes {
  Shape x, y, out;
};

Shapes random_shapes(RandomData& random) {
  Shapes s;
  int rank = static_cast<int>(random.size(0, 4)), x_skips = static_cast<int>(random.size(0, rank)),
      y_skips = random.coin() ? 0 : static_cast<int>(random.size(0, rank));
  if (x_skips > 0) y_skips = 0;
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t size = random.size(0, 9) == 0 ? random.size(0, 1) : random.size(2, 40);
    s.out.push_back(size);
    bool x_one = random.size(0, 3) == 0, y_one = !x_one && random.size(0, 3) == 0;
    if (axis >= x_skips) s.x.push_back(x_one ? 1 : size);
    if (axis >= y_skips) s.y.push_back(y_one ? 1 : size);
  }
  for (int axis = 0; axis < rank; ++axis) {  // where one is missing or 1 and the other 1 too, the result is 1
    auto size_of = [&](const Shape& shape) {
      int own = axis - (rank - shape.rank());
      return own < 0 ? 1 : shape[own];
    };
    s.out[axis] = size_of(s.x) == 1 ? size_of(s.y) : size_of(s.x);
  }
  return s;
}

TEST(Broadcast, AgreesWithTheNaiveLoopOnRandomShapes) {
  RandomData random(1);
  for (int i = 0; i < 300; ++i) {
    Shapes s = random_shapes(random);
    auto x = random.array<float>(s.x.elements()), y = random.array<float>(s.y.elements());
    std::vector<float> z(static_cast<std::size_t>(s.out.elements()));
    const void* in[] = {x.data(), y.data()};
    auto loop = element_loop<float, float, float>([](float a, float b) { return a - 2 * b; });
    run_elements(plan_broadcast({s.x, s.y}, s.out), loop, in, z.data());
    auto want =
        naive::zip(naive::wide(x), s.x, naive::wide(y), s.y, s.out, [](double a, double b) { return a - 2 * b; });
    testing::expect_close(naive::wide(z), want, 1e-6);
  }
}

TEST(Broadcast, CommonCasesAreOneRowOrRowsOfTheLastAxis) {
  EXPECT_EQ(plan_broadcast({Shape{4, 5, 6}, Shape{4, 5, 6}}, {4, 5, 6}).rows, 1);
  EXPECT_EQ(plan_broadcast({Shape{4, 5, 6}, Shape{}}, {4, 5, 6}).rows, 1);
  EXPECT_EQ(plan_broadcast({Shape{4, 5, 6}, Shape{1, 6}}, {4, 5, 6}).rows, 20);
  Broadcast column = plan_broadcast({Shape{4, 5, 6}, Shape{4, 1, 1}}, {4, 5, 6});
  EXPECT_EQ(column.length, 30);
  EXPECT_FALSE(column.moves[1]);
}

TEST(Broadcast, ThreeArraysAgreeWithTheNaiveLoop) {
  RandomData random(2);
  const Shape shapes[] = {{}, {7}, {3, 7}, {3, 1}, {2, 3, 7}, {2, 1, 1}};
  Shape out{2, 3, 7};
  for (const Shape& a : shapes)
    for (const Shape& b : shapes)
      for (const Shape& c : shapes) {
        auto x = random.array<float>(a.elements()), y = random.array<float>(b.elements()),
             z = random.array<float>(c.elements());
        std::vector<float> w(static_cast<std::size_t>(out.elements()));
        const void* in[] = {x.data(), y.data(), z.data()};
        auto loop = element_loop<float, float, float, float>([](float p, float q, float r) { return p * q + r; });
        run_elements(plan_broadcast({a, b, c}, out), loop, in, w.data());
        auto product = naive::zip(naive::wide(x), a, naive::wide(y), b, out, [](double p, double q) { return p * q; });
        auto want = naive::zip(product, out, naive::wide(z), c, out, [](double p, double q) { return p + q; });
        testing::expect_close(naive::wide(w), want, 1e-6);
      }
}

TEST(Elementwise, BitsDoNotDependOnTheNumberOfThreads) {
  std::int64_t n = 300'007;
  std::vector<float> x = RandomData(3).array<float>(n, -5, 5), one(x.size()), many(x.size());
  auto loop = element_loop<float, float>([](float v) { return v * v * 0.3f + v * 1.7f - 0.1f / (1 + v * v); });
  testing::with_threads(1, [&] { run_elements(n, loop, x.data(), one.data()); });
  testing::with_threads(5, [&] { run_elements(n, loop, x.data(), many.data()); });
  EXPECT_EQ(one, many);
}

}  // namespace
}  // namespace reprise::kernels::elementwise_tests
