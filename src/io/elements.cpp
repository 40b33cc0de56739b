// SPDX-License-Identifier: Apache-2.0
#include "io/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace reprise::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian numbers");

void swap_bytes(char* at, std::int64_t count, int size) {
  for (std::int64_t i = 0; i < count; ++i) std::reverse(at + i * size, at + (i + 1) * size);
}

template <class From, class To>
void widen(const std::vector<char>& raw, std::int64_t count, To* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, raw.data() + i * static_cast<std::int64_t>(sizeof x), sizeof x);
    if constexpr (sizeof(From) == sizeof(To) && std::is_unsigned_v<From>)
      if (x > static_cast<From>(std::numeric_limits<To>::max())) fail("[io] the integer {} is too large for i64", x);
    to[i] = static_cast<To>(x);
  }
}

void widen(const Element& e, const std::vector<char>& raw, std::int64_t count, void* to) {
  auto* i32 = static_cast<std::int32_t*>(to);
  auto* i64 = static_cast<std::int64_t*>(to);
  bool is_signed = e.kind == 'i';
  switch (e.bytes) {
    case 1: return is_signed ? widen<std::int8_t>(raw, count, i32) : widen<std::uint8_t>(raw, count, i32);
    case 2: return is_signed ? widen<std::int16_t>(raw, count, i32) : widen<std::uint16_t>(raw, count, i32);
    case 4: return widen<std::uint32_t>(raw, count, i64);
    default: return widen<std::uint64_t>(raw, count, i64);
  }
}

}  // namespace

DType dtype_of(const Element& e) {
  switch (e.kind) {
    case 'f':
      if (e.bytes == 2) return DType::f16;
      if (e.bytes == 4) return DType::f32;
      if (e.bytes == 8) return DType::f64;
      break;
    case 'g':
      if (e.bytes == 2) return DType::bf16;
      break;
    case 'b':
      if (e.bytes == 1) return DType::boolean;
      break;
    case 'i':
      if (e.bytes == 1 || e.bytes == 2 || e.bytes == 4) return DType::i32;
      if (e.bytes == 8) return DType::i64;
      break;
    case 'u':
      if (e.bytes == 1 || e.bytes == 2) return DType::i32;
      if (e.bytes == 4 || e.bytes == 8) return DType::i64;
      break;
    default: break;
  }
  fail("[io] elements of kind '{}' with {} bytes are not supported: convert them to f4, f8, i4, i8 or bool", e.kind,
       e.bytes);
}

Element element_of(DType dtype) {
  constexpr std::array<char, 7> kinds = {'f', 'f', 'i', 'i', 'b', 'f', 'g'};
  return {kinds[static_cast<std::size_t>(dtype)], static_cast<int>(size_of(dtype))};
}

void check_booleans(const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  const auto* bytes = static_cast<const unsigned char*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.bytes(); ++i)
    if (bytes[i] > 1) fail("[io] element {} of a bool array is {}: it must be 0 or 1", i, bytes[i]);
}

Tensor read_elements(const Element& e, const Shape& shape, const Source& source) {
  Tensor t = Tensor::empty({dtype_of(e), shape});
  if (e.bytes == size_of(t.dtype()) && e.kind != 'u') {
    source(t.data(), t.bytes());
    if (e.swapped) swap_bytes(static_cast<char*>(t.data()), t.elements(), e.bytes);
    check_booleans(t);
    return t;
  }
  constexpr std::int64_t chunk = 1 << 16;
  std::vector<char> raw;
  for (std::int64_t done = 0; done < t.elements(); done += chunk) {
    std::int64_t count = std::min(chunk, t.elements() - done);
    raw.resize(static_cast<std::size_t>(count * e.bytes));
    source(raw.data(), count * e.bytes);
    if (e.swapped) swap_bytes(raw.data(), count, e.bytes);
    widen(e, raw, count, static_cast<char*>(t.data()) + done * size_of(t.dtype()));
  }
  return t;
}

Tensor from_fortran_order(const Tensor& reversed) {
  Shape shape;
  for (int axis = reversed.shape().rank() - 1; axis >= 0; --axis) shape.push_back(reversed.shape()[axis]);
  Tensor t = Tensor::empty({reversed.dtype(), shape});
  std::int64_t size = size_of(t.dtype()), from = 0;
  Shape stride, at;
  for (std::int64_t step = 1; std::int64_t n : shape) stride.push_back(step), at.push_back(0), step *= n;
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    std::memcpy(static_cast<char*>(t.data()) + i * size, static_cast<const char*>(reversed.data()) + from * size,
                static_cast<std::size_t>(size));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      from += stride[axis];
      if (++at[axis] < shape[axis]) break;
      from -= at[axis] * stride[axis];
      at[axis] = 0;
    }
  }
  return t;
}

}  // namespace reprise::io
