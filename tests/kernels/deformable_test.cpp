// SPDX-License-Identifier: Apache-2.0
#include "kernels/deformable.h"

#include "kernels/naive_convolution.h"
#include "kernels/random_data.h"

namespace reprise::kernels::deformable_tests {
namespace {

using testing::expect_close;
using testing::RandomData;

// x at a place between elements, zero outside.
double read_at(const std::vector<double>& x, std::int64_t plane, const DeformableSizes& s, double row, double column) {
  double sum = 0;
  for (std::int64_t i = 0; i < s.x[2]; ++i)
    for (std::int64_t j = 0; j < s.x[3]; ++j) {
      double near = std::max(0.0, 1 - std::abs(row - static_cast<double>(i))) *
                    std::max(0.0, 1 - std::abs(column - static_cast<double>(j)));
      sum += near * x[static_cast<std::size_t>((plane * s.x[2] + i) * s.x[3] + j)];
    }
  return sum;
}

double naive_output(const DeformableSizes& s, const std::vector<double>& x, const std::vector<double>& offsets,
                    const std::vector<double>& weight, const std::vector<double>& mask, std::int64_t n, std::int64_t o,
                    std::int64_t p) {
  double sum = 0;
  std::int64_t group = o / (s.y[1] / s.groups), channels = s.x[1] / s.groups;
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t k = 0; k < s.taps(); ++k) {
      std::int64_t channel = group * channels + c, og = channel / (s.x[1] / s.offset_groups);
      std::int64_t place = (n * s.offset_groups + og) * s.taps() + k;
      auto offset = [&](int axis) { return offsets[static_cast<std::size_t>((place * 2 + axis) * s.y_area() + p)]; };
      std::int64_t row = p / s.y[3] * s.strides[0] - s.pads[0] + k / s.weight[3] * s.dilations[0];
      std::int64_t column = p % s.y[3] * s.strides[1] - s.pads[1] + k % s.weight[3] * s.dilations[1];
      sum += read_at(x, n * s.x[1] + channel, s, static_cast<double>(row) + offset(0),
                     static_cast<double>(column) + offset(1)) *
             mask[static_cast<std::size_t>(place * s.y_area() + p)] *
             weight[static_cast<std::size_t>((o * channels + c) * s.taps() + k)];
    }
  return sum;
}

TEST(Deformable, AgreesWithTheNaiveLoopsOnRandomOffsets) {
  RandomData random(13);
  DeformableSizes s{{2, 4, 5, 6}, {6, 2, 3, 2}, {2, 6, 3, 5}, {2, 1}, {1, 2}, {1, 1}, 2, 2};
  std::int64_t places = 2 * s.offset_groups * s.taps() * s.y_area();
  auto x = random.array<double>(s.x.elements()), weight = random.array<double>(s.weight.elements());
  auto offsets = random.array<double>(2 * places, -3, 3), mask = random.array<double>(places);
  std::vector<double> got(static_cast<std::size_t>(s.y.elements())), want,
      scratch(static_cast<std::size_t>(s.unfolded()));
  deformable<double>(s, {x.data(), offsets.data(), weight.data(), mask.data()}, got.data(), scratch.data());
  for (std::int64_t n = 0; n < s.y[0]; ++n)
    for (std::int64_t o = 0; o < s.y[1]; ++o)
      for (std::int64_t p = 0; p < s.y_area(); ++p) want.push_back(naive_output(s, x, offsets, weight, mask, n, o, p));
  expect_close(got, want, 1e-12);
}

TEST(Deformable, WithoutOffsetsIsConvolution) {
  RandomData random(14);
  DeformableSizes s{{2, 3, 6, 5}, {4, 3, 3, 3}, {2, 4, 6, 5}, {1, 1}, {1, 1}, {1, 1}};
  ConvSizes plain{s.x, s.weight, s.y, s.strides, s.dilations, s.pads, s.pads};
  auto x = random.array<float>(s.x.elements()), weight = random.array<float>(s.weight.elements());
  std::vector<float> offsets(static_cast<std::size_t>(2 * 2 * s.taps() * s.y_area()), 0);
  std::vector<float> got(static_cast<std::size_t>(s.y.elements())), want = got,
                                                                    scratch(static_cast<std::size_t>(s.unfolded()));
  deformable<float>(s, {x.data(), offsets.data(), weight.data(), nullptr}, got.data(), scratch.data());
  naive::convolve<float>(ConvPass::forward, plain, x.data(), weight.data(), nullptr, want.data());
  expect_close(got, want, 1e-5);
}

}  // namespace
}  // namespace reprise::kernels::deformable_tests
