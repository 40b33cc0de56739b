// SPDX-License-Identifier: Apache-2.0
// Numbers as a file has them and as tensors have them: the 64 bits that stand in a typed field, and one element.
#pragma once

#include <cstdint>

#include "onnx/elements.h"
#include "reprise/tensor.h"

namespace reprise::onnx {

/// Writes a number of a typed field as element i of `to`, which is of the type's dtype. False if it does not fit there.
bool store_number(const ElementType& type, std::uint64_t bits, const Tensor& to, std::int64_t i);

/// Element i of `from` as the bits of a typed field; what a varint of them means is the same for an int32 and an int64.
/// False if the type cannot hold it.
bool load_number(const ElementType& type, const Tensor& from, std::int64_t i, std::uint64_t& bits);

/// One number among raw bytes as the bits of a typed field, and back.
std::uint64_t bits_from_raw(const ElementType& type, const std::uint8_t* from);
void bits_to_raw(const ElementType& type, std::uint64_t bits, std::uint8_t* to);

/// Whether raw bytes are what the tensor has in memory.
bool is_raw_as_in_memory(const ElementType& type);

}  // namespace reprise::onnx
