// SPDX-License-Identifier: Apache-2.0
// The file again with other numbers. It is walked as it was read: what does not change is copied byte for byte,
// messages around what does change get new lengths, and nothing is held but a buffer.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

#include "base/error.h"
#include "onnx/emit.h"
#include "onnx/numbers.h"
#include "onnx/tensors.h"

namespace reprise::onnx {
namespace {

using NewValues = std::map<std::string, Tensor>;
using Changes = std::map<std::int64_t, Change>;  // by the place of the TensorProto

// What is written in place of a message, by the message's place; nothing: it is left out.
using Edits = std::map<std::int64_t, std::function<void(Sink&)>>;

constexpr std::int64_t external_alignment = 4096;  // as ONNX asks, so that parts can be mapped

bool is_external(const FileTensor& tensor) { return tensor.stored == FileTensor::Stored::external; }

void check_value(const std::string& name, const FileTensor& tensor, const Tensor& value) {
  if (value.dtype() != tensor.type().dtype)
    fail("[onnx] {} is {}, the numbers to be written are {}", shown(name), to_string(tensor.type()),
         to_string(value.type()));
  if (tensor.is_float()) return;
  const ElementType& type = *find_element(tensor.data_type);
  std::uint64_t bits = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i)
    if (!load_number(type, value, i, bits))
      fail("[onnx] {} is of {}, which cannot hold its new element {}", shown(name), type.name, i);
}

// Initializers by their names, tensors of Constant nodes by those of their outputs, others by none.
std::vector<std::pair<std::string, const FileTensor*>> tensors_of(const Document& document) {
  std::vector<std::pair<std::string, const FileTensor*>> tensors;
  for (const FileTensor& t : document.initializers) tensors.emplace_back(t.name, &t);
  for (const Node& n : document.nodes)
    for (const NodeAttribute& a : n.attributes)
      if (const auto* t = std::get_if<FileTensor>(&a.value)) {
        bool is_constant = n.op == "Constant" && n.domain.empty() && a.name == "value" && n.outputs.size() == 1;
        tensors.emplace_back(is_constant ? n.outputs[0] : "", t);
      }
  return tensors;
}

Changes changes_of(const Document& document, const NewValues& values) {
  Changes changes;
  std::set<std::string> written;
  for (const auto& [name, tensor] : tensors_of(document)) {
    auto found = name.empty() ? values.end() : values.find(name);
    const Tensor* value = found == values.end() || !written.insert(name).second ? nullptr : &found->second;
    if (value) check_value(name, *tensor, *value);
    if (value || is_external(*tensor)) changes[tensor->message_at] = {tensor, value};
  }
  for (const auto& [name, value] : values)
    if (!written.contains(name))
      fail("[onnx] '{}' has no initializer {} whose numbers could be written", document.path, shown(name));
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
    bytes = change.offset + change.bytes();
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

// Old files declare initializers as inputs, too.
void declare_reshaped(DeclaredShapes& shapes, const Changes& changes) {
  for (const auto& [at, change] : changes) {
    if (!change.is_reshaped() || change.tensor->name.empty()) continue;
    std::vector<Dimension> dims;
    for (std::int64_t size : change.value->shape()) dims.push_back({size, {}});
    shapes.emplace(change.tensor->name, dims);
  }
}

std::string name_of_value(const SourceFile& file, Bytes value_info) {
  std::string name;
  Message message(file, value_info);
  for (Field field; message.next(field);)
    if (field.number == 1) name = field.text();
  return name;
}

// The declarations of inputs and outputs with new dimensions, and hints of inner values, which may not hold any more.
void add_declared(Edits& edits, const SourceFile& file, Bytes graph, const DeclaredShapes& shapes) {
  Message message(file, graph);
  for (Field field; message.next(field);) {
    if ((field.number < 11 || field.number > 13) || field.bytes().empty()) continue;
    std::int64_t at = file.offset_of(field.content.data());
    auto found = field.number == 13 ? shapes.end() : shapes.find(name_of_value(file, field.content));
    if (found != shapes.end())
      edits[at] = [&file, &dims = found->second, bytes = field.content](Sink& to) {
        emit_declared(to, file, bytes, dims);
      };
    else if (field.number == 13)
      edits[at] = nullptr;
  }
}

Edits edits_of(const Changes& changes, const SourceFile& file, const DeclaredShapes& shapes) {
  Edits edits;
  for (const auto& [at, change] : changes) edits[at] = [&c = change](Sink& to) { emit_tensor(to, c); };
  Message message(file, file.bytes());
  for (Field field; !shapes.empty() && message.next(field);)
    if (field.number == 7) add_declared(edits, file, field.bytes(), shapes);
  return edits;
}

// Whether anything in the field is edited, or the field itself.
bool leads_to_edit(const Field& field, const Edits& edits) {
  if (field.content.empty()) return false;
  std::int64_t begin = field.file->offset_of(field.content.data());
  auto next = edits.lower_bound(begin);
  return next != edits.end() && next->first < begin + static_cast<std::int64_t>(field.content.size());
}

// A message again. No two messages begin at the same byte, so what begins where an edited one does is that one.
void emit_message(Sink& to, const SourceFile& file, Bytes bytes, const Edits& edits) {
  Message message(file, bytes);
  for (Field field; message.next(field);) {
    auto here = field.content.empty() ? edits.end() : edits.find(file.offset_of(field.content.data()));
    if (here != edits.end() && !here->second) continue;
    if (here != edits.end())
      emit_nested(to, field, here->second);
    else if (leads_to_edit(field, edits))
      emit_nested(to, field, [&](Sink& s) { emit_message(s, file, field.content, edits); });
    else
      to.copy(file, field.whole);
  }
}

void write_model(const Edits& edits, const SourceFile& file, const std::string& path) {
  Sink count;
  emit_message(count, file, file.bytes(), edits);
  if (count.bytes() > std::numeric_limits<std::int32_t>::max())
    fail("[onnx] '{}' would be larger than the 2 GiB that such a file can have: make external data of its weights",
         path);
  io::OutputFile out("onnx", path);
  out.reserve(count.bytes());
  Sink to(out);
  emit_message(to, file, file.bytes(), edits);
  to.flush();
  if (to.bytes() != count.bytes()) file.reject("changed while it was copied: write again");
  out.commit();
}

}  // namespace

std::vector<std::string> external_files(const Document& document) {
  std::set<std::string> paths;
  std::filesystem::path folder = std::filesystem::path(document.path).parent_path();
  for (const auto& [name, tensor] : tensors_of(document))
    if (is_external(*tensor)) paths.insert((folder / tensor->location).string());
  return {paths.begin(), paths.end()};
}

void write_document(const Document& document, const std::map<std::string, Tensor>& values, const std::string& path,
                    DeclaredShapes shapes) {
  Changes changes = changes_of(document, values);
  declare_reshaped(shapes, changes);
  std::string data_path = external_path(path);
  std::int64_t bytes = place_external(changes, data_path);
  Edits edits = edits_of(changes, *document.source, shapes);
  bool has_external = std::ranges::any_of(changes, [](const auto& c) { return is_external(*c.second.tensor); });
  if (!has_external) return write_model(edits, *document.source, path);
  write_external(changes, bytes, data_path);
  try {
    write_model(edits, *document.source, path);
  } catch (...) {
    unlink(data_path.c_str());
    throw;
  }
}

}  // namespace reprise::onnx
