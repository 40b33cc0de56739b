// SPDX-License-Identifier: Apache-2.0
// Finds out what a file is, and what all formats have in common.
#include "reprise/data.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "data/formats.h"
#include "data/image.h"

namespace reprise::data {
namespace {

struct Format {
  std::string_view kind;
  Dataset (*load)(const std::string& path, const LoadOptions& options);
};
constexpr Format formats[] = {
    {"text", load_text}, {"idx", load_idx}, {"csv", load_csv}, {"npz", load_npz}, {"images", load_images}};

std::string_view kind_by_name(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  auto ends_with_one = [&](std::initializer_list<std::string_view> endings) {
    return std::ranges::any_of(endings, [&](std::string_view e) { return name.ends_with(e); });
  };
  if (ends_with_one({".csv", ".tsv"})) return "csv";
  if (ends_with_one({".txt", ".text", ".md"})) return "text";
  if (ends_with_one({".npz", ".npy"})) return "npz";
  if (ends_with_one({".idx", "-ubyte"})) return "idx";
  return {};
}

std::string_view kind_by_content(const std::string& path) {
  std::string beginning = read_beginning(path, 8);
  if (beginning.starts_with(std::string_view("\0\0", 2))) return "idx";
  if (beginning.starts_with("PK") || beginning.starts_with("\x93NUMPY")) return "npz";
  return "text";
}

std::string_view kind_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) return "images";
  std::string_view kind = kind_by_name(path);
  if (!kind.empty()) return kind;
  std::size_t comma = path.find(',');
  if (comma != std::string::npos && !std::filesystem::exists(path)) return kind_of(path.substr(0, comma));
  return kind_by_content(path);
}

// Sample numbers are the caller's.
Dataset guarded(Dataset data) {
  data.read = [read = std::move(data.read), size = data.size, name = data.name](std::int64_t i, void* x, void* y) {
    if (i < 0 || i >= size) fail("[data] {} has samples 0 to {}, not {}", name, size - 1, i);
    read(i, x, y);
  };
  return data;
}

void expect_labels_below(const std::string& name, const Tensor& y, std::int64_t count) {
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    std::int64_t label = y.span<std::int64_t>()[static_cast<std::size_t>(i)];
    if (label < 0 || label >= count)
      fail("[data] {}: label {} of sample {} is out of range: classes are numbered from 0 to {}", name, label, i,
           count - 1);
  }
}

Type sample_type(const Tensor& all) {
  Type type{all.dtype(), {}};
  for (int axis = 1; axis < all.shape().rank(); ++axis) type.shape.push_back(all.shape()[axis]);
  return type;
}

bool is_picture(const Shape& shape) { return shape.rank() == 3 && (shape[0] == 1 || shape[0] == 3); }

}  // namespace

std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

Shape checked_shape(const std::vector<std::int64_t>& sizes) {
  std::int64_t elements = 1;
  bool is_wrong = sizes.size() > 8;
  for (std::int64_t size : sizes) is_wrong |= size < 1 || __builtin_mul_overflow(elements, size, &elements);
  if (is_wrong || elements > std::int64_t{1} << 40)
    fail("[data] a shape of {} sizes, {} elements: it must have at most 8 sizes, all positive", sizes.size(), elements);
  return Shape(sizes);
}

Dataset shaped(Dataset data, const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return data;
  Shape shape = checked_shape(wanted);
  if (shape.elements() == data.x.elements()) {
    data.x.shape = shape;
    return data;
  }
  const Shape& own = data.x.shape;
  if (data.x.dtype != DType::f32 || !is_picture(own) || !is_picture(shape))
    fail(
        "[data] {} has samples of {}, which cannot become {}: only pictures, 1 or 3 channels, height, width, are "
        "resized",
        data.name, to_string(data.x), to_string(shape));
  ImageSize from{own[0], own[1], own[2]}, to{shape[0], shape[1], shape[2]};
  data.bytes += 8 * from.elements();
  data.x.shape = shape;
  data.read = [read = std::move(data.read), from, to](std::int64_t i, void* x, void* y) {
    std::vector<float> pixels(static_cast<std::size_t>(from.elements()));
    read(i, pixels.data(), y);
    fit(from, pixels.data(), to, static_cast<float*>(x));
  };
  return data;
}

Dataset from_tensors(std::string name, Tensor x, Tensor y, std::vector<std::string> classes) {
  if (x.shape().rank() < 1 || y.shape().rank() < 1 || x.shape()[0] != y.shape()[0])
    fail("[data] {}: x is {} and y {}: the first dimension of both is the number of samples", name, to_string(x.type()),
         to_string(y.type()));
  if (x.shape()[0] < 1) fail("[data] {}: there are no samples", name);
  bool is_class = !is_float(y.dtype()) && y.shape().rank() == 1;
  if (is_class) {
    y = y.to(DType::i64);
    auto most = static_cast<std::int64_t>(classes.size());
    expect_labels_below(name, y, most > 0 ? most : most_classes);
    if (most == 0) classes = numbered_classes(1 + std::ranges::max(y.span<std::int64_t>()));
  }
  Dataset data{std::move(name), x.shape()[0], sample_type(x), sample_type(y), std::move(classes)};
  data.bytes = x.bytes() + y.bytes();
  data.read = [x, y, x_bytes = data.x.bytes(), y_bytes = data.y.bytes()](std::int64_t i, void* to_x, void* to_y) {
    std::memcpy(to_x, static_cast<const std::byte*>(x.data()) + i * x_bytes, static_cast<std::size_t>(x_bytes));
    std::memcpy(to_y, static_cast<const std::byte*>(y.data()) + i * y_bytes, static_cast<std::size_t>(y_bytes));
  };
  return guarded(std::move(data));
}

Dataset load(const std::string& path, const LoadOptions& options) {
  std::string kind = options.kind.empty() ? std::string(kind_of(path)) : options.kind;
  std::string known;
  for (const Format& format : formats) {
    if (format.kind == kind) return guarded(format.load(path, options));
    known += (known.empty() ? "" : ", ") + std::string(format.kind);
  }
  fail("[data] '{}': there is no format '{}': choose from {}", path, kind, known);
}

}  // namespace reprise::data
