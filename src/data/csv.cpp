// SPDX-License-Identifier: Apache-2.0
// Tables: a line is a sample, its columns numbers and one y. Fields may be quoted as in RFC 4180; the separator is a
// comma, a semicolon or a tab, whichever the first line has most of.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/formats.h"

namespace reprise::data {
namespace {

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

// Hands out the lines of a table as fields.
class Lines {
 public:
  Lines(const std::string& path, std::string_view text) : path_(path), text_(text) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    std::string_view first = text_.substr(at_, text_.find('\n') - at_);
    std::ptrdiff_t most = 0;
    for (char c : {',', ';', '\t'})
      if (auto n = std::ranges::count(first, c); n > most) most = n, separator_ = c;
  }

  std::int64_t number() const { return number_; }  // of the line read last, from 1

  /// The fields of the next line that is not empty; false at the end.
  bool next(std::vector<std::string_view>& fields) {
    fields.clear();
    while (at_ < text_.size()) {
      number_ = next_number_++;
      fields.clear();
      while (!take_field(fields)) {
      }
      if (fields.size() > 1 || !fields[0].empty()) return true;
    }
    return false;
  }

 private:
  // Whether it was the line's last.
  bool take_field(std::vector<std::string_view>& fields) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ < text_.size() && text_[at_] == '"')
      fields.push_back(quoted());
    else
      fields.push_back(trimmed(until_separator()));
    if (at_ >= text_.size()) return true;
    return text_[at_++] == '\n';
  }
  std::string_view until_separator() {
    std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != separator_ && text_[at_] != '\n') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  // Doubled quotes stay doubled until the field becomes the name of a class.
  std::string_view quoted() {
    std::size_t begin = ++at_;
    while (at_ < text_.size() && (text_[at_] != '"' || text_.substr(at_, 2) == "\"\"")) {
      if (text_[at_] == '\n') ++next_number_;
      at_ += text_[at_] == '"' ? 2 : 1;
    }
    if (at_ >= text_.size()) fail("[data] '{}', line {}: a quote that opens never closes", path_, number_);
    std::string_view inside = text_.substr(begin, at_++ - begin);
    if (!trimmed(until_separator()).empty())
      fail("[data] '{}', line {}: text follows the closing quote of '{}': double the quotes within a field", path_,
           number_, shown(inside));
    return inside;
  }

  const std::string& path_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t number_ = 0, next_number_ = 1;
  char separator_ = ',';
};

// Anything that reads as a number, NaN and infinities too.
std::optional<double> number(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  double value = 0;
  auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error == std::errc::result_out_of_range) value = INFINITY;
  if (field.empty() || error == std::errc::invalid_argument || rest != field.data() + field.size()) return {};
  return value;
}

std::optional<std::int64_t> whole(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  std::int64_t value = 0;
  auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || rest != field.data() + field.size()) return {};
  return value;
}

bool names_y(std::string_view field) {
  std::string name(field);
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name == "label" || name == "target" || name == "class" || name == "y";
}

struct Table {
  std::vector<std::string> names;  // of the columns; empty without a header
  std::size_t columns = 0, y = 0;  // y: which of them
  std::vector<float> x;
  std::vector<std::string_view> wanted;  // the fields of y
  std::vector<std::int64_t> lines;

  std::string column(std::size_t c) const {
    return names.empty() ? fmt::format("column {}", c + 1) : fmt::format("column {} ({})", c + 1, shown(names[c]));
  }
};

float finite(const std::string& path, std::int64_t line, std::string_view field, const std::string& column) {
  auto value = number(field);
  if (!value)
    fail("[data] '{}', line {}, {}: '{}' is not a number: leave the line out or put a number there", path, line, column,
         shown(field));
  if (!std::isfinite(static_cast<float>(*value)))
    fail("[data] '{}', line {}, {}: '{}' is not a finite number: leave the line out or put another there", path, line,
         column, shown(field));
  return static_cast<float>(*value);
}

// Without names, a line of the first kind: all but the last field are numbers.
void begin(const std::string& path, const std::vector<std::string_view>& first, Table& table) {
  table.columns = first.size();
  if (first.size() < 2)
    fail("[data] '{}', line 1: a table needs two columns or more, separated by commas: numbers and what to learn",
         path);
  table.y = first.size() - 1;
  if (std::all_of(first.begin(), first.end() - 1, [](std::string_view f) { return number(f).has_value(); })) return;
  table.names.assign(first.begin(), first.end());
  for (std::size_t c = 0; c < first.size(); ++c)
    if (names_y(first[c])) table.y = c;
}

