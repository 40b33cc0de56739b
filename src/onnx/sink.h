// SPDX-License-Identifier: Apache-2.0
// Where a file is written anew: first only counted, since a message is preceded by its length, then written.
#pragma once

#include <cstdint>
#include <vector>

#include "io/file.h"
#include "onnx/wire.h"

namespace reprise::onnx {

class Sink {
 public:
  /// Counts.
  Sink() = default;
  /// Writes; flush() at the end.
  explicit Sink(io::OutputFile& out) : out_(&out) {}

  std::int64_t bytes() const { return bytes_; }
  /// A part of the file that is read, through a buffer: the map is not touched.
  void copy(const SourceFile& file, Bytes part);
  void copy(const io::InputFile& file, std::int64_t offset, std::int64_t bytes);
  void write(const void* from, std::int64_t bytes);
  void varint(std::uint64_t value);
  void zeros(std::int64_t bytes);
  void flush();

 private:
  io::OutputFile* out_ = nullptr;
  std::int64_t bytes_ = 0;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace reprise::onnx
