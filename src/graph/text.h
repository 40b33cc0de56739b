// SPDX-License-Identifier: Apache-2.0
// The words of the text form, shared by graphs and by ops' examples.
#pragma once

#include <string>
#include <string_view>

#include "reprise/graph.h"

namespace reprise {

/// Reads a text from left to right. Every failure is an Error that says what was expected and where.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool at_end();
  /// Takes `word` if it stands next, after blanks; takes nothing otherwise.
  bool take(std::string_view word);
  void expect(std::string_view word);
  char peek();
  std::string_view rest();   // what is still to be read
  std::string identifier();  // letters, digits and _
  std::int64_t integer();
  double real();
  std::string quoted();
  Type type();  // f32[2,3]
  Attribute attribute();
  [[noreturn]] void reject(std::string_view expected);

 private:
  void skip_blanks();
  std::string_view number();

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string quote(std::string_view text);
std::string to_string(const Attribute& attribute);

}  // namespace reprise
