// SPDX-License-Identifier: Apache-2.0
// ModelProto and what it holds, field by field. The numbers of the fields are those of ONNX's onnx.proto.
#include "onnx/document.h"

#include <bit>
#include <functional>
#include <optional>
#include <set>

#include "base/error.h"
#include "onnx/footprint.h"
#include "onnx/tensors.h"
#include "onnx/wire.h"

namespace reprise::onnx {
namespace {

// Many times what models have. A file of a few bytes a thing cannot take more memory than these many things do.
constexpr std::int64_t most_things = 500'000;     // names, attributes, tensors, dimensions, nodes once more
constexpr std::int64_t most_numbers = 4'000'000;  // in lists of attributes

// The kinds of attributes, by AttributeProto's numbers.
enum : std::int64_t {
  kind_real = 1,
  kind_integer = 2,
  kind_text = 3,
  kind_tensor = 4,
  kind_reals = 6,
  kind_integers = 7,
  kind_texts = 8
};

// The kind says which of the values counts. A file from before there were kinds has but one.
struct AttributeParts {
  std::string name = {};
  std::int64_t kind = 0, found = 0;
  float real = 0;
  std::int64_t integer = 0;
  std::string text = {};
  std::optional<FileTensor> tensor = {};
  std::vector<float> reals = {};
  std::vector<std::int64_t> integers = {};
  std::vector<std::string> texts = {};
};

class Reader {
 public:
  explicit Reader(std::shared_ptr<const SourceFile> file) : file_(std::move(file)) {}

  Document document();

 private:
  void count(std::int64_t& of, std::int64_t most, const char* what);
  void thing() { count(things_, most_things, "names, attributes and tensors"); }

  void read_opset(Bytes bytes, Document& to);
  void read_graph(Bytes bytes, Document& to);
  void add_initializer(Bytes bytes, Document& to);
  void add_input(Bytes bytes, Document& to);
  Node node(Bytes bytes);
  NodeAttribute attribute(Bytes bytes);
  bool read_value(const Field& field, AttributeParts& to);
  void each_number(const Field& field, Wire scalar, const std::function<void(std::uint64_t)>& use);
  NodeAttribute value_of(AttributeParts& parts) const;
  Declared declared(Bytes bytes);
  void read_type(Bytes bytes, Declared& to);
  void read_tensor_type(Bytes bytes, Declared& to);
  void read_shape(Bytes bytes, Declared& to);
  Dimension dimension(Bytes bytes);

  std::shared_ptr<const SourceFile> file_;
  std::int64_t nodes_ = 0, things_ = 0, numbers_ = 0;
  std::set<std::string> initializer_names_, input_names_;
};

std::string domain_of(const std::string& written) { return written == "ai.onnx" ? "" : written; }

void Reader::count(std::int64_t& of, std::int64_t most, const char* what) {
  if (++of > most) file_->reject(fmt::format("holds more than {} {}: split the model", most, what));
}

Document Reader::document() {
  Document to;
  to.path = file_->file().path();
  to.source = file_;
  bool has_graph = false;
  std::string version;
  Message message(*file_, file_->bytes());
  for (Field field; message.next(field);) {
    if (field.number == 1) to.ir_version = field.integer();
    if (field.number == 2) to.producer = field.text();
    if (field.number == 3) version = field.text();
    if (field.number == 7) {
      if (has_graph) file_->reject("has two graphs: export it again");
      has_graph = true;
      read_graph(field.bytes(), to);
    }
    if (field.number == 8) read_opset(field.bytes(), to);
    if (field.number == 14) {
      thing();
      auto [key, value] = parse_entry(*file_, field.bytes());
      to.metadata[key] = value;
    }
    if (field.number == 25) to.has_functions = true;
  }
  if (!has_graph) file_->reject("has no graph: it is cut short or no ONNX model; export or copy it again");
  if (!version.empty()) to.producer += (to.producer.empty() ? "" : " ") + version;
  return to;
}

void Reader::read_opset(Bytes bytes, Document& to) {
  thing();
  std::string domain;
  std::int64_t version = 0;
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) domain = domain_of(field.text());
    if (field.number == 2) version = field.integer();
  }
  auto [at, is_new] = to.opsets.emplace(domain, version);
  if (!is_new && at->second != version)
    file_->reject(fmt::format("names two versions of operator set {}, {} and {}: export it again", shown(domain),
                              at->second, version));
}

void Reader::read_graph(Bytes bytes, Document& to) {
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) to.nodes.push_back(node(field.bytes()));
    if (field.number == 2) to.graph_name = field.text();
    if (field.number == 5) add_initializer(field.bytes(), to);
    if (field.number == 11) add_input(field.bytes(), to);
    if (field.number == 12) to.outputs.push_back(declared(field.bytes()));
    if (field.number == 15) file_->reject("has sparse initializers: export them as plain tensors");
  }
}