void add(const std::string& path, std::int64_t line, const std::vector<std::string_view>& fields, Table& table) {
  if (fields.size() != table.columns)
    fail("[data] '{}', line {}: {} fields where the first line has {}", path, line, fields.size(), table.columns);
  for (std::size_t c = 0; c < fields.size(); ++c)
    if (c != table.y) table.x.push_back(finite(path, line, fields[c], table.column(c)));
  if (fields[table.y].empty())
    fail("[data] '{}', line {}, {}: there is nothing to learn: leave the line out", path, line, table.column(table.y));
  table.wanted.push_back(fields[table.y]);
  table.lines.push_back(line);
}

Table read_table(const std::string& path, std::string_view text) {
  Table table;
  Lines lines(path, text);
  std::vector<std::string_view> fields;
  if (!lines.next(fields)) fail("[data] '{}' is empty: a table has a line for each sample", path);
  begin(path, fields, table);
  if (table.names.empty()) add(path, lines.number(), fields, table);
  while (lines.next(fields)) add(path, lines.number(), fields, table);
  if (table.wanted.empty()) fail("[data] '{}' has a header and no samples", path);
  return table;
}

std::string unquoted(std::string_view field) {
  std::string name(field);
  for (std::size_t at = 0; (at = name.find("\"\"", at)) != std::string::npos; ++at) name.erase(at, 1);
  return name;
}

// Whole numbers by value, texts by their bytes.
struct ClassOrder {
  bool by_value;
  bool operator()(std::string_view a, std::string_view b) const { return by_value ? *whole(a) < *whole(b) : a < b; }
};

std::vector<std::string_view> classes_of(const std::string& path, const Table& table, ClassOrder less) {
  std::vector<std::string_view> all = table.wanted;
  std::ranges::sort(all, less);
  auto same = [&](std::string_view a, std::string_view b) { return !less(a, b) && !less(b, a); };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  if (static_cast<std::int64_t>(all.size()) > most_classes)
    fail("[data] '{}', {}: {} different classes: to learn whole numbers as quantities, write one of them as 3.0", path,
         table.column(table.y), all.size());
  return all;
}

Tensor class_numbers(const Table& table, const std::vector<std::string_view>& classes, ClassOrder less) {
  Tensor y = Tensor::empty({DType::i64, {static_cast<std::int64_t>(table.wanted.size())}});
  for (std::size_t i = 0; i < table.wanted.size(); ++i)
    y.span<std::int64_t>()[i] = std::ranges::lower_bound(classes, table.wanted[i], less) - classes.begin();
  return y;
}

Tensor quantities(const std::string& path, const Table& table) {
  Tensor y = Tensor::empty({DType::f32, {static_cast<std::int64_t>(table.wanted.size())}});
  for (std::size_t i = 0; i < table.wanted.size(); ++i)
    y.span<float>()[i] = finite(path, table.lines[i], table.wanted[i], table.column(table.y));
  return y;
}

}  // namespace

Dataset load_csv(const std::string& path, const LoadOptions& options) {
  std::string text = read_file(path);
  Table table = read_table(path, text);
  auto rows = static_cast<std::int64_t>(table.wanted.size()), columns = static_cast<std::int64_t>(table.columns - 1);
  Tensor x = Tensor::from(table.x, {rows, columns});
  bool are_numbers = std::ranges::all_of(table.wanted, [](std::string_view f) { return number(f).has_value(); });
  bool are_whole = std::ranges::all_of(table.wanted, [](std::string_view f) { return whole(f).has_value(); });
  if (are_numbers && !are_whole) return shaped(from_tensors(path, x, quantities(path, table)), options.x_shape);
  ClassOrder order{are_whole};
  std::vector<std::string_view> classes = classes_of(path, table, order);
  std::vector<std::string> names;
  for (std::string_view c : classes) names.push_back(unquoted(c));
  return shaped(from_tensors(path, x, class_numbers(table, classes, order), names), options.x_shape);
}

}  // namespace reprise::data
