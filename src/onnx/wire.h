// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, walked field by field where it lies. Only what is asked for is looked into; nothing is copied
// and nothing recurses, so a file can neither nest too deep nor claim more than it holds.
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstdint>
#include <string>

#include "onnx/source.h"

namespace reprise::onnx {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  int number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  // unless the wire type is bytes
  Bytes content;            // if it is
  Bytes whole;              // from its tag to its end
  Bytes tag;                // the beginning of `whole`
  const SourceFile* file = nullptr;

  // An Error for a field of another wire type.
  Bytes bytes() const;
  std::string text() const;
  std::int64_t integer() const;
  float real() const;
  [[noreturn]] void reject_wire() const;
};

/// The fields of a message, one after the other.
class Message {
 public:
  Message(const SourceFile& file, Bytes bytes);
  /// False at the end; an Error where the bytes are no message.
  bool next(Field& field);

 private:
  bool read_content(Bytes& content);
  [[noreturn]] void reject() const;

  const SourceFile& file_;
  Bytes bytes_;
  google::protobuf::io::CodedInputStream stream_;
};

/// The numbers of a repeated field: one that stands alone, or many that are packed.
class Numbers {
 public:
  /// `scalar`: the wire type of one that stands alone.
  Numbers(const Field& field, Wire scalar);
  /// How many there are.
  std::int64_t count() const;
  /// As 64 bits; floating point by its bits.
  bool next(std::uint64_t& bits);
  /// The bytes of the number that came last.
  Bytes last() const { return last_; }

 private:
  const Field& field_;
  Wire scalar_;
  Bytes bytes_, last_;
  std::size_t at_ = 0;
};

}  // namespace reprise::onnx
