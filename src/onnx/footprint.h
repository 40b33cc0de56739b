// SPDX-License-Identifier: Apache-2.0
// What a file's structure takes in memory once it is read, recorded, differentiated and planned: counted where it lies,
// before any of it is taken. Estimates from above; a file of a few bytes a node can ask for hundreds of megabytes.
#pragma once

#include <cstdint>
#include <limits>

#include "onnx/source.h"

namespace reprise::onnx {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t most_file_nodes = 100'000;   // many times what models have
inline constexpr std::int64_t operation_bytes = 3 * 1024;  // recorded, with its gradient, in a plan
inline constexpr std::int64_t trained_bytes = 12 * 1024;   // a tensor's parameter, its optimizer's state and update
inline constexpr std::int64_t always_there = 16 * 1024 * 1024;  // as much as any process takes

struct Footprint {
  std::int64_t nodes = 0;
  std::int64_t read_bytes = 0;      // the document in all its forms
  std::int64_t recorded_bytes = 0;  // an operation for every input of a node
};
Footprint footprint_of(const SourceFile& file);

/// What is left for recording where the structure may take the file's size and so many bytes, or 16 MiB if that is
/// more. An Error where the structure does not fit says how large it is and which budget would do.
std::int64_t room_within(const SourceFile& file, std::int64_t budget);

}  // namespace reprise::onnx
