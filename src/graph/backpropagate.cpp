// SPDX-License-Identifier: Apache-2.0
#include "graph/backpropagate.h"

#include <algorithm>

#include "base/error.h"

namespace reprise {
namespace {

class Walk {
 public:
  Walk(std::shared_ptr<Graph> graph, std::int32_t last)
      : graph_(std::move(graph)), gradients_(static_cast<std::size_t>(last) + 1) {}

  // Nodes up to the last output that some value of `wrt` reaches: only they carry gradients.
  void mark_dependent(const Values& wrt) {
    depends_.assign(gradients_.size(), false);
    for (const Value& v : wrt)
      if (static_cast<std::size_t>(v.ref().node) < depends_.size())
        depends_[static_cast<std::size_t>(v.ref().node)] = true;
    for (std::size_t i = 0; i < depends_.size(); ++i)
      for (Ref r : graph_->node(static_cast<std::int32_t>(i)).inputs)
        if (depends_[static_cast<std::size_t>(r.node)]) depends_[i] = true;
  }

  void add(Ref r, const Value& gradient) {
    if (!gradient || !depends_[static_cast<std::size_t>(r.node)] || !is_float(graph_->type(r).dtype)) return;
    if (gradient.type() != graph_->type(r))
      fail("[internal] the gradient of {} at '{}' is {}", to_string(graph_->type(r)), graph_->node(r.node).op->name,
           to_string(gradient.type()));
    Value& sum = slot(r);
    sum = sum ? record("add", {sum, gradient}) : gradient;
  }

  void visit(std::int32_t i) {
    if (!depends_[static_cast<std::size_t>(i)] || slots(i).empty()) return;
    const Op& op = *graph_->node(i).op;
    std::vector<Ref> inputs = graph_->node(i).inputs;
    bool wanted = std::ranges::any_of(inputs, [&](Ref r) { return depends_[static_cast<std::size_t>(r.node)]; });
    if (!wanted) return;
    if (!op.gradient)
      fail("[{}] has no gradient{}: use stop_gradient before it, or an op that has one", op.name,
           graph_->node(i).name.empty() ? "" : " (at '" + graph_->node(i).name + "')");
    Values dy = complete(i);
    Values dx = op.gradient(Call(graph_, i), dy);
    if (dx.size() != inputs.size())
      fail("[internal] the gradient rule of '{}' gave {} gradients for {} inputs", op.name, dx.size(), inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) add(inputs[k], dx[k]);
  }

  Value gradient(Ref r) {
    if (static_cast<std::size_t>(r.node) >= gradients_.size() || slots(r.node).empty()) return {};
    return slot(r);
  }

 private:
  Values& slots(std::int32_t node) { return gradients_[static_cast<std::size_t>(node)]; }
  Value& slot(Ref r) {
    if (slots(r.node).empty()) slots(r.node).resize(graph_->node(r.node).outputs.size());
    return slots(r.node)[static_cast<std::size_t>(r.output)];
  }

  // The gradients of a node's outputs; outputs nobody used have zeros.
  Values complete(std::int32_t i) {
    Values dy = slots(i);
    for (std::size_t k = 0; k < dy.size(); ++k)
      if (!dy[k]) dy[k] = zeros(graph_->node(i).outputs[k]);
    return dy;
  }

  Value zeros(const Type& type) {
    Attributes attributes{{"shape", type.shape.sizes()}, {"dtype", std::string(to_string(type.dtype))}, {"value", 0.0}};
    return {graph_, {graph_->add(*find_op("full"), {}, std::move(attributes)), 0}};
  }

  std::shared_ptr<Graph> graph_;
  std::vector<Values> gradients_;  // per node, per output
  std::vector<bool> depends_;
};

// Walks the nodes from `first` on; what comes before them is not entered.
Values backpropagate_to(std::int32_t first, const Values& outputs, const Values& seeds, const Values& wrt) {
  if (outputs.empty() || outputs.size() != seeds.size())
    fail("[gradient] {} outputs and {} seeds: give one seed an output", outputs.size(), seeds.size());
  std::int32_t last = 0;
  for (const Value& v : outputs) last = std::max(last, v.ref().node);
  Walk walk(outputs[0].graph(), last);
  walk.mark_dependent(wrt);
  for (std::size_t i = 0; i < outputs.size(); ++i) walk.add(outputs[i].ref(), seeds[i]);
  for (std::int32_t i = last; i >= first; --i) walk.visit(i);
  Values gradients;
  for (const Value& v : wrt) gradients.push_back(walk.gradient(v.ref()));
  return gradients;
}

}  // namespace

Values backpropagate(const Values& outputs, const Values& seeds, const Values& wrt) {
  return backpropagate_to(0, outputs, seeds, wrt);
}

// The inputs count as independent of each other, though one may be computed from another: the walk stays inside the
// expression. A value that is an input twice gets its whole gradient once.
Values gradient_of_expression(const Call& call, const Values& dy, Values (*expression)(const Call&)) {
  Values inputs = call.inputs();
  std::int32_t first = inputs[0].graph()->size();
  Values gradients = backpropagate_to(first, expression(call), dy, inputs);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (inputs[k].ref() == inputs[i].ref()) gradients[i] = Value{};
  return gradients;
}

}  // namespace reprise
