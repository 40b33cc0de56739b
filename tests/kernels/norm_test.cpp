// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include "kernels/batch_norm.h"
#include "kernels/cross_entropy.h"
#include "kernels/naive_math.h"
#include "kernels/random_data.h"
#include "kernels/softmax.h"
#include "kernels/threads.h"

namespace reprise::kernels::norm_tests {
namespace {

using naive::Array;
using testing::expect_close;
using testing::RandomData;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

AxisView random_view(RandomData& random) {
  return {random.size(1, 5), random.size(1, 80), random.coin() ? 1 : random.size(2, 80)};
}

TEST(Softmax, AgreesWithTheNaiveLoop) {
  RandomData random(1);
  for (int i = 0; i < 60; ++i) {
    AxisView v = random_view(random);
    auto x = random.array<float>(v.outer * v.size * v.inner, -4, 4);
    std::vector<float> y(x.size()), z(x.size());
    softmax(v, x.data(), y.data());
    log_softmax(v, x.data(), z.data());
    auto want = naive::along(naive::wide(x), v.outer, v.size, v.inner, naive::softmax);
    expect_close(naive::wide(y), want, 1e-6);
    for (double& w : want) w = std::log(w);
    expect_close(naive::wide(z), want, 1e-6);
  }
}

TEST(Softmax, GradientsAgreeWithTheNaiveLoop) {
  RandomData random(2);
  for (int i = 0; i < 60; ++i) {
    AxisView v = random_view(random);
    auto y = random.array<float>(v.outer * v.size * v.inner, 0, 1),
         dy = random.array<float>(v.outer * v.size * v.inner);
    std::vector<float> dx(y.size()), dz(y.size());
    softmax_grad(v, y.data(), dy.data(), dx.data());
    log_softmax_grad(v, y.data(), dy.data(), dz.data());
    Array products(y.size()), plain = naive::wide(dy);
    for (std::size_t k = 0; k < y.size(); ++k) products[k] = static_cast<double>(y[k]) * static_cast<double>(dy[k]);
    auto total = [](Array& line) {
      double sum = 0;
      for (double value : line) sum += value;
      std::ranges::fill(line, sum);
    };
    Array dots = naive::along(products, v.outer, v.size, v.inner, total),
          sums = naive::along(plain, v.outer, v.size, v.inner, total);
    for (std::size_t k = 0; k < y.size(); ++k) {
      ASSERT_NEAR(dx[k], y[k] * (static_cast<double>(dy[k]) - dots[k]), 1e-5);
      ASSERT_NEAR(dz[k], static_cast<double>(dy[k]) - std::exp(static_cast<double>(y[k])) * sums[k], 1e-4);
    }
  }
}

TEST(Softmax, SurvivesHugeAndInfiniteLogits) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x{0, 100, -inf, 1e30f}, y(4);
  softmax({1, 4, 1}, x.data(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0, 0, 0, 1}));
  std::vector<float> logits{0, 100}, logs(2);
  log_softmax({1, 2, 1}, logits.data(), logs.data());
  EXPECT_EQ(logs, (std::vector<float>{-100, 0}));
}

// One random row norm with everything it needs.
struct Case {
  RowNorm p;
  std::vector<float> x, w, b, dy, y, mean, scale, dx, dw, db, partial;

  explicit Case(RandomData& random) {
    p.groups = random.size(1, 3);
    p.rows = p.groups * random.size(1, 40);
    p.weight_per_element = random.coin();
    p.segments = p.weight_per_element ? 1 : random.size(1, 4);
    if (p.weight_per_element) p.groups = 1;
    p.length = random.size(1, 70);
    p.epsilon = 0.01;
    std::int64_t n = p.rows * p.row_size();
    x = random.array<float>(n), dy = random.array<float>(n), y = dx = x;
    w = random.array<float>(p.weights()), b = random.array<float>(p.weights()), dw = db = w;
    mean.resize(at(p.rows)), scale.resize(at(p.rows)), partial.resize(at(2 * p.tiles() * p.weights()));
  }
  void run() {
    row_norm(p, x.data(), w.data(), b.data(), y.data(), mean.data(), scale.data());
    row_norm_grad(p, x.data(), w.data(), mean.data(), scale.data(), dy.data(), dx.data(), dw.data(), db.data(),
                  partial.data());
  }
  std::int64_t weight(std::int64_t row, std::int64_t i) const {
    return p.weight_per_element ? i : p.first_weight(row) + i / p.length;
  }
};

TEST(RowNorm, ForwardAndGradientsAgreeWithTheNaiveLoop) {
  RandomData random(3);
  for (int i = 0; i < 60; ++i) {
    Case c(random);
    c.run();
    std::int64_t n = c.p.row_size();
    Array y, dx, dw(c.w.size()), db(c.w.size());
    for (std::int64_t row = 0; row < c.p.rows; ++row) {
      Array x(c.x.begin() + row * n, c.x.begin() + (row + 1) * n), g;
      naive::Statistics s = naive::statistics(x);
      for (std::int64_t k = 0; k < n; ++k) {
        double xhat = (x[at(k)] - s.mean) / std::sqrt(s.variance + c.p.epsilon), d = c.dy[at(row * n + k)];
        std::size_t j = at(c.weight(row, k));
        y.push_back(xhat * c.w[j] + c.b[j]);
        g.push_back(d * c.w[j]);
        dw[j] += d * xhat, db[j] += d;
      }
      Array row_dx = naive::normalise_grad(x, g, c.p.epsilon);
      dx.insert(dx.end(), row_dx.begin(), row_dx.end());
    }
    expect_close(naive::wide(c.y), y, 1e-5);
    expect_close(naive::wide(c.dx), dx, 1e-5);
    expect_close(naive::wide(c.dw), dw, 1e-5);
    expect_close(naive::wide(c.db), db, 1e-5);
  }
}

