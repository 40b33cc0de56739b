// SPDX-License-Identifier: Apache-2.0
// The file again with other numbers. It is walked as it was read: what does not change is copied byte for byte,
// messages around what does change get new lengths, and nothing is held but a buffer.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.h"
#include "onnx/emit.h"
#include "onnx/numbers.h"
#include "onnx/tensors.h"

namespace reprise::onnx {
namespace {

using NewValues = std::map<std::string, Tensor>;
using Changes = std::map<std::int64_t, Change>;  // by the place of the TensorProto

constexpr std::int64_t external_alignment = 4096;  // as ONNX asks, so that parts can be mapped

bool is_external(const FileTensor& tensor) { return tensor.stored == FileTensor::Stored::external; }

void check_value(const FileTensor& tensor, const Tensor& value) {
  if (value.type() != tensor.type())
    fail("[onnx] {} is {}, the numbers to be written are {}", shown(tensor.name), to_string(tensor.type()),
         to_string(value.type()));
  if (tensor.is_float()) return;
  const ElementType& type = *find_element(tensor.data_type);
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i)
    if (!load_number(type, value, i, bits))
      fail("[onnx] {} is of {}, which cannot hold its new element {}", shown(tensor.name), type.name, i);
}

Changes changes_of(const Document& document, const NewValues& values) {
  Changes changes;
  std::size_t known = 0;
  for (const FileTensor& t : document.initializers) {
    auto found = values.find(t.name);
    const Tensor* value = found == values.end() ? nullptr : &found->second;
    if (value) check_value(t, *value), ++known;
    if (value || is_external(t)) changes[t.message_at] = {&t, value};
  }
  for (const auto& [name, value] : values)
    if (known < values.size() &&
        std::ranges::find(document.initializers, name, &FileTensor::name) == document.initializers.end())
      fail("[onnx] '{}' has no initializer {} whose numbers could be written", document.path, shown(name));
  for (const Node& n : document.nodes)
    for (const NodeAttribute& a : n.attributes)
      if (const auto* t = std::get_if<FileTensor>(&a.value); t && is_external(*t)) changes[t->message_at] = {t};
  return changes;
}

// A name beside the file that nothing has.
std::string external_path(const std::string& path) {
  std::string name = path + ".data";
  for (int i = 2; std::filesystem::exists(name); ++i) name = fmt::format("{}.{}.data", path, i);
  return name;
}

// Gives external tensors their places in one new file; its size.
std::int64_t place_external(Changes& changes, const std::string& path) {
  std::int64_t bytes = 0;
  for (auto& [at, change] : changes) {
    if (!is_external(*change.tensor)) continue;
    change.location = std::filesystem::path(path).filename().string();
    change.offset = (bytes + external_alignment - 1) / external_alignment * external_alignment;
    bytes = change.offset + change.tensor->bytes;
  }
  return bytes;
}

void write_external(const Changes& changes, std::int64_t bytes, const std::string& path) {
  io::OutputFile out("onnx", path);
  out.reserve(bytes);
  Sink to(out);
  for (const auto& [at, change] : changes) {
    if (!is_external(*change.tensor)) continue;
    const FileTensor& tensor = *change.tensor;
    to.zeros(change.offset - to.bytes());
    if (change.value)
      emit_raw(to, change);
    else
      to.copy(tensor.model->open_beside(tensor.location), tensor.offset, tensor.bytes);
  }
  to.flush();
  out.commit();
}

// Whether a tensor that changes is in the field or is the field.
bool leads_to_change(const Field& field, const Changes& changes) {
  if (field.content.empty()) return false;
  std::int64_t begin = field.file->offset_of(field.content.data());
  auto next = changes.lower_bound(begin);
  return next != changes.end() && next->first < begin + static_cast<std::int64_t>(field.content.size());
}

// A message again. No two messages begin at the same byte, so what begins where a tensor does is the tensor.
void emit_message(Sink& to, const SourceFile& file, Bytes bytes, const Changes& changes) {
  auto here = changes.find(file.offset_of(bytes.data()));
  if (here != changes.end()) return emit_tensor(to, here->second);
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    if (leads_to_change(field, changes))
      emit_nested(to, field, [&](Sink& s) { emit_message(s, file, field.content, changes); });
    else
      to.copy(file, field.whole);
  }
}

void write_model(const Changes& changes, const SourceFile& file, const std::string& path) {
  Sink count;
  emit_message(count, file, file.bytes(), changes);
  if (count.bytes() > std::numeric_limits<std::int32_t>::max())
    fail("[onnx] '{}' would be larger than the 2 GiB that such a file can have: make external data of its weights",
         path);
  io::OutputFile out("onnx", path);
  out.reserve(count.bytes());
  Sink to(out);
  emit_message(to, file, file.bytes(), changes);
  to.flush();
  if (to.bytes() != count.bytes()) file.reject("changed while it was copied: write again");
  out.commit();
}

}  // namespace

void write_document(const Document& document, const std::map<std::string, Tensor>& values, const std::string& path) {
  Changes changes = changes_of(document, values);
  std::string data_path = external_path(path);
  std::int64_t bytes = place_external(changes, data_path);
  bool has_external = std::ranges::any_of(changes, [](const auto& c) { return is_external(*c.second.tensor); });
  if (!has_external) return write_model(changes, *document.source, path);
  write_external(changes, bytes, data_path);
  try {
    write_model(changes, *document.source, path);
  } catch (...) {
    unlink(data_path.c_str());
    throw;
  }
}

}  // namespace reprise::onnx
