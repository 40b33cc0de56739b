// SPDX-License-Identifier: Apache-2.0
#include "onnx/emit.h"

#include "onnx/numbers.h"
#include "onnx/tensors.h"

namespace reprise::onnx {
namespace {

// Fields that were not there.
void emit_integer(Sink& to, int number, std::int64_t value) {
  to.varint(static_cast<std::uint64_t>(number << 3));
  to.varint(static_cast<std::uint64_t>(value));
}

void emit_content(Sink& to, int number, const std::function<void(Sink&)>& inside) {
  Sink count;
  inside(count);
  to.varint(static_cast<std::uint64_t>(number << 3 | 2));
  to.varint(static_cast<std::uint64_t>(count.bytes()));
  inside(to);
}

void emit_text(Sink& to, int number, const std::string& text) {
  emit_content(to, number, [&](Sink& s) { s.write(text.data(), static_cast<std::int64_t>(text.size())); });
}

void emit_entry(Sink& to, const std::string& key, const std::string& value) {
  emit_content(to, field_external_data, [&](Sink& s) {
    emit_text(s, 1, key);
    emit_text(s, 2, value);
  });
}

void emit_shape(Sink& to, const std::vector<Dimension>& dims) {
  for (const Dimension& d : dims)
    emit_content(to, 1, [&](Sink& s) {
      if (d.size >= 0)
        emit_integer(s, 1, d.size);
      else if (!d.symbol.empty())
        emit_text(s, 2, d.symbol);
    });
}

// A message whose fields of that number are written by `inside`.
void emit_with(Sink& to, const SourceFile& file, Bytes bytes, int number,
               const std::function<void(Sink&, const Field&)>& inside) {
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    if (field.number == number)
      inside(to, field);
    else
      to.copy(file, field.whole);
  }
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
  if (count > value.elements() - at) field.file->reject("changed while it was copied: write again");
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

// A tensor's fields one after the other.
struct TensorEmitter {
  using Stored = FileTensor::Stored;

  const Change& change;
  const FileTensor& tensor = *change.tensor;
  const ElementType& type = *find_element(tensor.data_type);
  bool has_dims = !change.is_reshaped(), has_place = tensor.stored != Stored::external;
  bool has_raw = !change.is_reshaped() || tensor.stored == Stored::external;
  std::int64_t at = 0;  // the next element

  void emit(Sink& to, const Field& field) {
    bool is_typed = change.value && tensor.stored == Stored::typed && field.number == type.field;
    bool is_empty_raw = change.is_reshaped() && tensor.stored == Stored::typed && field.number == field_raw_data;
    if (change.is_reshaped() && field.number == field_dims)
      emit_dims(to);
    else if (tensor.stored == Stored::external && field.number == field_external_data && says_where(field))
      emit_place(to);
    else if (change.value && tensor.stored == Stored::raw && field.number == field_raw_data)
      emit_nested(to, field, [&](Sink& s) { emit_raw(s, change); }), has_raw = true;
    else if (is_typed && !change.is_reshaped())
      emit_typed(to, field, type, *change.value, at);
    else if (!is_typed && !is_empty_raw)
      to.copy(*tensor.model, field.whole);
  }

  // New dimensions where there were none, and numbers as raw bytes where they were typed.
  void emit_missing(Sink& to) {
    emit_dims(to);
    if (!has_raw) emit_content(to, field_raw_data, [&](Sink& s) { emit_raw(s, change); });
  }

  void emit_dims(Sink& to) {
    if (has_dims) return;
    for (std::int64_t size : change.value->shape()) emit_integer(to, field_dims, size);
    has_dims = true;
  }

  void emit_place(Sink& to) {
    if (has_place) return;
    emit_entry(to, "location", change.location);
    emit_entry(to, "offset", std::to_string(change.offset));
    emit_entry(to, "length", std::to_string(change.bytes()));
    has_place = true;
  }
};

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

void emit_declared(Sink& to, const SourceFile& file, Bytes bytes, const std::vector<Dimension>& dims) {
  auto tensor_type = [&](Sink& s, Bytes inner) {
    emit_with(s, file, inner, 2, [](Sink&, const Field&) {});
    emit_content(s, 2, [&](Sink& shape) { emit_shape(shape, dims); });
  };
  auto type = [&](Sink& s, Bytes inner) {
    emit_with(s, file, inner, 1, [&](Sink& at, const Field& field) {
      emit_nested(at, field, [&](Sink& content) { tensor_type(content, field.bytes()); });
    });
  };
  emit_with(to, file, bytes, 2, [&](Sink& at, const Field& field) {
    emit_nested(at, field, [&](Sink& content) { type(content, field.bytes()); });
  });
}

std::int64_t Change::bytes() const {
  return value ? raw_bytes(*find_element(tensor->data_type), value->elements()) : tensor->bytes;
}

void emit_tensor(Sink& to, const Change& change) {
  TensorEmitter emitter{change};
  Message message(*change.tensor->model, message_of(*change.tensor));
  for (Field field; message.next(field);) emitter.emit(to, field);
  emitter.emit_missing(to);
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
