// SPDX-License-Identifier: Apache-2.0
#include "train/name_step.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "graph/builtin.h"

namespace reprise {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

void set_name(Graph& graph, std::int32_t node, const std::string& name) {
  if (graph.node(node).name.empty()) graph.node(node).name = name;
}

// By state, for the inputs that stand for it.
using Names = std::map<const void*, std::string>;

void name_inputs(Graph& graph, const Names& names) {
  for (const Capture& c : graph.captures)
    if (auto found = names.find(c.state.get()); found != names.end()) set_name(graph, c.input, found->second);
}

std::string layer_of(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.')); }

// The layer whose parameter the node reads, itself or through a view; empty where it reads none.
class Layers {
 public:
  explicit Layers(const Graph& graph) : graph_(graph), layers_(at(graph.size())) {
    for (const Capture& c : graph.captures) layers_[at(c.input)] = layer_of(graph.node(c.input).name);
  }

  const std::string& of(std::int32_t i) {
    const Node& node = graph_.node(i);
    if (node.op == &input_op) return none_;
    const std::string* layer = &none_;
    for (Ref r : node.inputs)
      if (layer->empty()) layer = &layers_[at(r.node)];
    if (node.op->view_of < 0) return *layer;
    layers_[at(i)] = *layer;  // who reads the view reads the parameter
    return none_;
  }

 private:
  const Graph& graph_;
  std::vector<std::string> layers_;
  std::string none_;
};

}  // namespace

void name_forward(Graph& graph, const StepParts& step) {
  Names names;
  for (const Trained& t : step.trained) names.emplace(t.parameter.state().get(), t.name);
  name_inputs(graph, names);
  Layers layers(graph);
  for (std::int32_t i = 0; i < graph.size(); ++i) {
    const std::string& layer = layers.of(i);
    if (!is_given(graph.node(i)))
      set_name(graph, i, layer.empty() ? fmt::format("{}.{}", graph.node(i).op->name, i) : layer);
  }
}

void name_backward(Graph& graph, std::int32_t first) {
  for (std::int32_t i = first; i < graph.size(); ++i)
    if (graph.node(i).op != &input_op) set_name(graph, i, fmt::format("{}.{}.grad", graph.node(i).op->name, i));
}

void name_states(Graph& graph, const StepParts& step) {
  Names names = {{step.rate.state().get(), "optimizer.rate"}, {step.steps.state().get(), "optimizer.steps"}};
  for (const Trained& t : step.trained)
    for (std::size_t k = 0; k < t.states.size(); ++k)
      names.emplace(t.states[k].state().get(), fmt::format("optimizer.{}.{}", t.name, k));
  name_inputs(graph, names);
  int batch = 0;
  for (std::int32_t i : graph.inputs) {
    bool is_state = std::ranges::any_of(graph.captures, [&](const Capture& c) { return c.input == i; });
    if (!is_state) set_name(graph, i, fmt::format("batch.{}", batch++));
  }
}

}  // namespace reprise
