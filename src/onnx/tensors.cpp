// SPDX-License-Identifier: Apache-2.0
#include "onnx/tensors.h"

#include <charconv>
#include <limits>

#include "base/error.h"
#include "onnx/elements.h"

namespace reprise::onnx {
namespace {

// What a TensorProto says, before any of it is believed.
struct Claims {
  Bytes raw = {};
  bool has_raw = false, is_external = false;
  bool is_segmented = false, has_two_sets = false, has_two_types = false;
  int typed_field = 0;           // the one that has numbers
  std::int64_t typed_count = 0;  // of them
  std::string offset = {}, length = {};
};

[[noreturn]] void refuse_tensor(const FileTensor& tensor, const std::string& why) {
  tensor.model->reject("has a " + described(tensor) + " " + why);
}

bool is_typed(int field) { return field == 4 || field == 5 || field == 6 || field == 7 || field == 10 || field == 11; }

// One more than there may be, so that they can be refused once the name is known.
void add_dims(const Field& field, FileTensor& tensor) {
  Numbers numbers(field, Wire::varint);
  for (std::uint64_t size = 0; tensor.dims.size() <= Shape::max_rank && numbers.next(size);)
    tensor.dims.push_back(static_cast<std::int64_t>(size));
}

void count_typed(const Field& field, Claims& claims) {
  std::int64_t count = field.number == 6 ? 1 : Numbers(field, wire_of(field.number)).count();
  if (count == 0) return;
  claims.has_two_types |= claims.typed_field != 0 && claims.typed_field != field.number;
  claims.typed_field = field.number;
  claims.typed_count += count;
}

void add_external(const Field& field, FileTensor& tensor, Claims& claims) {
  auto [key, value] = parse_entry(*tensor.model, field.bytes());
  if (key == "location") tensor.location = value;
  if (key == "offset") claims.offset = value;
  if (key == "length") claims.length = value;
}

Claims walk_tensor(FileTensor& tensor, Bytes bytes) {
  Claims claims;
  Message message(*tensor.model, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) add_dims(field, tensor);
    if (field.number == 2) tensor.data_type = static_cast<std::int32_t>(field.integer());
    if (field.number == 3) claims.is_segmented = true;
    if (field.number == 8) tensor.name = field.text();
    if (field.number == field_raw_data) {
      claims.has_two_sets |= claims.has_raw;
      claims.raw = field.bytes(), claims.has_raw = true;
    }
    if (field.number == field_external_data) add_external(field, tensor, claims);
    if (field.number == 14) claims.is_external = field.integer() == 1;
    if (is_typed(field.number)) count_typed(field, claims);
  }
  return claims;
}

void check_form(const FileTensor& tensor, const Claims& claims) {
  if (tensor.dims.size() > Shape::max_rank)
    refuse_tensor(tensor, fmt::format("of more than {} dimensions: export it with fewer", Shape::max_rank));
  if (claims.is_segmented) refuse_tensor(tensor, "in segments: export it whole");
  if (claims.has_two_types) refuse_tensor(tensor, "with numbers of two types: export it again");
  int sets = claims.is_external + (claims.has_raw && !claims.raw.empty()) + (claims.typed_field != 0);
  if (claims.has_two_sets || sets > 1) refuse_tensor(tensor, "with two sets of numbers: export it again");
  if (!find_element(tensor.data_type)) refuse_tensor(tensor, "of a type that is not known: export it as float");
}

// Also of the dimensions that are not zero, so that nobody's product of some of them overflows.
std::int64_t checked_elements(const FileTensor& tensor) {
  std::int64_t product = 1;
  bool is_empty = false;
  for (std::int64_t size : tensor.dims) {
    if (size < 0) refuse_tensor(tensor, "with a negative dimension: export it again");
    is_empty |= size == 0;
    if (size > 0 && __builtin_mul_overflow(product, size, &product)) product = std::numeric_limits<std::int64_t>::max();
    if (product > std::numeric_limits<std::int64_t>::max() / 128)
      refuse_tensor(tensor, "larger than any memory: export it again");
  }
  return is_empty ? 0 : product;
}

std::int64_t number_in(const std::string& text, std::int64_t otherwise, const FileTensor& tensor) {
  if (text.empty()) return otherwise;
  std::int64_t value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    refuse_tensor(tensor, "whose place in its file is " + shown(text) + ": export it again");
  return value;
}

void place_external(FileTensor& tensor, const Claims& claims, std::int64_t expected) {
  if (tensor.location.empty()) refuse_tensor(tensor, "whose external data have no file: export it again");
  tensor.stored = FileTensor::Stored::external;
  tensor.offset = number_in(claims.offset, 0, tensor);
  tensor.bytes = number_in(claims.length, expected, tensor);
  if (tensor.bytes != expected)
    refuse_tensor(tensor,
                  fmt::format("with {} bytes of numbers instead of {}: export it again", tensor.bytes, expected));
  std::int64_t size = tensor.model->open_beside(tensor.location).bytes();
  if (tensor.offset > size || tensor.bytes > size - tensor.offset)
    refuse_tensor(tensor, fmt::format("past the end of {}: {} bytes at {} of {}; copy that file again",
                                      shown(tensor.location), tensor.bytes, tensor.offset, size));
}

void place_raw(FileTensor& tensor, const Claims& claims, std::int64_t expected) {
  tensor.stored = FileTensor::Stored::raw;
  tensor.bytes = static_cast<std::int64_t>(claims.raw.size());
  tensor.offset = claims.has_raw ? tensor.model->offset_of(claims.raw.data()) : tensor.message_at;
  if (tensor.bytes != expected)
    refuse_tensor(tensor,
                  fmt::format("with {} bytes of numbers instead of {}: export it again", tensor.bytes, expected));
}

void place_typed(FileTensor& tensor, const Claims& claims, const ElementType& type, std::int64_t elements) {
  tensor.stored = FileTensor::Stored::typed;
  if (claims.typed_field != type.field) refuse_tensor(tensor, "with numbers of another type: export it again");
  bool is_complex = type.number == element_complex64 || type.number == element_complex128;
  std::int64_t expected = is_complex ? 2 * elements : type.bits == 4 ? (elements + 1) / 2 : elements;
  if (claims.typed_count != expected)
    refuse_tensor(tensor, fmt::format("with {} numbers instead of {}: export it again", claims.typed_count, expected));
}

}  // namespace

