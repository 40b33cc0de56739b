// SPDX-License-Identifier: Apache-2.0
#include "onnx/recording.h"

#include <algorithm>

#include "graph/builtin.h"
#include "onnx/footprint.h"
#include "onnx/order.h"
#include "onnx/source.h"
#include "ops/rules.h"

namespace reprise::onnx {
namespace {

// All that is folded stays below this, and no single node may take longer than that.
constexpr std::int64_t most_folded_in_all = std::int64_t{64} << 20;
constexpr double most_folded_flops = 1e8;

const Tensor* tensor_of_constant(const Value& value) {
  const reprise::Node& node = value.graph()->node(value.ref().node);
  return node.op == &constant_op ? std::get_if<Tensor>(node.attributes.find("value")) : nullptr;
}

// A graph larger than this is no network that anybody trains: a file made it grow.
constexpr std::int64_t most_recorded = 100'000;

// Expressions of constants that are too large to fold become part of the network's graph, once.
void move_into(const std::shared_ptr<Graph>& graph, const Graph& from, const std::vector<Operand*>& values) {
  std::vector<std::int32_t> place;
  for (const reprise::Node& old : from.nodes()) {
    reprise::Node node = old;
    for (Ref& r : node.inputs) r.node = place[static_cast<std::size_t>(r.node)];
    place.push_back(graph->append(std::move(node)));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Ref r = from.outputs[i];
    values[i]->value = Value(graph, {place[static_cast<std::size_t>(r.node)], r.output});
  }
}

Ref copied_constant(Graph& graph, const Value& value) {
  return {graph.append(value.graph()->node(value.ref().node)), value.ref().output};
}

bool is_half(const Value& v) { return v && (v.dtype() == DType::f16 || v.dtype() == DType::bf16); }

// A cap on the memory and the work that evaluating this expression of constants takes.
bool is_cheap(const Graph& graph) {
  std::int64_t bytes = 0;
  double flops = 0;
  std::vector<Type> types;
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    if (graph.node(i).op == &constant_op) continue;
    for (const Type& type : graph.node(i).outputs) {
      if (type.bytes() > most_folded_bytes) return false;
      bytes += type.bytes();
    }
    flops += cost_of(graph.signature(i, types)).flops;
    if (bytes > most_folded_bytes || flops > most_folded_flops) return false;
  }
  return true;
}

// The type of a result in ONNX's words: that of the first operand which is kept in the same dtype.
std::int32_t element_like(const Value& result, const std::vector<Operand>& inputs, const Operator& op) {
  if (op.elements != Elements::tells)
    for (const Operand& in : inputs)
      if (in.value && in.value.dtype() == result.dtype()) return in.data_type;
  return element_of(result.dtype());
}

std::string advice_for(const Node& node, std::int64_t opset) {
  if (node.op == "If" || node.op == "Loop" || node.op == "Scan")
    return "subgraphs are not supported: export with fixed sizes, so that control flow is unrolled";
  if (knows_operator(node))
    return fmt::format("its form of opset {} is not supported: export the model with an opset from 9 to {}", opset,
                       newest_opset);
  if (!node.domain.empty())
    return fmt::format("domain {} is not supported: export without custom operators", shown(node.domain));
  return "not supported: export with it decomposed, or take it out of the part that is trained";
}

}  // namespace

void check_countable(const Type& type) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size : type.shape) {
    if (size > most) fail("[onnx] {} is too large in one dimension", to_string(type));
    sizes.push_back(std::max<std::int64_t>(size, 1));  // empty ones have strides too
  }
  Shape(sizes).elements();
}

std::int64_t Recording::most_operations() const {
  return std::min(most_recorded, (document_.room - held_bytes_) / operation_bytes);
}

void Recording::check_size(const Value& value) const {
  check_countable(value.type());
  std::int64_t most = most_operations();
  if (value.graph()->size() <= most) return;
  if (most < most_recorded)
    fail(
        "[onnx] the graph grows past {} operations, all that there is memory for within the budget: take a larger "
        "one in bytes, train a part of it, or on shorter sequences",
        most);
  fail("[onnx] the graph grows past {} operations: train a part of it, or on shorter sequences", most);
}

void Recording::hold(std::int64_t bytes) {
  held_bytes_ += bytes;
  if (held_bytes_ > document_.room)
    fail(
        "[onnx] '{}' has constants of more than {}, all that there is memory for within the budget: take a larger one "
        "in bytes",
        document_.path, format_bytes(document_.room));
}

void Recording::miss(const std::string& op, const std::string& node, const std::string& why) {
  auto [place, is_new] = places_.emplace(op + '\n' + why, missing_.size());
  if (is_new) missing_.push_back({op, node, 0, why});
  ++missing_[place->second].count;
}

void Recording::give(const std::string& name, Operand operand) {
  check_countable(operand.value.type());
  if (!graph_ && !operand.value.graph()->inputs.empty()) graph_ = operand.value.graph();
  values_[name] = std::move(operand);
}

Operand Recording::value(const std::string& name) const {
  auto found = values_.find(name);
  return found == values_.end() ? Operand{} : found->second;
}

