// SPDX-License-Identifier: Apache-2.0
#include "graph/backpropagate.h"

#include <algorithm>

#include "base/error.h"

namespace reprise {
namespace {

using Stops = std::function<bool(std::int32_t)>;

Value cast_to(const Value& v, DType dtype) { return record("cast", {v}, {{"dtype", std::string(to_string(dtype))}}); }

// Halves are for storage: they are summed in f32.
Value sum_of(const Value& a, const Value& b) {
  DType dtype = a.dtype();
  if (dtype != DType::f16 && dtype != DType::bf16) return record("add", {a, b});
  return cast_to(record("add", {cast_to(a, DType::f32), cast_to(b, DType::f32)}), dtype);
}

// Reaches the nodes first..last and those of `wrt`, however far before them: the memory and time of a walk do not grow
// with the rest of the graph.
class Walk {
 public:
  Walk(std::shared_ptr<Graph> graph, std::int32_t first, std::int32_t last, const Values& wrt, const Stops& stops)
      : graph_(std::move(graph)), first_(first), stops_(stops) {
    for (const Value& v : wrt)
      if (std::int32_t node = v.ref().node; node < first && place(node) < 0) before_.push_back(node);
    gradients_.resize(before_.size() + static_cast<std::size_t>(std::max(0, last + 1 - first)));
    mark_dependent(wrt);
  }

  void add(Ref r, const Value& gradient) {
    if (!gradient || !depends(r.node) || !is_float(graph_->type(r).dtype)) return;
    if (gradient.type() != graph_->type(r))
      fail("[internal] the gradient of {} at '{}' is {}", to_string(graph_->type(r)), graph_->node(r.node).op->name,
           to_string(gradient.type()));
    Value& sum = slot(r);
    sum = sum ? sum_of(sum, gradient) : gradient;
  }

  void visit(std::int32_t i) {
    if (!depends(i) || slots(i).empty() || is_stop(i)) return;
    const Op& op = *graph_->node(i).op;
    Refs inputs = graph_->node(i).inputs;
    bool wanted = std::ranges::any_of(inputs, [&](Ref r) { return depends(r.node); });
    if (!wanted) return;
    if (!op.gradient)
      fail("[{}] has no gradient{}: use stop_gradient before it, or an op that has one", op.name,
           graph_->node(i).name.empty() ? "" : " (at '" + graph_->node(i).name + "')");
    std::int32_t first = graph_->size();
    Values dy = complete(i);
    Values dx = op.gradient(Call(graph_, i), dy);
    if (dx.size() != inputs.size())
      fail("[internal] the gradient rule of '{}' gave {} gradients for {} inputs", op.name, dx.size(), inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) add(inputs[k], dx[k]);
    for (std::int32_t made = first; made < graph_->size(); ++made) graph_->node(made).is_backward = true;
    name_after(i, first);
  }

  Value gradient(Ref r) {
    if (place(r.node) < 0 || slots(r.node).empty()) return {};
    return slot(r);
  }

 private:
  // Where a node's gradients are kept; -1 for a node out of reach.
  std::ptrdiff_t place(std::int32_t node) const {
    if (node < first_) {
      auto found = std::ranges::find(before_, node);
      return found == before_.end() ? -1 : found - before_.begin();
    }
    std::size_t at = before_.size() + static_cast<std::size_t>(node - first_);
    return at < gradients_.size() ? static_cast<std::ptrdiff_t>(at) : -1;
  }
  bool depends(std::int32_t node) const {
    std::ptrdiff_t at = place(node);
    return at >= 0 && depends_[static_cast<std::size_t>(at)];
  }

  bool is_stop(std::int32_t node) const { return stops_ && stops_(node); }

  // Only nodes that some value of `wrt` reaches carry gradients.
  void mark_dependent(const Values& wrt) {
    depends_.assign(gradients_.size(), false);
    for (const Value& v : wrt)
      if (std::ptrdiff_t at = place(v.ref().node); at >= 0) depends_[static_cast<std::size_t>(at)] = true;
    for (std::size_t i = before_.size(); i < depends_.size(); ++i) {
      std::int32_t node = first_ + static_cast<std::int32_t>(i - before_.size());
      if (is_stop(node)) continue;
      for (Ref r : graph_->node(node).inputs)
        if (depends(r.node)) depends_[i] = true;
    }
  }

  Values& slots(std::int32_t node) { return gradients_[static_cast<std::size_t>(place(node))]; }
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

  // What the rule of node i recorded, from node `first` on, is named after it if it has a name.
  void name_after(std::int32_t i, std::int32_t first) {
    if (graph_->node(i).name.empty()) return;
    std::string name = graph_->node(i).name + ".grad";
    for (std::int32_t made = first; made < graph_->size(); ++made)
      if (graph_->node(made).name.empty()) graph_->node(made).name = name;
  }

  Value zeros(const Type& type) {
    Attributes attributes{{"shape", type.shape.sizes()}, {"dtype", std::string(to_string(type.dtype))}, {"value", 0.0}};
    return {graph_, {graph_->add(*find_op("full"), {}, std::move(attributes)), 0}};
  }

  std::shared_ptr<Graph> graph_;
  std::int32_t first_;
  const Stops& stops_;
  std::vector<std::int32_t> before_;  // nodes of `wrt` before the first
  std::vector<Values> gradients_;     // per place, per output
  std::vector<bool> depends_;
};

// Walks the nodes from `first` on; what comes before them is not entered.
Values backpropagate_to(std::int32_t first, const Values& outputs, const Values& seeds, const Values& wrt,
                        const Stops& stops) {
  if (outputs.empty() || outputs.size() != seeds.size())
    fail("[gradient] {} outputs and {} seeds: give one seed an output", outputs.size(), seeds.size());
  std::int32_t last = 0;
  for (const Value& v : outputs) last = std::max(last, v.ref().node);
  Walk walk(outputs[0].graph(), first, last, wrt, stops);
  for (std::size_t i = 0; i < outputs.size(); ++i) walk.add(outputs[i].ref(), seeds[i]);
  for (std::int32_t i = last; i >= first; --i) walk.visit(i);
  Values gradients;
  for (const Value& v : wrt) gradients.push_back(walk.gradient(v.ref()));
  return gradients;
}

}  // namespace

Values backpropagate(const Values& outputs, const Values& seeds, const Values& wrt) {
  return backpropagate_to(0, outputs, seeds, wrt, {});
}

Values backpropagate(const Values& outputs, const Values& seeds, const Values& wrt, const Stops& stops) {
  return backpropagate_to(0, outputs, seeds, wrt, stops);
}

// The inputs count as independent of each other, though one may be computed from another: the walk stays inside the
// expression. A value that is an input twice gets its whole gradient once.
Values gradient_of_expression(const Call& call, const Values& dy, Values (*expression)(const Call&)) {
  Values inputs = call.inputs();
  std::int32_t first = inputs[0].graph()->size();
  Values gradients = backpropagate_to(first, expression(call), dy, inputs, {});
  for (std::size_t i = 1; i < inputs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (inputs[k].ref() == inputs[i].ref()) gradients[i] = Value{};
  return gradients;
}

}  // namespace reprise
