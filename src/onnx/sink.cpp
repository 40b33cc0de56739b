// SPDX-License-Identifier: Apache-2.0
#include "onnx/sink.h"

#include <algorithm>

namespace reprise::onnx {
namespace {

constexpr std::int64_t buffer_bytes = 256 * 1024;

}  // namespace

void Sink::copy(const SourceFile& file, Bytes part) {
  copy(file.file(), file.offset_of(part.data()), static_cast<std::int64_t>(part.size()));
}

void Sink::copy(const io::InputFile& file, std::int64_t offset, std::int64_t bytes) {
  bytes_ += bytes;
  while (out_ && bytes > 0) {
    if (static_cast<std::int64_t>(buffer_.size()) >= buffer_bytes) flush();
    auto held = static_cast<std::int64_t>(buffer_.size());
    std::int64_t now = std::min(bytes, buffer_bytes - held);
    buffer_.resize(static_cast<std::size_t>(held + now));
    file.read(offset, buffer_.data() + held, now);
    offset += now, bytes -= now;
  }
}

void Sink::write(const void* from, std::int64_t bytes) {
  bytes_ += bytes;
  if (!out_) return;
  if (static_cast<std::int64_t>(buffer_.size()) + bytes > buffer_bytes) flush();
  if (bytes > buffer_bytes) return out_->write(from, bytes);
  const auto* begin = static_cast<const std::uint8_t*>(from);
  buffer_.insert(buffer_.end(), begin, begin + bytes);
}

void Sink::varint(std::uint64_t value) {
  std::uint8_t bytes[10];
  std::int64_t count = 0;
  for (; value >= 0x80; value >>= 7) bytes[count++] = static_cast<std::uint8_t>(value | 0x80);
  bytes[count++] = static_cast<std::uint8_t>(value);
  write(bytes, count);
}

void Sink::zeros(std::int64_t bytes) {
  std::vector<std::uint8_t> none(static_cast<std::size_t>(bytes));
  write(none.data(), bytes);
}

void Sink::flush() {
  if (out_ && !buffer_.empty()) out_->write(buffer_.data(), static_cast<std::int64_t>(buffer_.size()));
  buffer_.clear();
}

}  // namespace reprise::onnx
