// SPDX-License-Identifier: Apache-2.0
#include "onnx/importer.h"

#include <algorithm>

#include "base/error.h"
#include "onnx/fuse.h"
#include "onnx/order.h"
#include "onnx/recording.h"
#include "onnx/roles.h"
#include "onnx/source.h"

namespace reprise::onnx {
namespace {

std::string told(const std::string& path, const std::vector<Missing>& missing) {
  std::string text = fmt::format("[onnx] '{}' needs what is not supported:", path);
  constexpr std::size_t most_lines = 200;
  for (const Missing& m : std::span(missing).first(std::min(missing.size(), most_lines))) {
    std::string others = m.count > 1 ? fmt::format(" and {} more", m.count - 1) : "";
    text += fmt::format("\n  {}{}: {}", m.node, others, m.why);
  }
  if (missing.size() > most_lines) text += fmt::format("\n  and {} other things", missing.size() - most_lines);
  return text;
}

struct InputPlan {
  std::string name;
  std::int32_t data_type = 0;
  Type type;
};

using Symbols = std::map<std::string, std::int64_t>;

std::int64_t bound_size(const Document& document, const Declared& input, std::size_t axis, std::int64_t batch,
                        Symbols& symbols) {
  const Dimension& d = input.dims[axis];
  if (d.size >= 0) return d.size;
  auto known = d.symbol.empty() ? symbols.end() : symbols.find(d.symbol);
  if (known != symbols.end()) return known->second;
  if (axis > 0)
    fail("[onnx] '{}' leaves dimension {} of input {} open ({}): say its shape", document.path, axis, shown(input.name),
         d.symbol.empty() ? "not named" : shown(d.symbol));
  std::int64_t size = batch > 0 ? batch : 1;
  if (!d.symbol.empty()) symbols[d.symbol] = size;
  return size;
}

void bind_given(const Declared& input, const std::vector<std::int64_t>& shape, Symbols& symbols) {
  for (std::size_t i = 0; i < std::min(input.dims.size(), shape.size()); ++i)
    if (input.dims[i].size < 0 && !input.dims[i].symbol.empty()) symbols[input.dims[i].symbol] = shape[i];
}

Shape bound_shape(const Document& document, const Declared& input, const ImportOptions& options, Symbols& symbols) {
  std::vector<std::int64_t> sizes;
  if (auto given = options.shapes.find(input.name); given != options.shapes.end()) {
    sizes = given->second;
  } else {
    if (!input.has_shape)
      fail("[onnx] '{}' leaves the shape of input {} open: say it", document.path, shown(input.name));
    for (std::size_t i = 0; i < input.dims.size(); ++i)
      sizes.push_back(bound_size(document, input, i, options.batch, symbols));
  }
  Shape shape(sizes);
  shape.elements();
  return shape;
}

Values as_graph_inputs(const std::shared_ptr<Graph>& graph, const std::vector<InputPlan>& inputs) {
  Values values;
  for (const InputPlan& input : inputs) values.emplace_back(graph, graph->add_input(input.type, input.name));
  return values;
}

}  // namespace

UnsupportedModel::UnsupportedModel(const std::string& path, std::vector<Missing> missing)
    : Error(told(path, missing)), missing_(std::move(missing)) {}

struct Network::Plan {
  std::shared_ptr<const Document> document;
  ImportOptions options;
  std::vector<InputPlan> inputs;
  std::vector<std::string> unusable;  // inputs of a type that we do not have
  Roles roles;
  Fused training, inference;
  std::map<std::string, const FileTensor*> initializers;
  NamedTypes input_types, output_types;
  std::vector<std::string> notes;

  Plan(std::shared_ptr<const Document> given, ImportOptions chosen)
      : document(std::move(given)), options(std::move(chosen)) {
    check_opset();
    for (const FileTensor& t : document->initializers) initializers[t.name] = &t;
    bind_inputs();
    std::vector<std::string> wanted;
    for (const Declared& output : document->outputs) wanted.push_back(output.name);
    std::vector<Node> nodes = needed_nodes(ordered_nodes(*document), wanted);
    roles = find_roles(*document, nodes);
    notes = notes_on(*document, nodes);
    notes.insert(notes.end(), roles.notes.begin(), roles.notes.end());
    training = options.fuse ? fuse(*document, nodes, true) : Fused{nodes, {}};
    inference = options.fuse ? fuse(*document, nodes, false) : Fused{nodes, {}};
  }

  void check_opset() const {
    auto own = document->opsets.find("");
    if (std::ranges::any_of(document->nodes, [](const Node& n) { return n.domain == fused_domain; }))
      fail("[onnx] '{}' uses the domain {}, which is ours: export without it", document->path, fused_domain);
    bool is_own = std::ranges::any_of(document->nodes, [](const Node& n) { return n.domain.empty(); });
    if (own == document->opsets.end() && is_own)
      fail("[onnx] '{}' does not say its opset: export it again", document->path);
    if (own != document->opsets.end() && own->second > newest_opset)
      fail("[onnx] '{}' is of opset {}: opsets up to {} are known, export with one of those", document->path,
           own->second, newest_opset);
  }

