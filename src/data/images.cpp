// SPDX-License-Identifier: Apache-2.0
// Folders of pictures: a folder a class, named after it.
#include <algorithm>
#include <filesystem>

#include "data/formats.h"
#include "data/image.h"

namespace reprise::data {
namespace {

namespace fs = std::filesystem;

struct Picture {
  std::string path;
  std::int64_t label;
};

std::string ending(const fs::path& path) {
  std::string text = path.extension().string();
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

template <std::size_t count>
bool is_one_of(const std::string& word, const std::string_view (&words)[count]) {
  return std::ranges::find(words, word) != std::end(words);
}

bool is_png(const fs::path& path) { return ending(path) == ".png"; }

// In the order of their names, hidden ones left out.
std::vector<fs::path> inside(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (!it->path().filename().string().starts_with('.')) all.push_back(it->path());
  if (failed) fail("[data] folder '{}' cannot be read: {}", folder.string(), failed.message());
  std::ranges::sort(all);
  return all;
}

// Other files may lie beside the pictures; pictures that cannot be read may not: they would be missing in silence.
void add_class(const fs::path& folder, std::int64_t label, std::vector<Picture>& pictures) {
  constexpr std::string_view ours[] = {".png", ".ppm", ".pgm", ".pnm"};
  constexpr std::string_view others[] = {".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"};
  std::size_t before = pictures.size();
  for (const fs::path& file : inside(folder)) {
    if (is_one_of(ending(file), others))
      fail("[data] '{}' cannot be read: convert it to PNG or PPM, or take it away", file.string());
    if (is_one_of(ending(file), ours)) pictures.push_back({file.string(), label});
  }
  if (pictures.size() == before) fail("[data] folder '{}' has no PNG or PPM: a class needs pictures", folder.string());
}

ImageSize size_of(const std::string& path) {
  std::string beginning = read_beginning(path, 1024);
  return (is_png(path) ? png_size : pnm_size)(path, beginning, most_bytes(path));
}

Image decode(const std::string& path) {
  std::string file = read_file(path);
  return is_png(path) ? decode_png(path, file) : decode_pnm(path, file);
}

ImageSize wanted_size(const std::vector<std::int64_t>& wanted) {
  Shape shape = checked_shape(wanted);
  if (shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3))
    fail("[data] pictures cannot become {}: the shape must be channels (1 or 3), height, width", to_string(shape));
  return {shape[0], shape[1], shape[2]};
}

// Of all pictures; in colours if one is.
ImageSize common_size(const std::vector<Picture>& pictures, const std::vector<ImageSize>& sizes) {
  ImageSize common = sizes[0];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].height != common.height || sizes[i].width != common.width)
      fail("[data] '{}' has {}x{} pixels and '{}' {}x{}: name the shape that all are to be resized to",
           pictures[0].path, common.width, common.height, pictures[i].path, sizes[i].width, sizes[i].height);
    common.channels = std::max(common.channels, sizes[i].channels);
  }
  return common;
}

}  // namespace

Dataset load_images(const std::string& path, const LoadOptions& options) {
  Dataset data{.name = path, .y = {DType::i64, {}}};
  auto pictures = std::make_shared<std::vector<Picture>>();
  for (const fs::path& folder : inside(path)) {
    if (!fs::is_directory(folder)) continue;
    add_class(folder, static_cast<std::int64_t>(data.classes.size()), *pictures);
    data.classes.push_back(folder.filename().string());
  }
  if (data.classes.empty())
    fail("[data] folder '{}' has no folders in it: give each class a folder of its pictures", path);
  std::vector<ImageSize> sizes;
  std::int64_t largest = 0;
  for (const Picture& picture : *pictures) {
    sizes.push_back(size_of(picture.path));
    largest = std::max(largest, sizes.back().elements());
    data.bytes += static_cast<std::int64_t>(sizeof(Picture) + picture.path.size());
  }
  ImageSize size = options.x_shape.empty() ? common_size(*pictures, sizes) : wanted_size(options.x_shape);
  data.bytes += 8 * largest;  // a picture as numbers, and about as much for its file, its rows and resizing it
  data.size = static_cast<std::int64_t>(pictures->size());
  data.x = {DType::f32, {size.channels, size.height, size.width}};
  data.read = [pictures, size](std::int64_t i, void* x, void* y) {
    const Picture& picture = (*pictures)[static_cast<std::size_t>(i)];
    Image image = decode(picture.path);
    fit(image.size, image.pixels.data(), size, static_cast<float*>(x));
    *static_cast<std::int64_t*>(y) = picture.label;
  };
  return data;
}

}  // namespace reprise::data
