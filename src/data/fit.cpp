// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "data/image.h"

namespace reprise::data {
namespace {

// out[i] is the sum of weights[k] * in[first + k].
struct Taps {
  std::int64_t first;
  std::vector<float> weights;
};

// A triangle around each output's centre, as wide as an input pixel or, where the axis shrinks, as an output pixel.
std::vector<Taps> taps(std::int64_t from, std::int64_t to) {
  double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(1.0, scale);
  std::vector<Taps> all;
  for (std::int64_t i = 0; i < to; ++i) {
    double centre = (static_cast<double>(i) + 0.5) * scale - 0.5, sum = 0;
    auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(centre - reach)), 0, from - 1);
    auto last = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(centre + reach)), 0, from - 1);
    std::vector<double> weights;
    for (std::int64_t k = first; k <= last; ++k) {
      weights.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(k) - centre) / reach));
      sum += weights.back();
    }
    Taps& row = all.emplace_back(Taps{first, {}});
    for (double w : weights) row.weights.push_back(static_cast<float>(w / sum));
  }
  return all;
}

// One channel of `height` rows of `width`, to `wanted` of both; `rows` holds wanted.width * height numbers.
void fit_channel(const float* in, std::int64_t height, std::int64_t width, const std::vector<Taps>& down,
                 const std::vector<Taps>& across, float* rows, float* out) {
  auto wide = static_cast<std::int64_t>(across.size());
  for (std::int64_t r = 0; r < height; ++r)
    for (std::int64_t c = 0; c < wide; ++c) {
      const Taps& t = across[static_cast<std::size_t>(c)];
      float sum = 0;
      for (std::size_t k = 0; k < t.weights.size(); ++k)
        sum += t.weights[k] * in[r * width + t.first + static_cast<std::int64_t>(k)];
      rows[r * wide + c] = sum;
    }
  for (const Taps& t : down) {
    std::fill_n(out, wide, 0.0f);
    for (std::size_t k = 0; k < t.weights.size(); ++k) {
      const float* row = rows + (t.first + static_cast<std::int64_t>(k)) * wide;
      for (std::int64_t c = 0; c < wide; ++c) out[c] += t.weights[k] * row[c];
    }
    out += wide;
  }
}

// Brightness as ITU-R BT.601 weighs the colours.
std::vector<float> grey(const float* rgb, std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = 0.299f * rgb[i] + 0.587f * rgb[count + i] + 0.114f * rgb[2 * count + i];
  return out;
}

}  // namespace

void fit(const ImageSize& size, const float* pixels, const ImageSize& wanted, float* out) {
  std::vector<float> greyed;
  std::int64_t channels = size.channels, area = size.height * size.width, out_area = wanted.height * wanted.width;
  if (channels == 3 && wanted.channels == 1) {
    greyed = grey(pixels, area);
    pixels = greyed.data();
    channels = 1;
  }
  if (size.height == wanted.height && size.width == wanted.width) {
    std::copy_n(pixels, channels * area, out);
  } else {
    std::vector<Taps> down = taps(size.height, wanted.height), across = taps(size.width, wanted.width);
    std::vector<float> rows(static_cast<std::size_t>(size.height * wanted.width));
    for (std::int64_t c = 0; c < channels; ++c)
      fit_channel(pixels + c * area, size.height, size.width, down, across, rows.data(), out + c * out_area);
  }
  for (std::int64_t c = channels; c < wanted.channels; ++c) std::copy_n(out, out_area, out + c * out_area);
}

}  // namespace reprise::data
