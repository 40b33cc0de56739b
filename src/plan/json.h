// SPDX-License-Identifier: Apache-2.0
// Reading JSON that people wrote: every accessor says where it was, what it found and what it wanted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reprise/plan.h"

namespace reprise::plan {

using Json = nlohmann::ordered_json;

/// Parses the text; throws Error with line and column. Nesting is limited, so that no text exhausts the stack.
Json parse_json(std::string_view what, std::string_view text);

/// One object or element of the text and where it is, such as "nodes[3]".
class Field {
 public:
  Field(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  const Json& json() const { return json_; }
  const std::string& where() const { return where_; }

  bool has(const char* key) const { return json_.contains(key); }
  /// Throws Error when the key is missing.
  Field at(const char* key) const;
  /// Element of a list.
  Field at(std::size_t index) const;
  std::size_t size() const { return json_.size(); }

  const Field& must_be_object() const;
  const Field& must_be_list() const;
  std::string text() const;
  double number() const;
  std::int64_t whole_number() const;
  bool truth() const;

  /// Throws Error when a key looks like a misspelling of one of these. Other unknown keys are notes, and left alone.
  void check_spelling(std::initializer_list<std::string_view> known) const;
  [[noreturn]] void wrong(std::string_view wanted) const;

 private:
  const Json& json_;
  std::string where_;
};

/// The value that "conv1", "conv1:0" or "conv1:1" names, or -1.
int find_value(const Problem& problem, std::string_view name);
/// The same; throws Error when there is none.
int value_named(const Problem& problem, const Field& name);
/// The name of a value in files; throws Error when it would be read as another one.
std::string file_name(const Problem& problem, int value);

/// The words of the file: JSON text of one value, or an Error naming what cannot be written.
std::string dump(const Json& json);

std::string read_file(const std::string& path);
Problem read_problem(const Field& file);

}  // namespace reprise::plan