TEST(RowNorm, BitsDoNotDependOnTheNumberOfThreads) {
  RandomData random(4), again(4);
  Case one(random), many(again);
  testing::with_threads(1, [&] { one.run(); });
  testing::with_threads(5, [&] { many.run(); });
  EXPECT_EQ(one.y, many.y);
  EXPECT_EQ(one.dx, many.dx);
  EXPECT_EQ(one.dw, many.dw);
}

TEST(BatchNorm, ForwardAndGradientsAgreeWithTheNaiveLoop) {
  RandomData random(5);
  for (int i = 0; i < 40; ++i) {
    BatchNorm p{random.size(1, 6), random.size(1, 80), random.coin() ? 1 : random.size(2, 50), 0.01};
    std::int64_t n = p.batch * p.channels * p.length;
    auto x = random.array<float>(n), dy = random.array<float>(n), w = random.array<float>(p.channels), b = w;
    std::vector<float> y(x.size()), dx(x.size()), mean(w.size()), variance(w.size()), dw(w.size()), db(w.size());
    batch_norm(p, x.data(), w.data(), b.data(), y.data(), mean.data(), variance.data());
    batch_norm_grad(p, x.data(), w.data(), mean.data(), variance.data(), dy.data(), dx.data(), dw.data(), db.data());
    for (std::int64_t c = 0; c < p.channels; ++c) {
      std::vector<std::size_t> where;
      for (std::int64_t k = 0; k < p.batch; ++k)
        for (std::int64_t l = 0; l < p.length; ++l) where.push_back(at((k * p.channels + c) * p.length + l));
      Array line, g;
      double weight = w[at(c)], want_dw = 0, want_db = 0;
      for (std::size_t k : where) line.push_back(x[k]), g.push_back(weight * dy[k]);
      naive::Statistics s = naive::statistics(line);
      Array want_dx = naive::normalise_grad(line, g, p.epsilon);
      for (std::size_t k = 0; k < where.size(); ++k) {
        double xhat = (line[k] - s.mean) / std::sqrt(s.variance + p.epsilon), d = dy[where[k]];
        ASSERT_NEAR(y[where[k]], xhat * weight + b[at(c)], 1e-5);
        ASSERT_NEAR(dx[where[k]], want_dx[k], 1e-4);
        want_dw += d * xhat, want_db += d;
      }
      ASSERT_NEAR(mean[at(c)], s.mean, 1e-6);
      ASSERT_NEAR(variance[at(c)], s.variance, 1e-6);
      ASSERT_NEAR(dw[at(c)], want_dw, 1e-4);
      ASSERT_NEAR(db[at(c)], want_db, 1e-4);
    }
  }
}

// Other programs that do so have the same bits.
TEST(BatchNorm, StatisticsAreRoundedOnceFromSumsInF64) {
  RandomData random(7);
  for (std::int64_t length : {1, 777}) {
    BatchNorm p{9, 5, length};
    auto x = random.array<float>(p.count() * p.channels, -1, 3), w = random.array<float>(5), b = random.array<float>(5);
    std::vector<float> y(x.size()), mean(5), variance(5);
    batch_norm(p, x.data(), w.data(), b.data(), y.data(), mean.data(), variance.data());
    for (std::int64_t c = 0; c < p.channels; ++c) {
      double sum = 0, squares = 0;
      auto each = [&](auto f) {
        for (std::int64_t n = 0; n < p.batch; ++n)
          for (std::int64_t i = 0; i < length; ++i) f(x[at((n * p.channels + c) * length + i)]);
      };
      each([&](float value) { sum += static_cast<double>(value); });
      auto mu = static_cast<float>(sum / static_cast<double>(p.count()));
      each([&](float value) { squares += static_cast<double>((value - mu) * (value - mu)); });
      EXPECT_EQ(mean[at(c)], mu);
      EXPECT_EQ(variance[at(c)], static_cast<float>(squares) / static_cast<float>(p.count()));
    }
  }
}

TEST(CrossEntropy, AgreesWithTheLogarithmOfTheNaiveSoftmax) {
  RandomData random(6);
  for (int i = 0; i < 40; ++i) {
    CrossEntropy p{random_view(random)};
    const AxisView& v = p.view;
    auto x = random.array<float>(v.outer * v.size * v.inner, -4, 4), dloss = random.array<float>(v.outer * v.inner);
    std::vector<std::int64_t> label;
    for (std::int64_t k = 0; k < v.outer * v.inner; ++k) label.push_back(random.size(0, v.size - 1));
    std::vector<float> loss(dloss.size()), log_sum(dloss.size()), dx(x.size());
    cross_entropy(p, x.data(), {label.data()}, loss.data(), log_sum.data());
    cross_entropy_grad(p, x.data(), {label.data()}, log_sum.data(), dloss.data(), dx.data());
    Array q = naive::along(naive::wide(x), v.outer, v.size, v.inner, naive::softmax);
    for (std::int64_t k = 0; k < v.outer * v.inner; ++k)
      for (std::int64_t c = 0; c < v.size; ++c) {
        std::size_t j = at((k / v.inner * v.size + c) * v.inner + k % v.inner);
        bool hit = label[at(k)] == c;
        if (hit) {
          ASSERT_NEAR(loss[at(k)], -std::log(q[j]), 1e-5);
        }
        ASSERT_NEAR(dx[j], dloss[at(k)] * (q[j] - hit), 1e-5);
      }
  }
}

}  // namespace
}  // namespace reprise::kernels::norm_tests
