// SPDX-License-Identifier: Apache-2.0
#include "onnx/emit.h"

#include "onnx/numbers.h"
#include "onnx/tensors.h"

namespace reprise::onnx {
namespace {

void emit_entry(Sink& to, const Field& field, const std::string& key, const std::string& value) {
  Sink count;
  auto inside = [&](Sink& s) {
    s.varint(1 << 3 | 2), s.varint(key.size()), s.write(key.data(), static_cast<std::int64_t>(key.size()));
    s.varint(2 << 3 | 2), s.varint(value.size()), s.write(value.data(), static_cast<std::int64_t>(value.size()));
  };
  inside(count);
  to.copy(*field.file, field.tag);
  to.varint(static_cast<std::uint64_t>(count.bytes()));
  inside(to);
}

bool is_same_number(const ElementType& type, std::uint64_t a, std::uint64_t b) {
  if (type.number == element_bool) return (a != 0) == (b != 0);
  return type.dtype == DType::i32 ? static_cast<std::int32_t>(a) == static_cast<std::int32_t>(b) : a == b;
}

// Numbers of one field in place of those there, from element `at` on.
void emit_numbers(Sink& to, const Field& field, const ElementType& type, const Tensor& value, std::int64_t at) {
  Wire wire = wire_of(type.field);
  Numbers numbers(field, wire);
  std::uint64_t now = 0;
  for (std::uint64_t before = 0; numbers.next(before); ++at) {
    load_number(type, value, at, now);
    if (is_same_number(type, before, now))
      to.write(numbers.last().data(), static_cast<std::int64_t>(numbers.last().size()));
    else if (wire == Wire::varint)
      to.varint(now);
    else
      to.write(&now, wire == Wire::fixed32 ? 4 : 8);
  }
}

void emit_typed(Sink& to, const Field& field, const ElementType& type, const Tensor& value, std::int64_t& at) {
  std::int64_t count = Numbers(field, wire_of(type.field)).count();
  auto inside = [&](Sink& s) { emit_numbers(s, field, type, value, at); };
  auto packed = [&](Sink& s) {
    if (wire_of(type.field) == Wire::varint) return inside(s);
    std::int64_t size = size_of(value.dtype());  // which are as in memory
    s.write(static_cast<const char*>(value.data()) + at * size, count * size);
  };
  if (field.wire == Wire::bytes) {
    emit_nested(to, field, packed);
  } else {
    to.write(field.tag.data(), static_cast<std::int64_t>(field.tag.size()));
    inside(to);
  }
  at += count;
}

bool says_where(const Field& field) {
  std::string key = parse_entry(*field.file, field.content).first;
  return key == "location" || key == "offset" || key == "length" || key == "checksum";
}

}  // namespace

void emit_nested(Sink& to, const Field& field, const std::function<void(Sink&)>& inside) {
  Sink count;
  inside(count);
  if (count.bytes() == static_cast<std::int64_t>(field.content.size())) {
    to.copy(*field.file, field.whole.first(field.whole.size() - field.content.size()));
  } else {
    to.copy(*field.file, field.tag);
    to.varint(static_cast<std::uint64_t>(count.bytes()));
  }
  inside(to);
}

void emit_tensor(Sink& to, const Change& change) {
  const FileTensor& tensor = *change.tensor;
  const ElementType& type = *find_element(tensor.data_type);
  bool is_placed = false;
  std::int64_t at = 0;
  Message message(*tensor.model, message_of(tensor));
  for (Field field; message.next(field);) {
    if (tensor.stored == FileTensor::Stored::external && field.number == field_external_data && says_where(field)) {
      if (is_placed) continue;
      emit_entry(to, field, "location", change.location);
      emit_entry(to, field, "offset", std::to_string(change.offset));
      emit_entry(to, field, "length", std::to_string(tensor.bytes));
      is_placed = true;
    } else if (change.value && tensor.stored == FileTensor::Stored::raw && field.number == field_raw_data) {
      emit_nested(to, field, [&](Sink& s) { emit_raw(s, change); });
    } else if (change.value && tensor.stored == FileTensor::Stored::typed && field.number == type.field) {
      emit_typed(to, field, type, *change.value, at);
    } else {
      to.copy(*tensor.model, field.whole);
    }
  }
}

void emit_raw(Sink& to, const Change& change) {
  const ElementType& type = *find_element(change.tensor->data_type);
  if (is_raw_as_in_memory(type)) return to.write(change.value->data(), change.value->bytes());
  std::uint64_t bits = 0;
  std::uint8_t raw[8];
  for (std::int64_t i = 0; i < change.value->elements(); ++i) {
    load_number(type, *change.value, i, bits);
    bits_to_raw(type, bits, raw);
    to.write(raw, type.bits / 8);
  }
}

}  // namespace reprise::onnx
