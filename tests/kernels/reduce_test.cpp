// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce.h"

#include "kernels/axis.h"
#include "kernels/naive_math.h"
#include "kernels/random_data.h"
#include "kernels/threads.h"

namespace reprise::kernels::reduce_tests {
namespace {

using testing::RandomData;

struct Problem {
  Shape shape, kept;
  std::vector<int> axes;
};

Problem random_problem(RandomData& random) {
  Problem p;
  int rank = static_cast<int>(random.size(0, 4));
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t size = random.size(0, 5) == 0 ? random.size(1, 200) : random.size(1, 12);
    bool reduced = random.coin();
    p.shape.push_back(size);
    p.kept.push_back(reduced ? 1 : size);
    if (reduced) p.axes.push_back(axis);
  }
  return p;
}

template <class P, class T>
std::vector<T> run(const Problem& p, const std::vector<T>& x) {
  Reduction plan = plan_reduction(p.shape, p.axes);
  std::vector<typename P::Acc> partial(static_cast<std::size_t>(plan.partials()));
  std::vector<T> y(static_cast<std::size_t>(plan.outputs));
  reduce(plan, reducer<P, T>(), x.data(), y.data(), partial.data());
  return y;
}

TEST(Reduce, SumsAgreeWithTheNaiveLoopOnRandomShapesAndAxes) {
  RandomData random(1);
  for (int i = 0; i < 300; ++i) {
    Problem p = random_problem(random);
    auto x = random.array<float>(p.shape.elements(), 0, 1);
    auto want = naive::reduce(naive::wide(x), p.shape, p.kept, 0, [](double a, double b) { return a + b; });
    testing::expect_close(naive::wide(run<Sum<float>>(p, x)), want, 1e-6);
  }
}

TEST(Reduce, ExtremesAndProductsAgreeWithTheNaiveLoop) {
  RandomData random(2);
  for (int i = 0; i < 100; ++i) {
    Problem p = random_problem(random);
    auto x = random.array<float>(p.shape.elements(), -1.1, 1.1);
    auto wide = naive::wide(x);
    auto largest = naive::reduce(wide, p.shape, p.kept, -9, [](double a, double b) { return std::max(a, b); });
    auto smallest = naive::reduce(wide, p.shape, p.kept, 9, [](double a, double b) { return std::min(a, b); });
    auto product = naive::reduce(wide, p.shape, p.kept, 1, [](double a, double b) { return a * b; });
    EXPECT_EQ(naive::wide(run<Largest<float>>(p, x)), largest);
    EXPECT_EQ(naive::wide(run<Smallest<float>>(p, x)), smallest);
    testing::expect_close(naive::wide(run<Product<float>>(p, x)), product, 1e-5);
  }
}

TEST(Reduce, TilesCoverLongAxesOfEveryKind) {
  const Problem problems[] = {{{300'001}, {1}, {0}},
                              {{30'001, 10}, {1, 10}, {0}},
                              {{3, 70'000}, {3, 1}, {1}},
                              {{40'000, 3, 2}, {1, 3, 1}, {0, 2}},
                              {{5, 2'000, 33}, {5, 1, 33}, {1}},
                              {{7, 2'100}, {1, 2'100}, {0}}};
  RandomData random(3);
  for (const Problem& p : problems) {
    auto x = random.array<float>(p.shape.elements(), 0, 1);
    auto want = naive::reduce(naive::wide(x), p.shape, p.kept, 0, [](double a, double b) { return a + b; });
    testing::expect_close(naive::wide(run<Sum<float>>(p, x)), want, 1e-6);
  }
}

TEST(Reduce, BitsDoNotDependOnTheNumberOfThreads) {
  RandomData random(4);
  const Problem problems[] = {{{300'001}, {1}, {0}}, {{30'001, 10}, {1, 10}, {0}}, {{200, 1'500}, {200, 1}, {1}}};
  for (const Problem& p : problems) {
    auto x = random.array<float>(p.shape.elements());
    std::vector<float> one, many;
    testing::with_threads(1, [&] { one = run<Sum<float>>(p, x); });
    testing::with_threads(5, [&] { many = run<Sum<float>>(p, x); });
    EXPECT_EQ(one, many);
  }
}

TEST(Reduce, AMillionTenthsSumToTheTruthWithinAMillionth) {
  std::vector<float> x(1'000'000, 0.1f);
  Problem p{{1'000'000}, {1}, {0}};
  EXPECT_NEAR(run<Sum<float>>(p, x)[0] / (1e6 * static_cast<double>(0.1f)), 1, 1e-6);
}

TEST(Reduce, NanWinsOverEveryExtreme) {
  std::vector<float> x(100, 1.0f);
  x[57] = std::numeric_limits<float>::quiet_NaN();
  Problem p{{100}, {1}, {0}};
  EXPECT_TRUE(std::isnan(run<Largest<float>>(p, x)[0]));
  EXPECT_TRUE(std::isnan(run<Smallest<float>>(p, x)[0]));
}

TEST(Axis, CumulativeSumsAndOtherProductsAgreeWithTheNaiveLoops) {
  RandomData random(5);
  for (int i = 0; i < 30; ++i) {
    AxisView v{random.size(1, 4), random.size(1, 9), random.size(1, 100)};
    auto x = random.array<float>(v.outer * v.size * v.inner);
    std::vector<float> sums(x.size()), others(x.size());
    cumsum(v, {.exclusive = true, .reverse = true}, x.data(), sums.data());
    product_of_others(v, x.data(), others.data());
    auto want_sums = naive::along(naive::wide(x), v.outer, v.size, v.inner, [](naive::Array& line) {
      double sum = 0;
      for (auto it = line.rbegin(); it != line.rend(); ++it) sum += std::exchange(*it, sum);
    });
    auto want_others = naive::along(naive::wide(x), v.outer, v.size, v.inner, [](naive::Array& line) {
      naive::Array all = line;
      for (std::size_t k = 0; k < line.size(); ++k) {
        line[k] = 1;
        for (std::size_t j = 0; j < line.size(); ++j) line[k] *= j == k ? 1 : all[j];
      }
    });
    testing::expect_close(naive::wide(sums), want_sums, 1e-6);
    testing::expect_close(naive::wide(others), want_others, 1e-6);
  }
}

}  // namespace
}  // namespace reprise::kernels::reduce_tests
