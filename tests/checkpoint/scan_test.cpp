// SPDX-License-Identifier: Apache-2.0
#include "reprise/scan.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/checkpoint_errors.h"

namespace reprise {
namespace {

template <class T>
std::vector<T> numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(random.uniform(-1, 1)));
  return values;
}

// The recurrence and its gradient with every state held, one after the other.
template <class T>
ScanGradients<T> unsegmented(const ScanOptions<T>& o, const std::vector<T>& x, const std::vector<T>& dh) {
  std::size_t width = o.a.size(), steps = x.size() / width;
  std::vector<T> h = o.initial.empty() ? std::vector<T>(width) : o.initial;
  for (std::size_t k = 0; k < x.size(); ++k) h.push_back(o.a[k % width] * h[k] + o.b[k % width] * x[k]);
  ScanGradients<T> g{std::vector<T>(width), std::vector<T>(width), std::vector<T>(x.size()), std::vector<T>(width)};
  for (std::size_t t = steps; t-- > 0;)
    for (std::size_t i = 0; i < width; ++i) {
      std::size_t k = t * width + i;
      T total = dh[k] + g.h0[i];
      g.a[i] += total * h[k];
      g.b[i] += total * x[k];
      g.x[k] = total * o.b[i];
      g.h0[i] = total * o.a[i];
    }
  return g;
}

TEST(Scan, NineStepsInThreeSegmentsGiveTheUnsegmentedGradientBitForBit) {
  ScanOptions<float> options{.a = {.9f, .8f, .95f, .7f}, .b = {1, .5f, 2, -1}, .segments = 3};
  auto x = numbers<float>(36, 60);
  std::vector<float> ones(36, 1.f);  // the loss is the sum of all outputs
  CheckpointedScan<float> scan(options);
  scan.forward(x);
  EXPECT_EQ(scan.backward(x, ones), unsegmented(options, x, ones));
  EXPECT_EQ(scan.memory_bytes(), 3 * 4 * 4);
  EXPECT_EQ(scan.backward_peak_bytes(), (3 + 3) * 4 * 4);
}

template <class T>
void expect_any_ratio() {
  for (std::int64_t steps = 0; steps <= 12; ++steps)
    for (std::int64_t segments = 1; segments <= 15; ++segments) {
      ScanOptions<T> options{
          .a = numbers<T>(3, 61), .b = numbers<T>(3, 62), .segments = segments, .initial = numbers<T>(3, 63)};
      auto x = numbers<T>(3 * steps, 64), dh = numbers<T>(3 * steps, 65);
      CheckpointedScan<T> scan(options);
      scan.forward(x);
      EXPECT_EQ(scan.backward(x, dh), unsegmented(options, x, dh)) << steps << " steps, " << segments << " segments";
    }
}

TEST(Scan, AnyRatioOfStepsToSegmentsGivesTheUnsegmentedGradient) {
  expect_any_ratio<float>();
  expect_any_ratio<double>();
}

TEST(Scan, GradientsAgreeWithFiniteDifferences) {
  ScanOptions<double> options{.a = {.9, .8}, .b = {.5, 2}, .segments = 2, .initial = {.1, .2}};
  auto x = numbers<double>(10, 66), dh = numbers<double>(10, 67);
  auto loss = [&] {
    auto h = CheckpointedScan<double>(options).forward(x);
    double sum = 0;
    for (std::size_t k = 0; k < h.size(); ++k) sum += h[k] * dh[k];
    return sum;
  };
  CheckpointedScan<double> scan(options);
  scan.forward(x);
  auto gradients = scan.backward(x, dh);
  auto expect_slope = [&](double& parameter, double gradient) {
    double before = parameter;
    parameter = before + 1e-6;
    double above = loss();
    parameter = before - 1e-6;
    double below = loss();
    parameter = before;
    EXPECT_NEAR(gradient, (above - below) / 2e-6, 1e-7);
  };
  for (std::size_t i = 0; i < 2; ++i) {
    expect_slope(options.a[i], gradients.a[i]);
    expect_slope(options.b[i], gradients.b[i]);
    expect_slope(options.initial[i], gradients.h0[i]);
  }
  for (std::size_t k = 0; k < x.size(); ++k) expect_slope(x[k], gradients.x[k]);
}

TEST(Scan, MisuseIsATypedError) {
  using Scan = CheckpointedScan<float>;
  EXPECT_EQ(message([] { Scan({.a = {1}, .b = {1}, .segments = 0}); }), "[scan] 0 segments: there is at least 1");
  EXPECT_THROW(Scan({.a = {1, 2}, .b = {1}}), DimensionMismatch);
  EXPECT_THROW(Scan({.a = {}, .b = {}}), Error);
  EXPECT_THROW(Scan({.a = {1}, .b = {1}, .initial = {1, 2}}), DimensionMismatch);
  Scan scan({.a = {1, 1}, .b = {1, 1}});
  std::vector<float> four(4), five(5), six(6);
  EXPECT_EQ(message([&] { scan.backward(four, four); }), "[scan] backward needs a forward before it");
  EXPECT_THROW(scan.forward(five), DimensionMismatch);
  scan.forward(four);
  EXPECT_THROW(scan.backward(six, six), DimensionMismatch);
  EXPECT_THROW(scan.backward(four, six), DimensionMismatch);
}

}  // namespace
}  // namespace reprise
