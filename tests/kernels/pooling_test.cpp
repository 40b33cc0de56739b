// SPDX-License-Identifier: Apache-2.0
#include "kernels/pooling.h"

#include <cstring>
#include <limits>
#include <thread>

#include "kernels/random_data.h"

namespace reprise::kernels::pooling_tests {
namespace {

using testing::expect_close;
using testing::RandomData;

// One spatial dimension of a random window, kept as numbers for the naive loops below.
struct Slide {
  std::int64_t size, kernel, stride, pad, count;
};

Slide random_slide(RandomData& random) {
  Slide s{random.size(1, 9), 0, random.size(1, 3), 0, 0};
  s.kernel = random.size(1, s.size);
  s.pad = random.size(0, s.kernel / 2);
  s.count = (s.size + 2 * s.pad - s.kernel) / s.stride + 1;
  return s;
}

PoolAxis axis_of(const Slide& s) {
  PoolAxis axis{s.size, 1, {}};
  for (std::int64_t i = 0; i < s.count; ++i) {
    std::int64_t first = i * s.stride - s.pad;
    axis.windows.push_back(
        {std::max<std::int64_t>(0, first), std::min(s.size, first + s.kernel), 1.0 / static_cast<double>(s.kernel)});
  }
  return axis;
}

// Calls f(output position, input position) for every element of every window of an image, window by window.
template <class F>
void naive_pairs(const Slide& a, const Slide& b, const F& f) {
  for (std::int64_t i = 0; i < a.count; ++i)
    for (std::int64_t j = 0; j < b.count; ++j)
      for (std::int64_t k = 0; k < a.kernel; ++k)
        for (std::int64_t l = 0; l < b.kernel; ++l) {
          std::int64_t y = i * a.stride - a.pad + k, x = j * b.stride - b.pad + l;
          if (y >= 0 && y < a.size && x >= 0 && x < b.size) f(i * b.count + j, y * b.size + x);
        }
}

TEST(Pooling, AgreesWithTheNaiveLoopsOnRandomWindows) {
  RandomData random(11);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    Slide a = random_slide(random), b = random_slide(random);
    Pooling p{1, {PoolAxis{1, 1, {{0, 1, 1.0}}}, axis_of(a), axis_of(b)}};
    auto x = random.array<float>(p.in_size());
    auto outputs = static_cast<std::size_t>(p.out_size());
    std::vector<float> largest(outputs, -std::numeric_limits<float>::infinity()), mean(outputs, 0), got(outputs, NAN);
    naive_pairs(a, b, [&](std::int64_t out, std::int64_t in) {
      auto o = static_cast<std::size_t>(out);
      largest[o] = std::max(largest[o], x[static_cast<std::size_t>(in)]);
      mean[o] += x[static_cast<std::size_t>(in)] / static_cast<float>(a.kernel * b.kernel);
    });
    max_pool(p, x.data(), got.data());
    EXPECT_EQ(got, largest);
    mean_pool(p, x.data(), got.data());
    expect_close(got, mean, 1e-5);
  }
}

TEST(Pooling, SendsGradientsBackWhereTheyCameFrom) {
  RandomData random(12);
  Slide a = random_slide(random), b = random_slide(random);
  Pooling p{3, {PoolAxis{1, 1, {{0, 1, 1.0}}}, axis_of(a), axis_of(b)}};
  auto x = random.array<double>(3 * p.in_size()), u = random.array<double>(3 * p.in_size());
  auto dy = random.array<double>(3 * p.out_size());
  std::vector<double> back(x.size()), forth(dy.size());
  auto dot = [](const std::vector<double>& s, const std::vector<double>& t) {
    double sum = 0;
    for (std::size_t i = 0; i < s.size(); ++i) sum += s[i] * t[i];
    return sum;
  };
  max_pool_scatter(p, x.data(), dy.data(), back.data());
  max_pool_gather(p, x.data(), u.data(), forth.data());
  EXPECT_NEAR(dot(back, u), dot(forth, dy), 1e-12);
  mean_pool_adjoint(p, dy.data(), back.data());
  mean_pool(p, u.data(), forth.data());
  EXPECT_NEAR(dot(back, u), dot(forth, dy), 1e-12);
}

TEST(Pooling, OfVeryLongRowsAgreesWithItsOtherWay) {
  RandomData random(15);
  PoolAxis axis{5000, 1, {}};
  for (std::int64_t i = 0; i < 1250; ++i) axis.windows.push_back({4 * i, 4 * i + 4, 0.25});
  PoolAxis one{1, 1, {{0, 1, 1.0}}};
  auto x = random.array<float>(5000);
  std::vector<float> long_way(1250), short_way(1250);
  Pooling rows{1250, {one, one, {4, 1, {{0, 4, 0.25}}}}};
  max_pool({1, {one, one, axis}}, x.data(), long_way.data());
  max_pool(rows, x.data(), short_way.data());
  EXPECT_EQ(long_way, short_way);
  mean_pool({1, {one, one, axis}}, x.data(), long_way.data());
  mean_pool(rows, x.data(), short_way.data());
  EXPECT_EQ(long_way, short_way);
}

}  // namespace
}  // namespace reprise::kernels::pooling_tests
