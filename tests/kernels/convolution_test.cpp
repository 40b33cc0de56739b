// SPDX-License-Identifier: Apache-2.0
#include "kernels/convolution.h"

#include <cstring>
#include <thread>

#include "kernels/naive_convolution.h"
#include "kernels/random_data.h"

namespace reprise::kernels::convolution_tests {
namespace {

using testing::expect_close;
using testing::RandomData;

ConvSizes random_sizes(RandomData& random, int rank) {
  ConvSizes s;
  s.groups = random.size(1, 3);
  std::int64_t in = random.size(1, 3) * s.groups, out = random.size(1, 3) * s.groups;
  if (random.size(0, 3) == 0) in = out = s.groups = random.size(1, 20);  // depthwise
  s.x = {random.size(1, 3), in};
  s.weight = {out, in / s.groups};
  s.y = {s.x[0], out};
  for (int d = 0; d < rank; ++d) {
    std::int64_t kernel = random.size(1, 4), stride = random.size(1, 3), dilation = random.size(1, 2);
    std::int64_t begin = random.size(0, 3), end = random.size(0, 3), reach = (kernel - 1) * dilation + 1;
    std::int64_t size = std::max<std::int64_t>(1, reach - begin - end) + random.size(0, 6);
    s.x.push_back(size);
    s.weight.push_back(kernel);
    s.y.push_back((size + begin + end - reach) / stride + 1);
    s.strides.push_back(stride);
    s.dilations.push_back(dilation);
    s.pads_begin.push_back(begin);
    s.pads_end.push_back(end);
  }
  return s;
}

struct Operands {
  std::vector<float> a, b, bias, result;
};

Operands draw(RandomData& random, ConvPass pass, const ConvSizes& s) {
  std::int64_t x = s.x.elements(), w = s.weight.elements(), y = s.y.elements();
  std::vector<float> bias;
  if (pass == ConvPass::forward && random.coin()) bias = random.array<float>(s.y[1]);
  std::int64_t result = pass == ConvPass::forward ? y : pass == ConvPass::data_gradient ? x : w;
  return {random.array<float>(pass == ConvPass::data_gradient ? y : x),
          random.array<float>(pass == ConvPass::weight_gradient ? y : w), bias,
          std::vector<float>(static_cast<std::size_t>(result), NAN)};
}

const float* bias_of(const Operands& o) { return o.bias.empty() ? nullptr : o.bias.data(); }

void run_fast(const Convolution<float>& c, Operands& o) {
  std::vector<float> scratch(static_cast<std::size_t>(c.scratch_bytes / 4 + 32), NAN);
  void* aligned = scratch.data();
  std::size_t space = scratch.size() * 4;
  aligned = std::align(64, static_cast<std::size_t>(c.scratch_bytes), aligned, space);
  c.run(o.a.data(), o.b.data(), bias_of(o), o.result.data(), aligned);
}

void compare(RandomData& random, ConvPass pass, const ConvSizes& sizes) {
  Operands o = draw(random, pass, sizes);
  std::vector<float> want = o.result;
  naive::convolve(pass, sizes, o.a.data(), o.b.data(), bias_of(o), want.data());
  run_fast(prepare_convolution_f32(pass, sizes, bias_of(o) != nullptr), o);
  expect_close(o.result, want, 1e-5);
}

TEST(Convolution, AgreesWithTheNaiveLoopsOnRandomSizes) {
  RandomData random(3);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    ConvSizes sizes = random_sizes(random, 1 + i % 3);
    for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
      compare(random, pass, sizes);
  }
}

TEST(Convolution, AgreesWithTheNaiveLoopsOnBlocksOfChannels) {
  RandomData random(4);
  for (std::int64_t channels : {8, 16, 24, 19})
    for (std::int64_t kernel : {1, 3}) {
      ConvSizes s{{2, channels, 9, 10},     {16, channels, kernel, kernel}, {2, 16, 9, 10}, {1, 1}, {1, 1},
                  {kernel / 2, kernel / 2}, {kernel / 2, kernel / 2}};
      for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
        compare(random, pass, s);
    }
}

// Windows that lie side by side: gradients of what they look at, by matrix products.
TEST(Convolution, AgreesWithTheNaiveLoopsOnTiledImages) {
  RandomData random(9);
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    ConvSizes s;
    s.groups = random.size(1, 2);
    s.x = {random.size(1, 3), random.size(1, 9) * s.groups};
    s.weight = {random.size(3, 70) * s.groups, s.x[1] / s.groups};
    s.y = {s.x[0], s.weight[0]};
    for (int d = 0; d <= i % 3; ++d) {
      std::int64_t kernel = random.size(1, 3), windows = random.size(1, 12);
      s.x.push_back(kernel * windows);
      s.weight.push_back(kernel);
      s.y.push_back(windows);
      s.strides.push_back(kernel);
      s.dilations.push_back(1);
      s.pads_begin.push_back(0);
      s.pads_end.push_back(0);
    }
    for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
      compare(random, pass, s);
  }
}

