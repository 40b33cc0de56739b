// SPDX-License-Identifier: Apache-2.0
// Byte sizes: reading and printing them.
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "reprise/base.h"

namespace reprise {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array units = {
    Unit{"", 1},         Unit{"b", 1},      Unit{"k", 0x1p10},   Unit{"kb", 1e3},     Unit{"kib", 0x1p10},
    Unit{"m", 0x1p20},   Unit{"mb", 1e6},   Unit{"mib", 0x1p20}, Unit{"g", 0x1p30},   Unit{"gb", 1e9},
    Unit{"gib", 0x1p30}, Unit{"t", 0x1p40}, Unit{"tb", 1e12},    Unit{"tib", 0x1p40},
};

std::string trimmed_lower(std::string_view text) {
  std::string lower;
  for (char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto first = lower.find_first_not_of(" \t");
  auto last = lower.find_last_not_of(" \t");
  return first == std::string::npos ? "" : lower.substr(first, last - first + 1);
}

[[noreturn]] void reject(std::string_view text) {
  fail("'{}' is not a size: write a number and a unit, such as 512MiB, 2GB or 4096", text);
}

struct Quantity {
  double number;
  std::string unit;
  std::int64_t whole;  // the number itself where it has no fraction, else -1: doubles lose bytes past 2^53
};

Quantity split(std::string_view text) {
  std::string lower = trimmed_lower(text);
  Quantity q{};
  const char* end = lower.data() + lower.size();
  auto [rest, error] = std::from_chars(lower.data(), end, q.number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(q.number) || q.number < 0 || lower[0] == '-') reject(text);
  auto [whole_rest, whole_error] = std::from_chars(lower.data(), end, q.whole);
  if (whole_error != std::errc() || whole_rest != rest) q.whole = -1;
  q.unit = trimmed_lower({rest, static_cast<std::size_t>(end - rest)});
  return q;
}

std::int64_t in_range(double bytes, std::string_view text) {
  if (bytes >= 0x1p63) fail("'{}' is too large: sizes end at 8 EiB", text);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

std::int64_t parse_bytes(std::string_view text) {
  Quantity q = split(text);
  for (const Unit& unit : units) {
    if (unit.name != q.unit) continue;
    if (unit.bytes == 1 && q.whole >= 0) return q.whole;
    return in_range(q.number * unit.bytes, text);
  }
  reject(text);
}

std::int64_t parse_bytes(std::string_view text, std::int64_t whole) {
  if (text.find('%') == std::string_view::npos) return parse_bytes(text);
  Quantity q = split(text);
  if (q.unit != "%") reject(text);
  return in_range(std::floor(q.number / 100 * static_cast<double>(whole)), text);
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array names = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double scaled = static_cast<double>(bytes);
  if (std::abs(scaled) < 1024) return fmt::format("{} B", bytes);
  std::size_t i = 0;
  for (scaled /= 1024; std::abs(scaled) >= 1023.95 && i + 1 < names.size(); ++i) scaled /= 1024;
  return fmt::format("{:.1f} {}", scaled, names[i]);
}

std::string_view version() { return REPRISE_VERSION; }

}  // namespace reprise
