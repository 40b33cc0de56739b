// SPDX-License-Identifier: Apache-2.0
// Reading a tensor's numbers out of its file, straight to where they are wanted.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "onnx/document.h"
#include "onnx/numbers.h"
#include "onnx/tensors.h"

namespace reprise::onnx {
namespace {

constexpr std::int64_t chunk_bytes = 64 * 1024;

[[noreturn]] void refuse_number(const FileTensor& tensor) {
  tensor.model->reject("has a " + described(tensor) + " with a number that " +
                       std::string(to_string(tensor.type().dtype)) + " cannot hold: export it with smaller numbers");
}

void read_converted(const FileTensor& tensor, const ElementType& type, const io::InputFile& file, const Tensor& to) {
  std::vector<std::uint8_t> chunk(static_cast<std::size_t>(std::min(chunk_bytes, tensor.bytes)));
  std::int64_t size = type.bits / 8, element = 0;
  for (std::int64_t done = 0; done < tensor.bytes; done += chunk_bytes) {
    std::int64_t bytes = std::min(chunk_bytes, tensor.bytes - done);
    file.read(tensor.offset + done, chunk.data(), bytes);
    for (std::int64_t at = 0; at < bytes; at += size)
      if (!store_number(type, bits_from_raw(type, chunk.data() + at), to, element++)) refuse_number(tensor);
  }
}

void read_raw(const FileTensor& tensor, const ElementType& type, const io::InputFile& file, const Tensor& to) {
  if (is_raw_as_in_memory(type))
    file.read(tensor.offset, to.data(), tensor.bytes);
  else
    read_converted(tensor, type, file, to);
}

// Packed numbers of a fixed size are as raw ones.
std::int64_t read_packed(const FileTensor& tensor, const Field& field, const Tensor& to, std::int64_t at) {
  std::int64_t size = size_of(to.dtype()), bytes = static_cast<std::int64_t>(field.content.size());
  bytes = std::min(bytes, (to.elements() - at) * size);
  tensor.model->file().read(tensor.model->offset_of(field.content.data()), static_cast<char*>(to.data()) + at * size,
                            bytes);
  return bytes / size;
}

// The file may have changed since it was counted.
void read_typed(const FileTensor& tensor, const ElementType& type, const Tensor& to) {
  Message message(*tensor.model, message_of(tensor));
  std::int64_t i = 0, count = to.elements();
  for (Field field; message.next(field);) {
    if (field.number != type.field) continue;
    if (field.wire == Wire::bytes && wire_of(type.field) != Wire::varint) {
      i += read_packed(tensor, field, to, i);
      continue;
    }
    Numbers numbers(field, wire_of(type.field));
    for (std::uint64_t bits = 0; i < count && numbers.next(bits);)
      if (!store_number(type, bits, to, i++)) refuse_number(tensor);
  }
  tensor.model->forget(message_of(tensor));
  if (i != count) tensor.model->reject("changed while it was read");
}

}  // namespace

Type FileTensor::type() const {
  const ElementType* type = find_element(data_type);
  if (!type || !type->dtype)
    model->reject("has a " + described(*this) +
                  " whose elements cannot be computed with: cast them to float or an "
                  "integer type in the model");
  return {*type->dtype, Shape(dims)};
}

bool FileTensor::is_float() const {
  return data_type == element_float || data_type == element_double || data_type == element_float16 ||
         data_type == element_bfloat16;
}

void FileTensor::read_into(const Tensor& to) const {
  if (to.type() != type())
    fail("[onnx] {} is {} in memory and cannot be read as {}", shown(name), to_string(type()), to_string(to.type()));
  const ElementType& element = *find_element(data_type);
  if (stored == Stored::typed)
    read_typed(*this, element, to);
  else if (stored == Stored::external)
    read_raw(*this, element, model->open_beside(location), to);
  else
    read_raw(*this, element, model->file(), to);
}

Tensor FileTensor::read() const {
  Tensor to = Tensor::empty(type());
  read_into(to);
  return to;
}

}  // namespace reprise::onnx