TEST(Convolution, OneTapWithManyChannelsAgreesWithTheNaiveLoops) {
  RandomData random(10);
  for (std::int64_t channels : {255, 256, 300})
    for (std::int64_t stride : {1, 2}) {
      ConvSizes s{{2, channels, 6, 8},
                  {5, channels, 1, 1},
                  {2, 5, 6 / stride, 8 / stride},
                  {stride, stride},
                  {1, 1},
                  {0, 0},
                  {0, 0}};
      for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
        compare(random, pass, s);
    }
}

TEST(Convolution, ScratchMemoryDoesNotGrowWithTheBatch) {
  auto scratch = [](ConvPass pass, std::int64_t n, std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
    std::int64_t pad = kernel / 2, size = (56 + 2 * pad - kernel) / stride + 1;
    ConvSizes s{{n, 64, 56, 56},
                {64, 64 / groups, kernel, kernel},
                {n, 64, size, size},
                {stride, stride},
                {1, 1},
                {pad, pad},
                {pad, pad},
                groups};
    return prepare_convolution_f32(pass, s, false).scratch_bytes;
  };
  for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
    for (auto [kernel, stride, groups] : {std::array{3, 1, 1}, {3, 2, 1}, {1, 1, 1}, {1, 2, 1}, {3, 1, 64}}) {
      SCOPED_TRACE(::testing::Message() << kernel << " taps, stride " << stride << ", groups " << groups);
      EXPECT_LE(scratch(pass, 256, kernel, stride, groups), scratch(pass, 32, kernel, stride, groups) * 5 / 4);
    }
}

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

ConvSizes pictures(std::int64_t n, std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
  std::int64_t size = 128 / stride;
  return {{n, 8, 128, 128},
          {8, 8 / groups, kernel, kernel},
          {n, 8, size, size},
          {stride, stride},
          {1, 1},
          {kernel / 2, kernel / 2},
          {(kernel - 1) / 2, (kernel - 1) / 2},
          groups};
}

// A bit more than 32 MiB each: two chunks, the second one smaller.
TEST(Convolution, ChunksOfPicturesAgreeWithTheNaiveLoops) {
  RandomData random(8);
  for (const ConvSizes& s : {pictures(35, 3, 1, 2), pictures(35, 3, 1, 8), pictures(55, 1, 2, 1)})
    for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
      compare(random, pass, s);
}

void compare_in_f64(RandomData& random, ConvPass pass, const ConvSizes& sizes) {
  Operands o = draw(random, pass, sizes);
  std::vector<double> a = widened(o.a), b = widened(o.b), bias = widened(o.bias), result = widened(o.result);
  std::vector<double> want = result;
  const double* given = bias.empty() ? nullptr : bias.data();
  naive::convolve(pass, sizes, a.data(), b.data(), given, want.data());
  Convolution<double> c = prepare_convolution_f64(pass, sizes);
  std::vector<double> scratch(static_cast<std::size_t>(c.scratch_bytes) / sizeof(double), NAN);
  c.run(a.data(), b.data(), given, result.data(), scratch.data());
  expect_close(result, want, 1e-12);
}

TEST(Convolution, InF64AgreesWithTheNaiveLoops) {
  RandomData random(6);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    ConvSizes sizes = random_sizes(random, 1 + i % 3);
    std::int64_t more = random.size(1, 3);  // wide enough for matrix products, mostly
    sizes.weight[0] *= more;
    sizes.y[1] *= more;
    for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient})
      compare_in_f64(random, pass, sizes);
  }
}

TEST(Convolution, InF64TakesManyPositionsInParts) {
  RandomData random(7);
  ConvSizes s{{2, 64, 40, 37}, {5, 64, 3, 3}, {2, 5, 40, 37}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  for (ConvPass pass : {ConvPass::forward, ConvPass::data_gradient, ConvPass::weight_gradient}) {
    EXPECT_LT(prepare_convolution_f64(pass, s).scratch_bytes, 5 << 20);
    compare_in_f64(random, pass, s);
  }
}

TEST(Convolution, OfAnEmptyBatchHasAZeroWeightGradient) {
  ConvSizes s{{0, 2, 4}, {3, 2, 3}, {0, 3, 2}, {1}, {1}, {0}, {0}};
  std::vector<float> dw(18, NAN);
  prepare_convolution_f32(ConvPass::weight_gradient, s, false).run(nullptr, nullptr, nullptr, dw.data(), nullptr);
  EXPECT_EQ(dw, std::vector<float>(18, 0));
}

TEST(Convolution, RunsInTwoThreadsAtOnceWithTheSameBits) {
  RandomData random(5);
  ConvSizes s{{2, 16, 12, 12}, {16, 16, 3, 3}, {2, 16, 12, 12}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  auto c = prepare_convolution_f32(ConvPass::forward, s, false);
  Operands first = draw(random, ConvPass::weight_gradient, s);
  first.a = random.array<float>(s.x.elements());
  first.b = random.array<float>(s.weight.elements());
  first.result.resize(static_cast<std::size_t>(s.y.elements()));
  Operands second = first;
  auto repeat = [&](Operands& o) {
    for (int i = 0; i < 20; ++i) run_fast(c, o);
  };
  std::thread other([&] { repeat(second); });
  repeat(first);
  other.join();
  EXPECT_EQ(std::memcmp(first.result.data(), second.result.data(), first.result.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace reprise::kernels::convolution_tests
