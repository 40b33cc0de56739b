// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: two zero bytes, a byte for the element type, one for the number of dimensions, the sizes as
// big-endian 32-bit numbers, then the elements, big-endian too.
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "data/formats.h"

namespace reprise::data {
namespace {

struct Element {
  unsigned char code;
  std::size_t bytes;
};
constexpr Element elements[] = {{0x08, 1}, {0x09, 1}, {0x0b, 2}, {0x0c, 4}, {0x0d, 4}, {0x0e, 8}};
constexpr unsigned char u8 = 0x08, i8 = 0x09, i16 = 0x0b, i32 = 0x0c, f32 = 0x0d;

struct Idx {
  std::string path, file;
  Element element;
  Shape shape;
  std::size_t header = 0;  // bytes before the elements

  bool is_whole() const { return element.code <= i32; }
  std::size_t offset(std::int64_t i) const { return header + static_cast<std::size_t>(i) * element.bytes; }

  double operator[](std::int64_t i) const {
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < element.bytes; ++k) bits = bits << 8 | static_cast<unsigned char>(file[offset(i) + k]);
    switch (element.code) {
      case u8: return static_cast<double>(bits);
      case i8: return static_cast<std::int8_t>(bits);
      case i16: return static_cast<std::int16_t>(bits);
      case i32: return static_cast<std::int32_t>(bits);
      case f32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      default: return std::bit_cast<double>(bits);
    }
  }
};

Idx open(const std::string& path) {
  Idx idx{.path = path, .file = read_file(path)};
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(idx.file[i]); };
  if (idx.file.size() < 4 || byte(0) != 0 || byte(1) != 0)
    fail("[data] '{}', byte 0: an IDX file begins with two zero bytes, a type and a number of dimensions", path);
  for (const Element& e : elements)
    if (e.code == byte(2)) idx.element = e;
  if (idx.element.bytes == 0) fail("[data] '{}', byte 2: 0x{:02x} is no element type of IDX", path, byte(2));
  if (byte(3) < 1 || byte(3) > 8) fail("[data] '{}', byte 3: {} dimensions: there must be 1 to 8", path, byte(3));
  idx.header = 4 + 4 * std::size_t{byte(3)};
  if (idx.file.size() < idx.header) fail("[data] '{}', byte {}: it ends within the sizes", path, idx.file.size());
  std::size_t bytes = idx.element.bytes;
  bool is_too_large = false;
  for (std::size_t at = 4; at < idx.header; at += 4) {
    std::uint32_t size = 0;
    for (std::size_t k = 0; k < 4; ++k) size = size << 8 | byte(at + k);
    if (size == 0) fail("[data] '{}', byte {}: a dimension of size 0 leaves no samples", path, at);
    is_too_large |= __builtin_mul_overflow(bytes, std::size_t{size}, &bytes);
    idx.shape.push_back(size);
  }
  std::size_t there = idx.file.size() - idx.header;
  if (is_too_large || bytes != there)
    fail("[data] '{}', byte {}: elements of {} are promised, but {} bytes follow: the file is damaged", path,
         idx.header, to_string(idx.shape), there);
  return idx;
}

// "train-images-idx3-ubyte.gz" to "train-labels-idx1-ubyte"; empty if the name is not of that form.
std::string labels_name(std::string name) {
  std::size_t images = name.rfind("images");
  if (images == std::string::npos) return {};
  name.replace(images, 6, "labels");
  if (std::size_t rank = name.find("idx", images); rank != std::string::npos && rank + 3 < name.size())
    if (std::isdigit(static_cast<unsigned char>(name[rank + 3]))) name[rank + 3] = '1';
  return name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
}

struct Pair {
  std::string samples, labels;
};

Pair pair_of(const std::string& path) {
  std::size_t comma = path.find(',');
  if (comma != std::string::npos && !std::filesystem::exists(path))
    return {path.substr(0, comma), path.substr(comma + 1)};
  std::filesystem::path whole(path);
  std::string name = labels_name(whole.filename().string());
  if (name.empty())
    fail("[data] '{}' has no 'images' in its name, so its labels cannot be found: give both files as IMAGES,LABELS",
         path);
  for (const char* ending : {"", ".gz"})
    if (auto labels = whole.parent_path() / (name + ending); std::filesystem::exists(labels))
      return {path, labels.string()};
  fail(
      "[data] '{}' has no labels beside it: '{}' or the same with .gz must be there, or give both files as "
      "IMAGES,LABELS",
      path, name);
}

void expect_finite(const Idx& labels) {
  for (std::int64_t i = 0; i < labels.shape[0]; ++i)
    if (!std::isfinite(static_cast<float>(labels[i])))
      fail("[data] '{}', byte {}: {} is not a number to learn", labels.path, labels.offset(i), labels[i]);
}

std::int64_t class_count(const Idx& labels) {
  double most = 0;
  for (std::int64_t i = 0; i < labels.shape[0]; ++i) {
    if (labels[i] < 0 || labels[i] >= static_cast<double>(most_classes))
      fail("[data] '{}', byte {}: label {} of sample {} is out of range: classes are numbered from 0 to {}",
           labels.path, labels.offset(i), labels[i], i, most_classes - 1);
    most = std::max(most, labels[i]);
  }
  return static_cast<std::int64_t>(most) + 1;
}

// Bytes are grey levels; the others are taken as they are.
void copy_sample(const Idx& samples, std::int64_t i, std::int64_t count, float* to) {
  bool is_grey = samples.element.code == u8;
  for (std::int64_t k = 0; k < count; ++k) {
    double value = samples[i * count + k];
    to[k] = static_cast<float>(is_grey ? value / 255 : value);
    if (!std::isfinite(to[k]))
      fail("[data] '{}', byte {}: {} is not a finite number", samples.path, samples.offset(i * count + k), value);
  }
}

}  // namespace

Dataset load_idx(const std::string& path, const LoadOptions& options) {
  Pair names = pair_of(path);
  auto samples = std::make_shared<const Idx>(open(names.samples)),
       labels = std::make_shared<const Idx>(open(names.labels));
  if (labels->shape.rank() != 1)
    fail("[data] '{}' holds {}: labels have one dimension", names.labels, to_string(labels->shape));
  if (labels->shape[0] != samples->shape[0])
    fail("[data] '{}' has {} samples, but '{}' {} labels: they belong to different sets", names.samples,
         samples->shape[0], names.labels, labels->shape[0]);
  Dataset data{.name = path, .size = samples->shape[0]};
  data.bytes = static_cast<std::int64_t>(samples->file.size() + labels->file.size());
  if (samples->shape.rank() == 3) data.x.shape.push_back(1);  // images of one channel
  for (int axis = 1; axis < samples->shape.rank(); ++axis) data.x.shape.push_back(samples->shape[axis]);
  bool is_class = labels->is_whole();
  if (is_class) {
    data.y = {DType::i64, {}};
    data.classes = numbered_classes(class_count(*labels));
  } else {
    expect_finite(*labels);
  }
  data.read = [=, count = data.x.elements()](std::int64_t i, void* x, void* y) {
    copy_sample(*samples, i, count, static_cast<float*>(x));
    if (is_class)
      *static_cast<std::int64_t*>(y) = static_cast<std::int64_t>((*labels)[i]);
    else
      *static_cast<float*>(y) = static_cast<float>((*labels)[i]);
  };
  return shaped(std::move(data), options.x_shape);
}

}  // namespace reprise::data
