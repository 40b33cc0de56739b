// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace reprise::onnx {
namespace {

using google::protobuf::io::CodedInputStream;

// Little-endian, as every machine we build for is.
template <class T>
T load_little(const std::uint8_t* from) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Where a varint ends, or nothing: it is cut short or longer than 64 bits.
const std::uint8_t* decode_varint(const std::uint8_t* at, const std::uint8_t* end, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 70 && at != end; shift += 7) {
    std::uint64_t byte = *at++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at;
  }
  return nullptr;
}

[[noreturn]] void reject_at(const SourceFile& file, const std::uint8_t* at) {
  file.reject(
      fmt::format("is cut short, damaged or no ONNX file (at byte {}): export or copy it again", file.offset_of(at)));
}

}  // namespace

void Field::reject_wire() const { reject_at(*file, whole.data()); }

Bytes Field::bytes() const {
  if (wire != Wire::bytes) reject_wire();
  return content;
}

std::string Field::text() const {
  Bytes b = bytes();
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

std::int64_t Field::integer() const {
  if (wire != Wire::varint) reject_wire();
  return static_cast<std::int64_t>(value);
}

float Field::real() const {
  if (wire != Wire::fixed32) reject_wire();
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

Message::Message(const SourceFile& file, Bytes bytes)
    : file_(file), bytes_(bytes), stream_(bytes.data(), static_cast<int>(bytes.size())) {}

void Message::reject() const { reject_at(file_, bytes_.data() + stream_.CurrentPosition()); }

bool Message::read_content(Bytes& content) {
  int size = 0;
  if (!stream_.ReadVarintSizeAsInt(&size)) return false;
  auto at = static_cast<std::size_t>(stream_.CurrentPosition());
  if (static_cast<std::size_t>(size) > bytes_.size() - at) return false;
  content = bytes_.subspan(at, static_cast<std::size_t>(size));
  return stream_.Skip(size);
}

bool Message::next(Field& field) {
  auto begin = static_cast<std::size_t>(stream_.CurrentPosition());
  if (begin == bytes_.size()) return false;
  std::uint32_t tag = stream_.ReadTag();
  auto after_tag = static_cast<std::size_t>(stream_.CurrentPosition());
  field = {.number = static_cast<int>(tag >> 3), .wire = static_cast<Wire>(tag & 7), .file = &file_};
  if (field.number == 0) reject();
  bool is_read = false;
  std::uint32_t narrow = 0;
  switch (field.wire) {
    case Wire::varint: is_read = stream_.ReadVarint64(&field.value); break;
    case Wire::fixed64: is_read = stream_.ReadLittleEndian64(&field.value); break;
    case Wire::fixed32:
      is_read = stream_.ReadLittleEndian32(&narrow);
      field.value = narrow;
      break;
    case Wire::bytes: is_read = read_content(field.content); break;
    default:  // groups, which ONNX never had
      break;
  }
  if (!is_read) reject();
  field.tag = bytes_.subspan(begin, after_tag - begin);
  field.whole = bytes_.subspan(begin, static_cast<std::size_t>(stream_.CurrentPosition()) - begin);
  return true;
}

Numbers::Numbers(const Field& field, Wire scalar) : field_(field), scalar_(scalar) {
  if (field.wire == scalar)
    bytes_ = field.whole.subspan(field.tag.size());
  else
    bytes_ = field.bytes();
}

std::int64_t Numbers::count() const {
  if (scalar_ == Wire::varint)  // each ends with the byte that lacks the topmost bit
    return std::ranges::count_if(bytes_, [](std::uint8_t byte) { return byte < 0x80; });
  std::size_t size = scalar_ == Wire::fixed32 ? 4 : 8;
  if (bytes_.size() % size != 0) field_.reject_wire();
  return static_cast<std::int64_t>(bytes_.size() / size);
}

bool Numbers::next(std::uint64_t& bits) {
  if (at_ == bytes_.size()) return false;
  std::size_t left = bytes_.size() - at_, size = scalar_ == Wire::fixed32 ? 4 : 8;
  const std::uint8_t* from = bytes_.data() + at_;
  if (scalar_ == Wire::varint) {
    const std::uint8_t* end = decode_varint(from, from + left, bits);
    if (!end) field_.reject_wire();
    size = static_cast<std::size_t>(end - from);
  } else {
    if (left < size) field_.reject_wire();
    bits = size == 4 ? load_little<std::uint32_t>(from) : load_little<std::uint64_t>(from);
  }
  last_ = bytes_.subspan(at_, size);
  at_ += size;
  return true;
}

}  // namespace reprise::onnx