void Reader::add_initializer(Bytes bytes, Document& to) {
  thing();
  FileTensor tensor = parse_tensor(file_, bytes);
  if (tensor.name.empty())
    file_->reject(fmt::format("has an initializer without a name at byte {}: export it again", tensor.message_at));
  if (!initializer_names_.insert(tensor.name).second)
    file_->reject("has two initializers " + shown(tensor.name) + ": export it again");
  to.initializers.push_back(std::move(tensor));
}

void Reader::add_input(Bytes bytes, Document& to) {
  Declared input = declared(bytes);
  if (!input_names_.insert(input.name).second)
    file_->reject("has two inputs " + shown(input.name) + ": export it again");
  to.inputs.push_back(std::move(input));
}

Node Reader::node(Bytes bytes) {
  count(nodes_, most_file_nodes, "nodes");
  thing();
  Node to;
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1 || field.number == 2) {
      thing();
      (field.number == 1 ? to.inputs : to.outputs).push_back(field.text());
    }
    if (field.number == 3) to.name = field.text();
    if (field.number == 4) to.op = field.text();
    if (field.number == 5) to.attributes.push_back(attribute(field.bytes()));
    if (field.number == 7) to.domain = domain_of(field.text());
  }
  return to;
}

NodeAttribute Reader::attribute(Bytes bytes) {
  thing();
  AttributeParts parts;
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) parts.name = field.text();
    if (field.number == 20) parts.kind = field.integer();
    if (read_value(field, parts)) parts.found = field.number - 1;  // as the numbers of kinds and fields happen to be
  }
  return value_of(parts);
}

bool Reader::read_value(const Field& field, AttributeParts& to) {
  switch (field.number) {
    case 2: to.real = field.real(); return true;
    case 3: to.integer = field.integer(); return true;
    case 4: to.text = field.text(); return true;
    case 5: to.tensor = parse_tensor(file_, field.bytes()); return true;
    case 7:
      each_number(field, Wire::fixed32, [&](std::uint64_t bits) {
        to.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      });
      return true;
    case 8:
      each_number(field, Wire::varint,
                  [&](std::uint64_t bits) { to.integers.push_back(static_cast<std::int64_t>(bits)); });
      return true;
    case 9:
      thing();
      to.texts.push_back(field.text());
      return true;
    default: return false;
  }
}

void Reader::each_number(const Field& field, Wire scalar, const std::function<void(std::uint64_t)>& use) {
  Numbers numbers(field, scalar);
  for (std::uint64_t bits = 0; numbers.next(bits);) {
    count(numbers_, most_numbers, "numbers in attributes");
    use(bits);
  }
}

NodeAttribute Reader::value_of(AttributeParts& parts) const {
  switch (parts.kind == 0 ? parts.found : parts.kind) {
    case kind_real: return {parts.name, parts.real};
    case kind_integer: return {parts.name, parts.integer};
    case kind_text: return {parts.name, std::move(parts.text)};
    case kind_tensor:
      if (!parts.tensor)
        file_->reject("has an attribute " + shown(parts.name) + " without its tensor: export it again");
      return {parts.name, std::move(*parts.tensor)};
    case kind_reals: return {parts.name, std::move(parts.reals)};
    case kind_integers: return {parts.name, std::move(parts.integers)};
    case kind_texts: return {parts.name, std::move(parts.texts)};
    default: return {parts.name, Subgraph{}};
  }
}

Declared Reader::declared(Bytes bytes) {
  thing();
  Declared to;
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) to.name = field.text();
    if (field.number == 2) read_type(field.bytes(), to);
  }
  return to;
}

void Reader::read_type(Bytes bytes, Declared& to) {
  Message message(*file_, bytes);
  for (Field field; message.next(field);)
    if (field.number == 1) read_tensor_type(field.bytes(), to);
}

void Reader::read_tensor_type(Bytes bytes, Declared& to) {
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) to.data_type = static_cast<std::int32_t>(field.integer());
    if (field.number == 2) read_shape(field.bytes(), to);
  }
}

void Reader::read_shape(Bytes bytes, Declared& to) {
  to.has_shape = true;
  Message message(*file_, bytes);
  for (Field field; message.next(field);)
    if (field.number == 1) to.dims.push_back(dimension(field.bytes()));
}

Dimension Reader::dimension(Bytes bytes) {
  thing();
  Dimension to;
  Message message(*file_, bytes);
  for (Field field; message.next(field);) {
    if (field.number == 1) to.size = field.integer();
    if (field.number == 2) to.symbol = field.text();
  }
  if (to.size < 0) to.size = -1;
  return to;
}

}  // namespace

Document read_document(const std::string& path, std::int64_t budget) {
  auto file = std::make_shared<SourceFile>(path);
  std::int64_t room = budget > 0 ? room_within(*file, budget) : no_limit;
  Document document = Reader(std::move(file)).document();
  document.room = room;
  return document;
}

FileTensor read_tensor(const std::string& path) {
  auto file = std::make_shared<SourceFile>(path);
  return parse_tensor(file, file->bytes());
}

}  // namespace reprise::onnx
