// SPDX-License-Identifier: Apache-2.0
// Runs a graph node by node: the plain interpreter, and the oracle of every executor to come.
#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/graph.h"

namespace reprise {
namespace {

class Evaluation {
 public:
  Evaluation(const Graph& graph, std::span<const Tensor> inputs)
      : graph_(graph), values_(static_cast<std::size_t>(graph.size())) {
    take_inputs(inputs);
    find_last_uses();
  }

  std::vector<Tensor> run() {
    for (std::int32_t i = 0; i < graph_.size(); ++i) {
      if (last_use_[static_cast<std::size_t>(i)] < 0) continue;  // nobody asks for it
      if (graph_.node(i).op != &input_op) values(i) = run_node(i);
      for (Ref r : graph_.node(i).inputs)
        if (last_use_[static_cast<std::size_t>(r.node)] == i) values(r.node).clear();
    }
    std::vector<Tensor> results;
    for (Ref r : graph_.outputs) results.push_back(value(r));
    return results;
  }

 private:
  std::vector<Tensor>& values(std::int32_t node) { return values_[static_cast<std::size_t>(node)]; }
  const Tensor& value(Ref r) { return values(r.node)[static_cast<std::size_t>(r.output)]; }

  void take_inputs(std::span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs.size())
      fail("[evaluate] the graph has {} inputs, {} tensors were given", graph_.inputs.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Type& wanted = graph_.type({graph_.inputs[i], 0});
      if (inputs[i].type() != wanted)
        fail("[evaluate] input {} is {}, the graph wants {}", i, to_string(inputs[i].type()), to_string(wanted));
      values(graph_.inputs[i]) = {inputs[i]};
    }
  }

  // Per node: the last node that reads it; `size` for outputs; -1 where nothing that is needed reads it.
  void find_last_uses() {
    last_use_.assign(values_.size(), -1);
    for (Ref r : graph_.outputs) last_use_[static_cast<std::size_t>(r.node)] = graph_.size();
    for (std::int32_t i = graph_.size() - 1; i >= 0; --i) {
      if (last_use_[static_cast<std::size_t>(i)] < 0) continue;
      for (Ref r : graph_.node(i).inputs) {
        auto& last = last_use_[static_cast<std::size_t>(r.node)];
        last = std::max(last, i);
      }
    }
  }

  std::vector<Tensor> run_node(std::int32_t i) {
    const Node& node = graph_.node(i);
    if (node.op == &constant_op) return {std::get<Tensor>(*node.attributes.find("value"))};
    if (node.op->view_of >= 0) {
      const Tensor& whole = value(node.inputs[static_cast<std::size_t>(node.op->view_of)]);
      return {whole.reshape(node.outputs[0].shape)};
    }
    if (!node.op->forward) fail("[{}] this op cannot be run", node.op->name);
    std::vector<Tensor> outputs;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const Type& type : node.outputs) out.push_back(outputs.emplace_back(Tensor::empty(type)).data());
    for (Ref r : node.inputs) in.push_back(value(r).data());
    Kernel kernel = node.op->forward(graph_.signature(i, types_));
    Tensor scratch = Tensor::empty({DType::boolean, {kernel.scratch_bytes}});
    kernel.run({in, out, scratch.data()});
    return outputs;
  }

  const Graph& graph_;
  std::vector<std::vector<Tensor>> values_;
  std::vector<std::int32_t> last_use_;
  std::vector<Type> types_;
};

}  // namespace

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs) {
  return Evaluation(graph, inputs).run();
}

}  // namespace reprise
