// SPDX-License-Identifier: Apache-2.0
// NumPy's arrays: an npz with x and y, or two npy files.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "data/formats.h"
#include "reprise/io.h"

namespace reprise::data {
namespace {

struct Arrays {
  Tensor x, y;
};

const Tensor* first_of(const io::NamedTensors& arrays, const std::string& name, const std::string& otherwise) {
  for (const std::string& wanted : {name, otherwise}) {
    auto found = std::ranges::find(arrays, wanted, [](const auto& a) { return a.first; });
    if (!wanted.empty() && found != arrays.end()) return &found->second;
  }
  return nullptr;
}

Arrays arrays_of(const std::string& path, const std::string& x_name) {
  std::size_t comma = path.find(',');
  if (comma != std::string::npos && !std::filesystem::exists(path))
    return {io::load_npy(path.substr(0, comma)), io::load_npy(path.substr(comma + 1))};
  if (path.ends_with(".npy")) fail("[data] '{}' holds one array: give samples and answers as X.npy,Y.npy", path);
  io::NamedTensors arrays = io::load_npz(path);
  const Tensor *x = first_of(arrays, x_name, "x"), *y = first_of(arrays, x_name.empty() ? "" : "target", "y");
  if (x && y) return {*x, *y};
  std::string names;
  for (const auto& [name, tensor] : arrays) names += (names.empty() ? "" : ", ") + shown(name);
  fail("[data] '{}' must hold arrays 'x' and 'y'{}, but holds {}: numpy.savez(path, x=..., y=...) names them", path,
       x_name.empty() ? "" : ", or '" + shown(x_name) + "' and 'target'", names.empty() ? "nothing" : names);
}

void expect_finite(const std::string& path, const char* name, const Tensor& t) {
  std::span<float> all = t.span<float>();
  auto bad = std::ranges::find_if(all, [](float v) { return !std::isfinite(v); });
  if (bad == all.end()) return;
  std::int64_t a_sample = std::max<std::int64_t>(t.elements() / t.shape()[0], 1);
  fail("[data] '{}': {} of sample {} has a {}: leave it out or put a number there", path, name,
       (bad - all.begin()) / a_sample, *bad);
}

// Small integers of two or three dimensions a sample are taken for grey levels or colours if they are from 0 to 255.
bool are_pictures(const Tensor& x) {
  if (x.dtype() != DType::i32 || x.shape().rank() < 3 || x.shape().rank() > 4) return false;
  return std::ranges::all_of(x.span<std::int32_t>(), [](std::int32_t v) { return v >= 0 && v <= 255; });
}

// From 0 to 1, channels first.
Tensor pictures(const Tensor& levels) {
  Shape shape = levels.shape();
  if (shape.rank() == 3) shape = {shape[0], 1, shape[1], shape[2]};
  auto is_channels = [&](int axis) { return shape[axis] == 1 || shape[axis] == 3; };
  bool comes_last = !is_channels(1) && is_channels(3);
  std::int64_t channels = comes_last ? shape[3] : 1, area = comes_last ? shape[1] * shape[2] : 1;
  if (comes_last) shape = {shape[0], shape[3], shape[1], shape[2]};
  Tensor x = Tensor::empty({DType::f32, shape});
  std::span<std::int32_t> from = levels.span<std::int32_t>();
  for (std::int64_t i = 0; i < x.elements(); ++i) {  // i is sample, channel, place
    std::int64_t sample = i / (channels * area), rest = i % (channels * area);
    auto at = static_cast<std::size_t>(sample * channels * area + rest % area * channels + rest / area);
    x.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(from[at]) / 255;
  }
  return x;
}

}  // namespace

Dataset load_npz(const std::string& path, const LoadOptions& options) {
  auto [x, y] = arrays_of(path, options.x_name);
  if (are_pictures(x)) x = pictures(x);
  if (x.dtype() != DType::i64) x = x.to(DType::f32);
  y = y.to(is_float(y.dtype()) ? DType::f32 : DType::i64);
  Dataset data = from_tensors("'" + path + "'", x, y);
  if (x.dtype() == DType::f32) expect_finite(path, "x", x);
  if (y.dtype() == DType::f32) expect_finite(path, "y", y);
  data.name = path;
  return shaped(std::move(data), options.x_shape);
}

}  // namespace reprise::data
