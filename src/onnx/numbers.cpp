// SPDX-License-Identifier: Apache-2.0
#include "onnx/numbers.h"

#include <cstring>
#include <limits>

#include "onnx/document.h"

namespace reprise::onnx {
namespace {

template <class T>
void put_element(const Tensor& to, std::int64_t i, T value) {
  std::memcpy(static_cast<char*>(to.data()) + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof value);
}

template <class T>
T element_at(const Tensor& from, std::int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from.data()) + i * static_cast<std::int64_t>(sizeof(T)), sizeof value);
  return value;
}

bool is_signed(const ElementType& type) { return type.least < 0; }

bool is_within(const ElementType& type, std::int64_t value) {
  return type.least == type.most || (type.least <= value && value <= type.most);
}

}  // namespace

bool store_number(const ElementType& type, std::uint64_t bits, const Tensor& to, std::int64_t i) {
  auto value = static_cast<std::int64_t>(bits);
  switch (*type.dtype) {
    case DType::f32: put_element(to, i, static_cast<std::uint32_t>(bits)); return true;
    case DType::f64: put_element(to, i, bits); return true;
    case DType::f16:
    case DType::bf16:
      put_element(to, i, static_cast<std::uint16_t>(bits));
      return bits <= std::numeric_limits<std::uint16_t>::max();
    case DType::boolean: put_element(to, i, static_cast<std::uint8_t>(bits != 0)); return true;
    case DType::i32:
      put_element(to, i, static_cast<std::int32_t>(bits));
      return is_within(type, static_cast<std::int32_t>(bits));
    case DType::i64:
      put_element(to, i, value);
      return is_within(type, value) && (type.number != element_uint64 || value >= 0);
  }
  return false;
}

bool load_number(const ElementType& type, const Tensor& from, std::int64_t i, std::uint64_t& bits) {
  std::int64_t value = 0;
  switch (*type.dtype) {
    case DType::f32: bits = element_at<std::uint32_t>(from, i); return true;
    case DType::f64: bits = element_at<std::uint64_t>(from, i); return true;
    case DType::f16:
    case DType::bf16: bits = element_at<std::uint16_t>(from, i); return true;
    case DType::boolean: value = element_at<std::uint8_t>(from, i); break;
    case DType::i32: value = element_at<std::int32_t>(from, i); break;
    case DType::i64: value = element_at<std::int64_t>(from, i); break;
  }
  bits = static_cast<std::uint64_t>(value);
  return is_within(type, value) && (type.number != element_uint64 || value >= 0);
}

std::uint64_t bits_from_raw(const ElementType& type, const std::uint8_t* from) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(type.bits / 8));
  int unused = 64 - type.bits;
  if (is_signed(type)) bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
  return bits;
}

void bits_to_raw(const ElementType& type, std::uint64_t bits, std::uint8_t* to) {
  std::memcpy(to, &bits, static_cast<std::size_t>(type.bits / 8));
}

bool is_raw_as_in_memory(const ElementType& type) {
  return type.number != element_bool && type.number != element_uint64 && type.bits == 8 * size_of(*type.dtype);
}

}  // namespace reprise::onnx