std::pair<std::string, std::string> parse_entry(const SourceFile& file, Bytes bytes) {
  std::pair<std::string, std::string> entry;
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) entry.first = field.text();
    if (field.number == 2) entry.second = field.text();
  }
  return entry;
}

std::string described(const FileTensor& tensor) {
  std::string sizes;
  for (std::int64_t size : tensor.dims) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  std::string name = tensor.name.empty() ? fmt::format("at byte {}", tensor.message_at) : shown(tensor.name);
  return fmt::format("tensor {}, {}[{}],", name, element_name(tensor.data_type), sizes);
}

FileTensor parse_tensor(const std::shared_ptr<const SourceFile>& file, Bytes message) {
  FileTensor tensor;
  tensor.model = file;
  tensor.message_at = file->offset_of(message.data());
  tensor.message_bytes = static_cast<std::int64_t>(message.size());
  Claims claims = walk_tensor(tensor, message);
  check_form(tensor, claims);
  const ElementType& type = *find_element(tensor.data_type);
  std::int64_t elements = checked_elements(tensor);
  if (claims.is_external)
    place_external(tensor, claims, raw_bytes(type, elements));
  else if (claims.typed_field != 0)
    place_typed(tensor, claims, type, elements);
  else
    place_raw(tensor, claims, raw_bytes(type, elements));
  return tensor;
}

}  // namespace reprise::onnx
