// SPDX-License-Identifier: Apache-2.0
// Small ONNX files for tests, as bytes: protobuf's wire format written by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace reprise::onnx {

/// A message in the making: Wire().integer(1, 7).text(8, "w") is its bytes.
class WireMessage {
 public:
  WireMessage& integer(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  WireMessage& text(int field, const std::string& bytes) {
    tag(field, 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  WireMessage& message(int field, const WireMessage& inner) { return text(field, inner.bytes_); }
  template <class T>
  WireMessage& fixed(int field, T value) {
    tag(field, sizeof value == 4 ? 5 : 1);
    bytes_ += raw(std::vector<T>{value});
    return *this;
  }
  template <class T>
  WireMessage& packed_fixed(int field, const std::vector<T>& values) {
    return text(field, raw(values));
  }
  WireMessage& packed(int field, const std::vector<std::int64_t>& values) {
    WireMessage inner;
    for (std::int64_t v : values) inner.varint(static_cast<std::uint64_t>(v));
    return text(field, inner.bytes_);
  }
  WireMessage& append(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

  template <class T>
  static std::string raw(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

 private:
  void tag(int field, int wire) { varint(static_cast<std::uint64_t>(field << 3 | wire)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

/// A TensorProto without its numbers.
inline WireMessage wire_tensor(const std::string& name, int type, const std::vector<std::int64_t>& dims) {
  WireMessage t;
  for (std::int64_t size : dims) t.integer(1, size);
  return t.integer(2, type).text(8, name);
}
inline WireMessage wire_floats(const std::string& name, const std::vector<std::int64_t>& dims,
                               const std::vector<float>& values) {
  return wire_tensor(name, 1, dims).text(9, WireMessage::raw(values));
}
inline WireMessage wire_external(const std::string& name, const std::vector<std::int64_t>& dims,
                                 const std::string& location, const std::string& offset, const std::string& length) {
  WireMessage t = wire_tensor(name, 1, dims);
  t.message(13, WireMessage().text(1, "location").text(2, location));
  if (!offset.empty()) t.message(13, WireMessage().text(1, "offset").text(2, offset));
  if (!length.empty()) t.message(13, WireMessage().text(1, "length").text(2, length));
  return t.integer(14, 1);
}

/// A ValueInfoProto of a float tensor; a size of -1 is called "N".
inline WireMessage wire_value(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
  WireMessage shape;
  for (std::int64_t size : dims)
    shape.message(1, size < 0 ? WireMessage().text(2, "N") : WireMessage().integer(1, size));
  return WireMessage().text(1, name).message(
      2, WireMessage().message(1, WireMessage().integer(1, type).message(2, shape)));
}

inline WireMessage wire_node(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs, const std::vector<WireMessage>& attributes = {}) {
  WireMessage n;
  for (const std::string& name : inputs) n.text(1, name);
  for (const std::string& name : outputs) n.text(2, name);
  n.text(3, op + "_" + (outputs.empty() ? "" : outputs[0])).text(4, op);
  for (const WireMessage& a : attributes) n.message(5, a);
  return n;
}

/// A ModelProto around a graph.
inline WireMessage wire_model(const WireMessage& graph, int opset = 13) {
  return WireMessage()
      .integer(1, 8)
      .text(2, "tests")
      .message(7, graph)
      .message(8, WireMessage().text(1, "").integer(2, opset));
}

/// y = relu(x W + b), with a class of names and forms in it: raw and typed weights, metadata, an attribute.
inline WireMessage wire_small_model() {
  WireMessage graph;
  graph.message(1, wire_node("Gemm", {"x", "w", "b"}, {"h"},
                             {WireMessage().text(1, "alpha").fixed(2, 1.0f).integer(20, 1),
                              WireMessage().text(1, "transB").integer(3, 0).integer(20, 2)}));
  graph.message(1, wire_node("Relu", {"h"}, {"y"}));
  graph.text(2, "small");
  graph.message(5, wire_floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  graph.message(5, wire_tensor("b", 1, {3}).packed_fixed<float>(4, {0.5f, -1, 2}));
  graph.message(11, wire_value("x", {-1, 2}));
  graph.message(12, wire_value("y", {-1, 3}));
  return wire_model(graph).message(14, WireMessage().text(1, "author").text(2, "nobody"));
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace reprise::onnx