  void bind_inputs() {
    Symbols symbols;
    for (const Declared& input : document->inputs)
      if (auto given = options.shapes.find(input.name); given != options.shapes.end())
        bind_given(input, given->second, symbols);
    for (const Declared& input : document->inputs) {
      if (initializers.contains(input.name) || options.known.contains(input.name)) continue;
      if (!is_number(input.data_type)) {
        unusable.push_back(input.name);
        continue;
      }
      inputs.push_back({input.name,
                        input.data_type,
                        {dtype_of_element(input.data_type), bound_shape(*document, input, options, symbols)}});
      input_types.emplace_back(input.name, inputs.back().type);
    }
  }

  // Of ONNX's element types; not strings, complex numbers and the 8-bit floats.
  static bool is_number(std::int32_t data_type) {
    return (data_type > 0 && data_type < element_complex64 && data_type != element_string) ||
           data_type == element_bfloat16;
  }

  void give_initializer(Recording& recording, const FileTensor& t, const Hooks& hooks) const {
    bool read_here = roles.of.at(t.name) == Role::constant;
    if (read_here) recording.hold(t.type().bytes());
    recording.give(t.name, {read_here ? Value(t.read()) : hooks.initializer(t.name), t.data_type});
  }

  std::int32_t declared_type(const std::string& name) const {
    for (const Declared& input : document->inputs)
      if (input.name == name) return input.data_type;
    return 0;
  }

  // What nodes and outputs read from outside, and nothing else.
  void give_all(Recording& recording, const Values& values, const Hooks& hooks, const std::vector<Node>& nodes) const {
    std::map<std::string, bool> read;
    for (const Node& node : nodes)
      for (const std::string& name : names_read(node)) read[name] = true;
    for (const Declared& output : document->outputs) read[output.name] = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) recording.give(inputs[i].name, {values[i], inputs[i].data_type});
    for (const auto& [name, tensor] : options.known) recording.give(name, {Value(tensor), declared_type(name)});
    for (const FileTensor& t : document->initializers)
      if (read.contains(t.name) && is_number(t.data_type))
        give_initializer(recording, t, hooks);
      else if (read.contains(t.name))
        recording.miss("initializer", "initializer " + shown(t.name), "it holds no numbers that we have");
    for (const std::string& name : unusable)
      if (read.contains(name))
        recording.miss("input", name,
                       "it is no tensor of numbers: strings, sequences and optional values are not supported");
  }

  Values record(const Values& values, const Hooks& hooks, bool train) const {
    if (values.size() != inputs.size())
      fail("[onnx] '{}' has {} inputs, {} values were given", document->path, inputs.size(), values.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (values[i].type() != inputs[i].type)
        fail("[onnx] input '{}' is bound to {}, the value given is {}", inputs[i].name, to_string(inputs[i].type),
             to_string(values[i].type()));
    const std::vector<Node>& nodes = train ? training.nodes : inference.nodes;
    Recording recording(*document, roles, hooks, train);
    give_all(recording, values, hooks, nodes);
    for (const Node& node : nodes) recording.run(node);
    Values outputs;
    for (const Declared& output : document->outputs) {
      recording.need(output.name);
      outputs.push_back(recording.value(output.name).value);
    }
    recording.require_complete();
    return outputs;
  }

  // Weights stand as inputs of a graph that is thrown away: nothing of them is read.
  void rehearse() {
    auto graph = std::make_shared<Graph>();
    Values values = as_graph_inputs(graph, inputs);
    Hooks hooks;
    hooks.initializer = [&](const std::string& name) {
      return Value(graph, graph->add_input(initializers.at(name)->type(), name));
    };
    hooks.dropout_key = [&](const std::string& node) {
      return Value(graph, graph->add_input({DType::i64, {2}}, node));
    };
    Values outputs = record(values, hooks, true);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      output_types.emplace_back(document->outputs[i].name, outputs[i].type());
  }
};

Network::Network(std::shared_ptr<const Document> document, ImportOptions options) {
  auto plan = std::make_shared<Plan>(std::move(document), std::move(options));
  plan->rehearse();
  plan_ = std::move(plan);
}

const Document& Network::document() const { return *plan_->document; }
const NamedTypes& Network::inputs() const { return plan_->input_types; }
const NamedTypes& Network::outputs() const { return plan_->output_types; }
const std::vector<std::string>& Network::notes() const { return plan_->notes; }
const std::map<std::string, int>& Network::fused() const { return plan_->training.counts; }

Role Network::role(const std::string& initializer) const {
  auto found = plan_->roles.of.find(initializer);
  if (found == plan_->roles.of.end()) fail("[onnx] '{}' has no initializer '{}'", plan_->document->path, initializer);
  return found->second;
}

Values Network::record(const Values& inputs, const Hooks& hooks, bool training) const {
  return plan_->record(inputs, hooks, training);
}

}  // namespace reprise::onnx
