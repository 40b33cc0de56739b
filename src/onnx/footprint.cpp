// SPDX-License-Identifier: Apache-2.0
#include "onnx/footprint.h"

#include <algorithm>

#include "base/error.h"
#include "onnx/wire.h"
#include "reprise/onnx.h"

namespace reprise::onnx {
namespace {

// Measured on files made to take much, and rounded up: a document is held in up to six forms at a time.
constexpr std::int64_t node_bytes = 2 * 1024;
constexpr std::int64_t name_bytes = 1024;  // of an input, an output, a dimension, an entry
constexpr std::int64_t attribute_bytes = 2 * 1024;
constexpr std::int64_t tensor_bytes = 4 * 1024;
constexpr std::int64_t bytes_a_letter = 16;
constexpr std::int64_t bytes_a_packed_byte = 64;  // one can be a number or a dimension

std::int64_t size_of_content(const Field& field) { return static_cast<std::int64_t>(field.content.size()); }
std::int64_t text_bytes(const Field& field) { return bytes_a_letter * size_of_content(field); }
std::int64_t packed_bytes(const Field& field) { return bytes_a_packed_byte * (1 + size_of_content(field)); }

std::int64_t attribute_footprint(const SourceFile& file, Bytes bytes) {
  std::int64_t sum = attribute_bytes;
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1 || field.number == 4) sum += text_bytes(field);
    if (field.number == 7 || field.number == 8) sum += packed_bytes(field);
    if (field.number == 9) sum += name_bytes + text_bytes(field);
  }
  return sum;
}

std::int64_t tensor_footprint(const SourceFile& file, Bytes bytes) {
  std::int64_t sum = tensor_bytes;
  Message message(file, bytes);
  for (Field field; message.next(field);)
    if (field.number == 8 || field.number == 13) sum += text_bytes(field);
  return sum;
}

void add_node(const SourceFile& file, Bytes bytes, Footprint& to) {
  ++to.nodes;
  to.read_bytes += node_bytes;
  std::int64_t inputs = 0;
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    inputs += field.number == 1;
    if (field.number == 1 || field.number == 2) to.read_bytes += name_bytes;
    to.read_bytes += field.number == 5 ? attribute_footprint(file, field.content) : text_bytes(field);
  }
  to.recorded_bytes += operation_bytes * std::max<std::int64_t>(1, inputs);
}

void add_graph(const SourceFile& file, Bytes bytes, Footprint& to) {
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) add_node(file, field.content, to);
    if (field.number == 5) {
      to.read_bytes += tensor_footprint(file, field.content);
      to.recorded_bytes += trained_bytes;
    }
    if (field.number == 11 || field.number == 12) to.read_bytes += name_bytes + packed_bytes(field);
  }
}

}  // namespace

Footprint footprint_of(const SourceFile& file) {
  Footprint sum;
  Message message(file, file.bytes());
  for (Field field; message.next(field);) {
    if (field.number == 7) add_graph(file, field.content, sum);
    if (field.number == 8 || field.number == 14) sum.read_bytes += name_bytes + text_bytes(field);
  }
  return sum;
}

std::int64_t room_within(const SourceFile& file, std::int64_t budget) {
  Footprint all = footprint_of(file);
  std::int64_t size = file.file().bytes(), sum = all.read_bytes + all.recorded_bytes;
  std::int64_t room = std::max(always_there, budget > no_limit - size ? no_limit : size + budget);
  if (sum > room && all.nodes <= most_file_nodes)
    file.reject(
        fmt::format("has {} nodes, and reading and recording it takes up to {} of memory: more than its own {} "
                    "and the budget of {}{}; a budget of {} would do ({} bytes)",
                    all.nodes, format_bytes(sum), format_bytes(size), format_bytes(budget),
                    budget == onnx_usual_budget ? " (which stands in where none is given in bytes)" : "",
                    format_bytes(sum - size), sum - size));
  return room - all.read_bytes;
}

}  // namespace reprise::onnx
