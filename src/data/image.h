// SPDX-License-Identifier: Apache-2.0
// Pictures in memory: grey or red, green and blue, from 0 to 1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::data {

struct ImageSize {
  std::int64_t channels = 0, height = 0, width = 0;  // 1 or 3 channels
  std::int64_t elements() const { return channels * height * width; }
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

struct Image {
  ImageSize size;
  std::vector<float> pixels;  // [channels, height, width]
};

/// Pixels that a picture may have; more is taken for a damaged file.
constexpr std::int64_t most_pixels = std::int64_t{1} << 26;

/// What a file's beginning says, a few hundred bytes of it; throws Error where it is no such picture, or promises more
/// than fits the bytes of the whole file.
ImageSize png_size(const std::string& path, std::string_view beginning, std::int64_t file_bytes);
ImageSize pnm_size(const std::string& path, std::string_view beginning, std::int64_t file_bytes);
/// The whole picture. Transparency is ignored.
Image decode_png(const std::string& path, std::string_view file);
Image decode_pnm(const std::string& path, std::string_view file);

/// Writes the picture in another size: grey from colours by their brightness, colours from grey as equal parts;
/// averaged over the pixels that fall together where it shrinks, interpolated linearly where it grows.
void fit(const ImageSize& size, const float* pixels, const ImageSize& wanted, float* out);

}  // namespace reprise::data
