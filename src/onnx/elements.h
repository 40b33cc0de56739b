// SPDX-License-Identifier: Apache-2.0
// ONNX's element types: how long they are, in which field of a TensorProto they stand one by one, and what they become.
#pragma once

#include <cstdint>
#include <optional>

#include "onnx/wire.h"
#include "reprise/tensor.h"

namespace reprise::onnx {

struct ElementType {
  std::int32_t number;
  const char* name;
  int bits;                          // of an element among raw bytes
  int field;                         // of TensorProto, where elements stand one by one
  std::optional<DType> dtype;        // nothing: we have no such numbers
  std::int64_t least = 0, most = 0;  // of integers, where the dtype holds more
};

/// Nothing for a type that ONNX 1.16 does not know.
const ElementType* find_element(std::int32_t data_type);

/// The wire type of a number in one of TensorProto's typed fields; `field` is one of them.
Wire wire_of(int field);

/// As many bytes as so many elements take among raw bytes.
std::int64_t raw_bytes(const ElementType& type, std::int64_t elements);

}  // namespace reprise::onnx