std::vector<Operand> Recording::inputs_of(const Node& node) const {
  std::vector<Operand> inputs;
  for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? Operand{} : value(name));
  while (!inputs.empty() && !inputs.back().value) inputs.pop_back();
  return inputs;
}

void Recording::run(const Node& node) {
  if (graph_ && graph_->size() > most_operations()) return;  // there is an error already, and memory enough was taken
  std::int64_t opset = opset_of(document_, node);
  const Operator* op = find_operator(node, opset);
  if (!op) return miss(node.op, title(node), advice_for(node, opset));
  for (const std::string& name : names_read(node)) need(name);
  for (const std::string& name : names_read(node))
    if (!value(name).value) return;  // something before it is missing
  std::vector<Operand> outputs;
  try {
    outputs = record(node, *op, inputs_of(node));
    for (const Operand& o : outputs)
      if (o.value) check_size(o.value);
  } catch (const UnsupportedForm& e) {
    return miss(node.op, title(node), e.what());
  } catch (const std::exception& e) {
    if (error_.empty())
      error_ = fmt::format("[onnx] '{}' cannot be recorded at {}: {}", document_.path, title(node), e.what());
    return;
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (i < outputs.size() && outputs[i].value)
      give(node.outputs[i], outputs[i]);
    else
      unmade_[node.outputs[i]] = {node.op, title(node), 1, fmt::format("its output {} is not supported", i)};
  }
}

void Recording::need(const std::string& name) {
  if (auto found = unmade_.find(name); found != unmade_.end())
    miss(found->second.op, found->second.node, found->second.why);
}

Surroundings Recording::surroundings(const Node& node) const {
  Surroundings around{.training = training_};
  if (hooks_.dropout_key)
    around.dropout_key = [this, &node] { return hooks_.dropout_key(node.name.empty() ? node.outputs[0] : node.name); };
  around.statistic = [this, &node](int input, const Value& next) {
    auto from = roles_.origin.find(node.inputs[static_cast<std::size_t>(input)]);
    if (from == roles_.origin.end() || roles_.of.at(from->second) != Role::statistic) return;
    if (hooks_.statistic) hooks_.statistic(from->second, next);
  };
  around.value_of = [this](const std::string& name) { return value(name).value; };
  return around;
}

std::vector<Operand> Recording::record(const Node& node, const Operator& op, std::vector<Operand> inputs) {
  bool all_known =
      std::ranges::all_of(inputs, [](const Operand& o) { return !o.value || tensor_of_constant(o.value); });
  if (all_known)  // apart from other expressions, so that only this one is evaluated
    for (Operand& o : inputs)
      if (o.value) o.value = Value(*tensor_of_constant(o.value));
  if (!all_known && graph_ && graph_->inputs.empty())  // constants follow constants: here they have to
    for (Operand& o : inputs)
      if (o.value && o.value.graph() != graph_) o.value = Value(graph_, copied_constant(*graph_, o.value));
  std::vector<Operand> wide = inputs;
  DType half = DType::f32;
  if (op.elements != Elements::moves)
    for (Operand& o : wide)
      if (is_half(o.value)) {
        if (half == DType::f32) half = o.value.dtype();
        o.value = cast(o.value, DType::f32);
      }
  Surroundings around = surroundings(node);
  NodeCall call(node, opset_of(document_, node), wide, around);
  Values results = op.record(call);
  std::vector<Operand> outputs;
  for (Value& v : results) {
    if (v && half != DType::f32 && v.dtype() == DType::f32 && op.elements == Elements::computes) v = cast(v, half);
    std::int32_t element = !v ? 0 : op.element ? op.element(call) : element_like(v, inputs, op);
    if (v && op.elements == Elements::computes) v = wrapped(v, element);
    outputs.push_back({v, element});
  }
  if (all_known) fold(outputs);
  return outputs;
}

void Recording::fold(std::vector<Operand>& outputs) {
  std::map<Graph*, std::vector<Operand*>> expressions;
  for (Operand& o : outputs)
    if (o.value && !tensor_of_constant(o.value) && o.value.graph()->inputs.empty() && o.value.graph() != graph_)
      expressions[o.value.graph().get()].push_back(&o);
  for (const auto& [from, values] : expressions) {
    Graph graph = *from;
    std::int64_t bytes = 0;
    for (const Operand* o : values) graph.outputs.push_back(o->value.ref()), bytes += o->value.type().bytes();
    graph = eliminate_dead_code(graph);
    if (is_cheap(graph) && folded_bytes_ + bytes <= std::min(most_folded_in_all, document_.room)) {
      folded_bytes_ += bytes;
      std::vector<Tensor> tensors = evaluate(graph, {});
      for (std::size_t i = 0; i < values.size(); ++i) values[i]->value = Value(tensors[i]);
    } else {
      if (!graph_) graph_ = std::make_shared<Graph>();
      move_into(graph_, graph, values);
    }
  }
}

void Recording::require_complete() const {
  if (!missing_.empty()) throw UnsupportedModel(document_.path, missing_);
  if (!error_.empty()) throw Error(error_);
}

}  // namespace reprise::onnx
