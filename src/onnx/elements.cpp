// SPDX-License-Identifier: Apache-2.0
#include "onnx/elements.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "onnx/document.h"

namespace reprise::onnx {
namespace {

enum : int { float_data = 4, int32_data = 5, string_data = 6, int64_data = 7, double_data = 10, uint64_data = 11 };

// clang-format off
constexpr ElementType element_types[] = {
  {element_float,      "float",      32,  float_data,  DType::f32},
  {element_uint8,      "uint8",      8,   int32_data,  DType::i32,     0, 255},
  {element_int8,       "int8",       8,   int32_data,  DType::i32,     -128, 127},
  {element_uint16,     "uint16",     16,  int32_data,  DType::i32,     0, 65535},
  {element_int16,      "int16",      16,  int32_data,  DType::i32,     -32768, 32767},
  {element_int32,      "int32",      32,  int32_data,  DType::i32},
  {element_int64,      "int64",      64,  int64_data,  DType::i64},
  {element_string,     "string",     0,   string_data, std::nullopt},
  {element_bool,       "bool",       8,   int32_data,  DType::boolean, 0, 1},
  {element_float16,    "float16",    16,  int32_data,  DType::f16},
  {element_double,     "double",     64,  double_data, DType::f64},
  {element_uint32,     "uint32",     32,  uint64_data, DType::i64,     0, 4294967295},
  {element_uint64,     "uint64",     64,  uint64_data, DType::i64},
  {element_complex64,  "complex64",  64,  float_data,  std::nullopt},
  {element_complex128, "complex128", 128, double_data, std::nullopt},
  {element_bfloat16,   "bfloat16",   16,  int32_data,  DType::bf16},
  {17, "float8e4m3fn",   8, int32_data, std::nullopt},
  {18, "float8e4m3fnuz", 8, int32_data, std::nullopt},
  {19, "float8e5m2",     8, int32_data, std::nullopt},
  {20, "float8e5m2fnuz", 8, int32_data, std::nullopt},
  {21, "uint4",          4, int32_data, std::nullopt},
  {22, "int4",           4, int32_data, std::nullopt},
};
// clang-format on

}  // namespace

const ElementType* find_element(std::int32_t data_type) {
  const auto* found = std::ranges::find(element_types, data_type, &ElementType::number);
  return found == std::end(element_types) ? nullptr : found;
}

Wire wire_of(int field) {
  if (field == float_data) return Wire::fixed32;
  if (field == double_data) return Wire::fixed64;
  return field == string_data ? Wire::bytes : Wire::varint;
}

std::int64_t raw_bytes(const ElementType& type, std::int64_t count) { return (count * type.bits + 7) / 8; }

std::string element_name(std::int32_t data_type) {
  const ElementType* type = find_element(data_type);
  return type ? type->name : fmt::format("type {}", data_type);
}

DType dtype_of_element(std::int32_t data_type) {
  const ElementType* type = find_element(data_type);
  if (!type || !type->dtype)
    fail("[onnx] elements of {} cannot be computed with: cast them to float or an integer type in the model",
         element_name(data_type));
  return *type->dtype;
}

}  // namespace reprise::onnx
