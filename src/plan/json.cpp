// SPDX-License-Identifier: Apache-2.0
// Parsing, and the messages of Field.
#include "plan/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/spelling.h"

namespace reprise::plan {
namespace {

constexpr int deepest = 32;  // levels of lists and objects; ours need five

// The library's words without its own name and number: "parse error at line 3, column 5: …".
std::string_view plain_words(std::string_view message) {
  std::size_t end = message.find("] ");
  return end == std::string_view::npos ? message : message.substr(end + 2);
}

}  // namespace

Json parse_json(std::string_view what, std::string_view text) {
  auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest)
      fail("[{}] lists and objects are nested more than {} deep: this is no {}", what, deepest, what);
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), limit_depth);
  } catch (const Json::exception& e) {
    fail("[{}] not JSON: {}", what, plain_words(e.what()));
  }
}

Field Field::at(const char* key) const {
  auto found = json_.find(key);
  if (found == json_.end()) fail("[json] {} has no \"{}\": add it", where_, key);
  return {*found, where_ + '.' + key};
}

Field Field::at(std::size_t index) const { return {json_[index], fmt::format("{}[{}]", where_, index)}; }

void Field::wrong(std::string_view wanted) const {
  std::string found = json_.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 40) found = found.substr(0, 37) + "...";
  fail("[json] {} is {}: give {}", where_, found, wanted);
}

const Field& Field::must_be_object() const {
  if (!json_.is_object()) wrong("an object, {\"key\": value, ...}");
  return *this;
}

const Field& Field::must_be_list() const {
  if (!json_.is_array()) wrong("a list, [...]");
  return *this;
}

std::string Field::text() const {
  if (!json_.is_string()) wrong("a text in quotes");
  return json_.get<std::string>();
}

double Field::number() const {
  if (!json_.is_number()) wrong("a number");
  return json_.get<double>();
}

std::int64_t Field::whole_number() const {
  if (json_.is_number_unsigned() && json_.get<std::uint64_t>() > INT64_MAX) wrong("a whole number below 2^63");
  if (json_.is_number_integer()) return json_.get<std::int64_t>();
  double number = json_.is_number() ? json_.get<double>() : 0.5;
  if (number != std::floor(number) || std::abs(number) > 0x1p53) wrong("a whole number");
  return static_cast<std::int64_t>(number);
}

bool Field::truth() const {
  if (!json_.is_boolean()) wrong("true or false");
  return json_.get<bool>();
}

void Field::check_spelling(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : json_.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (auto meant = nearest(key, known)) {
      fail("[json] {} has an unknown key \"{}\": did you mean \"{}\"?", where_, key, *meant);
    }
  }
}

int find_value(const Problem& problem, std::string_view name) {
  if (int node = problem.find(name); node >= 0) return problem.node(node).first_value;
  std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return -1;
  int node = problem.find(name.substr(0, colon));
  int output = -1;
  const char* end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data() + colon + 1, end, output);
  if (node < 0 || error != std::errc() || rest != end || output < 0 || output >= problem.node(node).value_count)
    return -1;
  return problem.node(node).first_value + output;
}

int value_named(const Problem& problem, const Field& name) {
  int value = find_value(problem, name.text());
  if (value < 0) name.wrong("the name of a node, or \"name:1\" for its second output");
  return value;
}

std::string file_name(const Problem& problem, int value) {
  std::string name = problem.value_name(value);
  if (find_value(problem, name) != value) {
    fail("[json] '{}' names both a node and an output of another: rename the node to write the problem", name);
  }
  return name;
}

std::string dump(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception& e) {
    fail("[json] a name cannot be written: {}", plain_words(e.what()));
  }
}

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) fail("[file] '{}' is a folder: name a file in it", path);
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) fail("[file] cannot read '{}': check the name and its permissions", path);
  if (text.empty()) fail("[file] '{}' is empty", path);
  return text;
}

}  // namespace reprise::plan
