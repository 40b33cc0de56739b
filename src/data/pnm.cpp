// SPDX-License-Identifier: Apache-2.0
// PGM and PPM: "P2", "P3", "P5" or "P6", then width, height and the largest level as words, then the levels as words
// (P2, P3) or, after one blank, as bytes or pairs of bytes (P5, P6).
#include <cctype>

#include "base/error.h"
#include "data/image.h"

namespace reprise::data {
namespace {

class Reader {
 public:
  Reader(const std::string& path, std::string_view file) : path_(path), file_(file) {}

  std::size_t at() const { return at_; }
  std::string_view rest() const { return file_.substr(at_); }
  void skip_one() { at_ = std::min(at_ + 1, file_.size()); }

  // A number of at most five or so digits, after blanks and comments.
  std::int64_t number(std::int64_t least, std::int64_t most, const char* what) {
    skip_blanks();
    std::size_t begin = at_;
    std::int64_t value = 0;
    while (at_ < file_.size() && std::isdigit(static_cast<unsigned char>(file_[at_])) && value <= most)
      value = 10 * value + (file_[at_++] - '0');
    if (begin == at_) fail("[data] '{}', byte {}: a number is missing there, the {}", path_, begin, what);
    if (value < least || value > most)
      fail("[data] '{}', byte {}: {} of {}: it must be from {} to {}", path_, begin, what, value, least, most);
    return value;
  }

 private:
  void skip_blanks() {
    bool in_comment = false;
    for (; at_ < file_.size(); ++at_) {
      char c = file_[at_];
      if (c == '#') in_comment = true;
      if (in_comment ? c == '\n' : false) in_comment = false;
      if (!in_comment && !std::isspace(static_cast<unsigned char>(c))) return;
    }
  }

  const std::string& path_;
  std::string_view file_;
  std::size_t at_ = 2;
};

struct Header {
  ImageSize size;
  bool is_binary;
  std::int64_t levels;  // the largest one
};

Header header_of(const std::string& path, std::string_view file, Reader& reader) {
  if (file.size() < 3 || file[0] != 'P' || std::string_view("2356").find(file[1]) == std::string_view::npos)
    fail("[data] '{}', byte 0: a PGM or PPM begins with P2, P3, P5 or P6", path);
  Header header{.size = {.channels = file[1] == '3' || file[1] == '6' ? 3 : 1}, .is_binary = file[1] >= '5'};
  header.size.width = reader.number(1, most_pixels, "width");
  header.size.height = reader.number(1, most_pixels, "height");
  header.levels = reader.number(1, 65535, "largest level");
  if (header.size.height * header.size.width > most_pixels)
    fail("[data] '{}': {}x{} pixels are more than the {} that can be read", path, header.size.width, header.size.height,
         most_pixels);
  return header;
}

}  // namespace

ImageSize pnm_size(const std::string& path, std::string_view beginning, std::int64_t file_bytes) {
  Reader reader(path, beginning);
  ImageSize size = header_of(path, beginning, reader).size;
  if (size.elements() > file_bytes)
    fail("[data] '{}': {} levels are promised, but it has {} bytes: the file is damaged", path, size.elements(),
         file_bytes);
  return size;
}

Image decode_pnm(const std::string& path, std::string_view file) {
  Reader reader(path, file);
  Header header = header_of(path, file, reader);
  if (header.is_binary) reader.skip_one();
  // A level takes at least a byte, or a digit and the blank before it.
  std::int64_t wide = header.levels > 255 ? 2 : 1, count = header.size.elements();
  auto there = static_cast<std::int64_t>(reader.rest().size());
  if (there < (header.is_binary ? count * wide : 2 * count))
    fail("[data] '{}', byte {}: {} levels are promised, but {} bytes follow: the file is damaged", path, reader.at(),
         count, there);
  Image image{header.size, std::vector<float>(static_cast<std::size_t>(count))};
  const auto* bytes = reinterpret_cast<const unsigned char*>(reader.rest().data());
  std::int64_t area = header.size.height * header.size.width;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t level = !header.is_binary ? reader.number(0, header.levels, "level")
                         : wide == 1       ? bytes[i]
                                           : bytes[2 * i] << 8 | bytes[2 * i + 1];
    if (level > header.levels)
      fail("[data] '{}': level {} of pixel {} is past the largest, {}", path, level, i / header.size.channels,
           header.levels);
    auto to = static_cast<std::size_t>(i % header.size.channels * area + i / header.size.channels);
    image.pixels[to] = static_cast<float>(level) / static_cast<float>(header.levels);
  }
  return image;
}

}  // namespace reprise::data
