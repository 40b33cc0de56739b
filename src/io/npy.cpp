// SPDX-License-Identifier: Apache-2.0
#include "io/npy.h"

#include <charconv>
#include <cstring>

#include "base/error.h"
#include "io/file.h"
#include "reprise/io.h"

namespace reprise::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  Element element;
  bool is_fortran = false;
  Shape shape;
};

// Reads the dictionary that a header is: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Dictionary {
 public:
  Dictionary(const std::string& what, std::string_view text) : what_(what), text_(text) {}

  Header read() {
    Header header;
    bool has_element = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_element)
        header.element = element(quoted()), has_element = true;
      else if (key == "fortran_order" && !has_order)
        header.is_fortran = flag(), has_order = true;
      else if (key == "shape" && !has_shape)
        header.shape = shape(), has_shape = true;
      else
        reject(fmt::format("has the key '{}' where descr, fortran_order and shape stand once each", key));
      if (!take(',') && peek() != '}') reject("has a header without a comma between its keys");
    }
    skip_blanks();
    if (!text_.empty()) reject("has something after its header's dictionary");
    if (!has_element || !has_order || !has_shape) reject("has a header without descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void reject(const std::string& why) const { fail("[npy] {} {}", what_, why); }
  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  char peek() {
    skip_blanks();
    return text_.empty() ? '\0' : text_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) reject(fmt::format("has a header without '{}' where it belongs", c));
  }
  std::string_view quoted() {
    char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) reject("has a header with an open quotation");
    std::string_view word = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return word;
  }
  bool flag() {
    skip_blanks();
    for (std::string_view word : {std::string_view("True"), std::string_view("False")})
      if (text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return word == "True";
      }
    reject("has a fortran_order that is neither True nor False");
  }
  Shape shape() {
    Shape sizes;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::int64_t size = -1;
      auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || sizes.rank() == Shape::max_rank)
        reject(fmt::format("has a shape that is not a tuple of at most {} sizes", Shape::max_rank));
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      sizes.push_back(size);
      if (!take(',') && peek() != ')') reject("has a shape without a comma between its sizes");
    }
    return sizes;
  }
  Element element(std::string_view descr) const {
    if (descr == "|V2" || descr == "<V2") return {'g', 2};
    if (descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
      Element e{descr[1], descr[2] - '0', descr[0] == '>'};
      if (std::string_view("fiub").find(e.kind) != std::string_view::npos && e.bytes <= 8) return e;
    }
    reject(fmt::format("holds elements of type '{}', which cannot be read: convert them to f4, f8, i4, i8 or bool",
                       descr));
  }

  const std::string& what_;
  std::string_view text_;
};

std::string read_header(const std::string& what, std::int64_t& left, const Source& source) {
  auto next = [&](void* to, std::int64_t bytes) {
    if (bytes > left) fail("[npy] {} is cut short: write or copy it again", what);
    source(to, bytes);
    left -= bytes;
  };
  char start[8];
  next(start, 8);
  if (std::string_view(start, 6) != magic) fail("[npy] {} is not a npy array: it begins otherwise", what);
  int version = start[6];
  if (version < 1 || version > 3) fail("[npy] {} is of npy version {}: versions 1 to 3 can be read", what, version);
  unsigned char size[4] = {};
  next(size, version == 1 ? 2 : 4);
  std::int64_t bytes = size[0] | size[1] << 8 | size[2] << 16 | std::int64_t{size[3]} << 24;
  if (bytes > left) fail("[npy] {} is cut short: write or copy it again", what);
  std::string text(static_cast<std::size_t>(bytes), '\0');
  next(text.data(), bytes);
  return text;
}

}  // namespace

std::string npy_header(const Type& type) {
  Element e = element_of(type.dtype);
  std::string descr = e.kind == 'g' ? "|V2" : fmt::format("{}{}{}", e.bytes == 1 ? '|' : '<', e.kind, e.bytes);
  std::string shape;
  for (std::int64_t size : type.shape) shape += std::to_string(size) + ", ";
  if (type.shape.rank() > 1) shape.resize(shape.size() - 2);
  if (type.shape.rank() == 1) shape.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  text.append(63 - (10 + text.size()) % 64, ' ');  // elements begin at a multiple of 64
  text += '\n';
  std::string header(magic);
  header += {1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

Tensor read_npy(const std::string& what, std::int64_t bytes, const Source& source) {
  std::string text = read_header(what, bytes, source);
  Header header = Dictionary(what, text).read();
  std::int64_t wanted = header.shape.elements() * header.element.bytes;
  if (wanted != bytes)
    fail("[npy] {} has {} bytes of elements, its shape {} wants {}: write or copy it again", what, bytes,
         to_string(header.shape), wanted);
  if (!header.is_fortran || header.shape.rank() < 2) return read_elements(header.element, header.shape, source);
  Shape reversed;
  for (int axis = header.shape.rank() - 1; axis >= 0; --axis) reversed.push_back(header.shape[axis]);
  return from_fortran_order(read_elements(header.element, reversed, source));
}

Tensor load_npy(const std::string& path) {
  InputFile file("npy", path);
  std::int64_t at = 0;
  return read_npy("'" + path + "'", file.bytes(), [&](void* to, std::int64_t bytes) {
    file.read(at, to, bytes);
    at += bytes;
  });
}

void save_npy(const std::string& path, const Tensor& tensor) {
  OutputFile file("npy", path);
  std::string header = npy_header(tensor.type());
  file.write(header.data(), static_cast<std::int64_t>(header.size()));
  file.write(tensor.data(), tensor.bytes());
  file.commit();
}

}  // namespace reprise::io
