// SPDX-License-Identifier: Apache-2.0
// Texts: a class is a character, a sample so many characters that follow each other, and y the same one further on.
#include <algorithm>

#include "data/formats.h"

namespace reprise::data {
namespace {

// The code point that begins at `at`, which moves past it; nothing where the bytes are not UTF-8.
std::optional<std::uint32_t> next_code_point(std::string_view s, std::size_t& at) {
  auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  std::uint32_t lead = byte(at);
  unsigned more = lead < 0x80 ? 0 : lead >> 5 == 0b110 ? 1 : lead >> 4 == 0b1110 ? 2 : lead >> 3 == 0b11110 ? 3 : 4;
  if (more == 4) return {};
  std::uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
  for (unsigned k = 1; k <= more; ++k) {
    if (byte(at + k) >> 6 != 0b10) return {};
    point = point << 6 | (byte(at + k) & 0x3f);
  }
  constexpr std::uint32_t least[] = {0, 0x80, 0x800, 0x10000};  // fewer bytes would have done for smaller ones
  bool is_surrogate = point >= 0xd800 && point < 0xe000;
  if (point < least[more] || point > 0x10ffff || is_surrogate) return {};
  at += 1 + more;
  return point;
}

std::string utf8(std::uint32_t point) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | point >> 6), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | point >> 18), tail(12), tail(6), tail(0)};
}

std::vector<std::uint32_t> code_points(const std::string& path, const std::string& bytes) {
  std::vector<std::uint32_t> points;
  std::size_t at = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;  // a byte-order mark is no part of the text
  points.reserve(bytes.size() - at);
  while (at < bytes.size()) {
    auto point = next_code_point(bytes, at);
    auto line = [&] { return 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n'); };
    if (!point)
      fail("[data] '{}', line {}, byte {}: 0x{:02x} is not UTF-8: convert the file, for example with iconv", path,
           line(), at, static_cast<unsigned char>(bytes[at]));
    if (*point == 0) fail("[data] '{}', line {}, byte {}: a zero byte: this is not a text", path, line(), at - 1);
    points.push_back(*point);
  }
  return points;
}

// Class numbers, in one byte each where that is enough.
struct Text {
  std::vector<std::uint8_t> narrow;
  std::vector<std::uint32_t> wide;

  std::int64_t operator[](std::size_t i) const { return narrow.empty() ? wide[i] : narrow[i]; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(narrow.size() + 4 * wide.size()); }
};

std::vector<std::uint32_t> vocabulary_of(const std::vector<std::uint32_t>& points) {
  std::vector<bool> is_used(0x110000);
  for (std::uint32_t p : points) is_used[p] = true;
  std::vector<std::uint32_t> vocabulary;
  for (std::uint32_t p = 0; p < is_used.size(); ++p)
    if (is_used[p]) vocabulary.push_back(p);
  return vocabulary;
}

Text numbered(std::vector<std::uint32_t> points, const std::vector<std::uint32_t>& vocabulary) {
  for (std::uint32_t& p : points)
    p = static_cast<std::uint32_t>(std::ranges::lower_bound(vocabulary, p) - vocabulary.begin());
  if (vocabulary.size() > 256) return {{}, std::move(points)};
  Text text;
  text.narrow.assign(points.begin(), points.end());
  return text;
}

}  // namespace

Dataset load_text(const std::string& path, const LoadOptions& options) {
  std::int64_t context = options.context;
  if (context < 1) fail("[data] a context of {} characters: it must be positive", context);
  std::vector<std::uint32_t> points = code_points(path, read_file(path));
  auto length = static_cast<std::int64_t>(points.size());
  if (length <= context)
    fail(
        "[data] '{}' has {} characters, too few for samples of {} and the one that follows: use a longer text or a "
        "smaller context",
        path, length, context);
  std::vector<std::uint32_t> vocabulary = vocabulary_of(points);
  auto text = std::make_shared<const Text>(numbered(std::move(points), vocabulary));
  Dataset data{.name = path, .size = (length - 1) / context, .is_ordered = true, .bytes = text->bytes()};
  data.x = data.y = {DType::i64, {context}};
  for (std::uint32_t point : vocabulary) data.classes.push_back(utf8(point));
  data.read = [text, context](std::int64_t i, void* x, void* y) {
    for (std::int64_t k = 0; k < context; ++k) {
      auto at = static_cast<std::size_t>(i * context + k);
      static_cast<std::int64_t*>(x)[k] = (*text)[at];
      static_cast<std::int64_t*>(y)[k] = (*text)[at + 1];
    }
  };
  return data;
}

}  // namespace reprise::data
