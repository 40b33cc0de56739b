// SPDX-License-Identifier: Apache-2.0
#include "memory/csv.h"

#include <array>
#include <charconv>
#include <iterator>

#include "base/error.h"

namespace reprise::memory {
namespace {

std::string_view trimmed(std::string_view text) {
  auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0;;) {
    std::size_t end = line.find(',', begin);
    fields.push_back(trimmed(line.substr(begin, end == std::string_view::npos ? end : end - begin)));
    if (end == std::string_view::npos) return fields;
    begin = end + 1;
  }
}

std::int64_t integer(std::string_view field, std::string_view column, int line) {
  std::int64_t value = 0;
  auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc::result_out_of_range) fail("[csv] line {}: {} {} is past 2^63", line, column, field);
  if (error != std::errc() || rest != field.data() + field.size())
    fail("[csv] line {}: {} '{}' is not a whole number", line, column, field);
  return value;
}

enum Column { id, lower, upper, size, alignment, column_count };
constexpr std::array<std::string_view, column_count> column_names = {"id", "lower", "upper", "size", "alignment"};
constexpr std::size_t absent = static_cast<std::size_t>(-1);

struct Header {
  std::array<std::size_t, column_count> position;
  std::size_t width = 0;

  Header(std::string_view line, int number) {
    position.fill(absent);
    std::vector<std::string_view> names = fields(line);
    width = names.size();
    for (std::size_t c = 0; c < column_count; ++c)
      for (std::size_t k = 0; k < names.size(); ++k) {
        if (names[k] != column_names[c]) continue;
        if (position[c] != absent) fail("[csv] line {}: two columns are called '{}'", number, names[k]);
        position[c] = k;
      }
    for (Column c : {id, lower, upper, size})
      if (position[c] == absent)
        fail("[csv] line {}: no column '{}': the first line must name id, lower, upper and size", number,
             column_names[c]);
  }

  Buffer read(std::string_view line, int number) const {
    std::vector<std::string_view> row = fields(line);
    if (row.size() != width) fail("[csv] line {}: {} fields where the header names {}", number, row.size(), width);
    auto value = [&](Column c) { return integer(row[position[c]], column_names[c], number); };
    Buffer b{std::string(row[position[id]]), value(lower), value(upper), value(size)};
    if (b.name.empty()) fail("[csv] line {}: the id is empty", number);
    if (position[alignment] != absent) b.alignment = value(alignment);
    return b;
  }
};

}  // namespace

std::vector<Buffer> read_csv(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // which spreadsheets write
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::optional<Header> header;
  std::vector<Buffer> buffers;
  int number = 0;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (trimmed(line).empty()) continue;
    if (header)
      buffers.push_back(header->read(line, number));
    else
      header.emplace(line, number);
  }
  if (!header) fail("[csv] there is no header: the first line must name id, lower, upper and size");
  return buffers;
}

std::string write_csv(std::span<const Buffer> buffers, const Layout& layout) {
  std::string text = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& b = buffers[i];
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", b.name, b.lower, b.upper, b.size, layout.offsets[i]);
  }
  return text;
}

}  // namespace reprise::memory
