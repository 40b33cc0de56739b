// SPDX-License-Identifier: Apache-2.0
#include "graph/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace reprise {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string hex(const Tensor& t) {
  std::string text;
  const auto* bytes = static_cast<const unsigned char*>(t.data());
  for (std::int64_t i = 0; i < t.bytes(); ++i) {
    text += hex_digits[bytes[i] >> 4];
    text += hex_digits[bytes[i] & 15];
  }
  return text;
}

std::string real_text(double x) {
  if (x != x) return "nan";  // whatever its sign
  std::string text = fmt::format("{}", x);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;  // "en": 1e9, inf, nan
}

template <class T, class F>
std::string list_text(const std::vector<T>& items, F&& one) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "" : ",") + one(item);
  return "[" + text + "]";
}

bool is_integer(std::string_view number) { return number.find_first_of(".en") == std::string_view::npos; }

}  // namespace

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string to_string(const Attribute& attribute) {
  struct Print {
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return real_text(x); }
    std::string operator()(const std::string& x) const { return quote(x); }
    std::string operator()(const std::vector<std::int64_t>& x) const {
      return list_text(x, [](auto i) { return std::to_string(i); });
    }
    std::string operator()(const std::vector<double>& x) const { return "reals" + list_text(x, real_text); }
    std::string operator()(const Tensor& x) const { return reprise::to_string(x.type()) + "#" + hex(x); }
  };
  return std::visit(Print{}, attribute);
}

void Scanner::skip_blanks() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
}

bool Scanner::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

std::string_view Scanner::rest() {
  skip_blanks();
  return text_.substr(at_);
}

char Scanner::peek() {
  skip_blanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

void Scanner::reject(std::string_view expected) {
  auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  std::string_view rest = text_.substr(at_);
  rest = rest.substr(0, std::min<std::size_t>(rest.find('\n'), 24));
  fail("[parse] line {}: expected {} at '{}'", line, expected, rest);
}

bool Scanner::take(std::string_view word) {
  skip_blanks();
  if (text_.substr(at_, word.size()) != word) return false;
  if (is_word(word.back()) && at_ + word.size() < text_.size() && is_word(text_[at_ + word.size()])) return false;
  at_ += word.size();
  return true;
}

void Scanner::expect(std::string_view word) {
  if (!take(word)) reject("'" + std::string(word) + "'");
}

std::string Scanner::identifier() {
  skip_blanks();
  std::size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  if (begin == at_) reject("a name");
  return std::string(text_.substr(begin, at_ - begin));
}

// A point ends a number where another follows it: in "0..4" the first number is 0.
std::string_view Scanner::number() {
  skip_blanks();
  std::size_t begin = at_;
  while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.') &&
         text_.substr(at_, 2) != "..")
    ++at_;
  return text_.substr(begin, at_ - begin);
}

std::int64_t Scanner::integer() {
  std::size_t begin = at_;
  std::string_view text = number();
  std::int64_t value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && rest == text.data() + text.size()) return value;
  at_ = begin;
  reject("an integer");
}

double Scanner::real() {
  std::size_t begin = at_;
  std::string_view text = number();
  double value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && rest == text.data() + text.size()) return value;
  at_ = begin;
  reject("a number");
}

std::string Scanner::quoted() {
  expect("\"");
  std::string text;
  while (at_ < text_.size() && text_[at_] != '"') {
    bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
    if (escaped) ++at_;
    text += escaped && text_[at_] == 'n' ? '\n' : text_[at_];
    ++at_;
  }
  expect("\"");
  return text;
}

Type Scanner::type() {
  skip_blanks();
  std::size_t end = text_.find(']', at_);
  if (end == std::string_view::npos) reject("a type such as f32[2,3]");
  Type t = parse_type(text_.substr(at_, end + 1 - at_));
  at_ = end + 1;
  return t;
}

Attribute Scanner::attribute() {
  if (peek() == '"') return quoted();
  bool reals = take("reals");
  if (reals || peek() == '[') {
    std::vector<std::int64_t> integer_list;
    std::vector<double> real_list;
    expect("[");
    while (!take("]")) {
      if (reals)
        real_list.push_back(real());
      else
        integer_list.push_back(integer());
      if (peek() != ']') expect(",");
    }
    return reals ? Attribute(real_list) : Attribute(integer_list);
  }
  std::size_t begin = at_;
  std::string_view text = number();
  std::size_t after = at_;
  at_ = begin;
  if (after < text_.size() && text_[after] == '[') {  // a tensor: its type and its bytes
    Type t = type();
    expect("#");
    if (text_.size() - at_ < 2 * static_cast<std::size_t>(t.bytes())) reject("the bytes of a tensor");
    Tensor tensor = Tensor::empty(t);
    auto* bytes = static_cast<unsigned char*>(tensor.data());
    for (std::int64_t i = 0; i < t.bytes(); ++i, at_ += 2) {
      auto high = hex_digits.find(text_[at_]), low = hex_digits.find(text_[at_ + 1]);
      if (high == std::string_view::npos || low == std::string_view::npos) reject("hexadecimal digits");
      bytes[i] = static_cast<unsigned char>(high << 4 | low);
    }
    return tensor;
  }
  return is_integer(text) ? Attribute(integer()) : Attribute(real());
}

}  // namespace reprise
