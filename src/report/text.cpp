// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace reprise::report {
namespace {

constexpr char32_t replacement = 0xFFFD;

// Length of the sequence a byte begins, 0 where none does (overlong C0 and C1 included).
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_character(char32_t c, std::size_t length) {
  bool is_overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  return !is_overlong && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
}

// Takes one character off the text; whatever is no UTF-8 is taken byte by byte.
char32_t next_character(std::string_view& text) {
  std::size_t length = sequence_length(static_cast<unsigned char>(text[0]));
  bool is_valid = length > 0 && length <= text.size();
  char32_t c =
      length == 1 ? static_cast<unsigned char>(text[0]) : static_cast<unsigned char>(text[0]) & (0xFFu >> (length + 1));
  for (std::size_t i = 1; is_valid && i < length; ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    is_valid = (byte & 0xC0) == 0x80;
    c = c << 6 | (byte & 0x3Fu);
  }
  is_valid = is_valid && is_character(c, length);
  text.remove_prefix(is_valid ? length : 1);
  return is_valid ? c : replacement;
}

void append_utf8(std::string& out, char32_t c) {
  auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
  if (c < 0x10000) return put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
  put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
}

void append_escaped(std::string& out, char32_t c) {
  bool is_forbidden = (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF;
  switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\'': out += "&#39;"; break;
    default: append_utf8(out, is_forbidden ? replacement : c);
  }
}

void append_json(std::string& out, char32_t c) {
  bool is_plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  if (is_plain) {
    out += static_cast<char>(c);
  } else if (c < 0x10000) {
    out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
  } else {
    auto rest = static_cast<std::uint32_t>(c) - 0x10000;
    out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) append_escaped(out, next_character(text));
  return out;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) append_json(out, next_character(text));
  return out + "\"";
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  std::vector<char32_t> characters;
  while (!text.empty()) characters.push_back(next_character(text));
  std::string out;
  std::size_t count = characters.size(), head = (most - 1) * 2 / 3, tail = most - 1 - head;
  for (std::size_t i = 0; i < count; ++i) {
    if (count > most && i == head) append_utf8(out, U'…');
    if (count <= most || i < head || i >= count - tail) append_utf8(out, characters[i]);
  }
  return out;
}

std::string percent(double share) {
  double value = 100 * share;
  if (value == 0) return "0 %";
  int decimals = std::abs(value) >= 9.95 ? 1 : std::abs(value) >= 0.995 ? 2 : std::abs(value) >= 0.0095 ? 3 : 5;
  return fmt::format("{:.{}f} %", value, decimals);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush())
    fail("[report] cannot write '{}': check the folder, its permissions and the space there", path);
}

}  // namespace reprise::report
