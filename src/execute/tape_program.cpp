// SPDX-License-Identifier: Apache-2.0
#include "execute/tape_program.h"

#include <algorithm>

#include "base/error.h"
#include "execute/kernel_cache.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

constexpr std::int64_t small_constant_bytes = 16;  // computed once, not at every run

class Compiler {
 public:
  Compiler(const Graph& from, std::int32_t node, const Mask& given, const Mask& wanted)
      : node_(from.node(node)), wanted_(wanted), graph_(std::make_shared<Graph>()) {
    program_.arity = static_cast<std::int32_t>(node_.inputs.size());
    program_.output_count = static_cast<std::int32_t>(node_.outputs.size());
    program_.first_constant = program_.arity + 2 * program_.output_count;
    record(from, given);
  }

  GradientProgram compile() {
    find_needed();
    for (std::int32_t i = 0; i < graph_->size(); ++i)
      if (is_needed(i)) place_constant(i);
    program_.first_temporary = program_.slot_count = program_.first_constant + count(program_.constants.size());
    for (std::int32_t i = call_ + 1; i < graph_->size(); ++i)
      if (is_needed(i) && first_slot(i) < 0) place_step(i);
    place_results();
    find_used();
    find_dead();
    return std::move(program_);
  }

 private:
  static std::int32_t count(std::size_t n) { return static_cast<std::int32_t>(n); }
  bool is_needed(std::int32_t i) const { return needed_[static_cast<std::size_t>(i)]; }
  std::int32_t& first_slot(std::int32_t i) { return slots_[static_cast<std::size_t>(i)]; }

  void record(const Graph& from, const Mask& given) {
    const Op& op = *node_.op;
    if (!op.gradient) fail("[{}] has no gradient: use stop_gradient before it, or an op that has one", op.name);
    std::vector<Ref> inputs;
    for (Ref r : node_.inputs) inputs.push_back(graph_->add_input(from.type(r)));
    call_ = graph_->append({&op, inputs, node_.attributes, node_.outputs});
    Values dy;
    for (std::size_t k = 0; k < node_.outputs.size(); ++k)
      dy.push_back(given[k] ? Value(graph_, graph_->add_input(node_.outputs[k])) : zeros(node_.outputs[k]));
    gradients_ = op.gradient(Call(graph_, call_), dy);
    if (gradients_.size() != inputs.size())
      fail("[internal] the gradient rule of '{}' gave {} gradients for {} inputs", op.name, gradients_.size(),
           inputs.size());
    slots_.assign(static_cast<std::size_t>(graph_->size()), -1);
    for (std::int32_t i = 0; i < program_.arity; ++i) first_slot(inputs[static_cast<std::size_t>(i)].node) = i;
    first_slot(call_) = program_.arity;
    for (std::size_t k = 0; k < dy.size(); ++k)
      if (given[k]) first_slot(dy[k].ref().node) = program_.arity + program_.output_count + count(k);
  }

  Value zeros(const Type& type) {
    Attributes attributes{{"shape", type.shape.sizes()}, {"dtype", std::string(to_string(type.dtype))}, {"value", 0.0}};
    return {graph_, {graph_->add(*find_op("full"), {}, std::move(attributes)), 0}};
  }

  bool is_wanted(std::size_t k) const { return wanted_[k] && gradients_[k]; }

  void find_needed() {
    needed_.assign(static_cast<std::size_t>(graph_->size()), false);
    for (std::size_t k = 0; k < gradients_.size(); ++k)
      if (is_wanted(k) && gradients_[k].graph() == graph_)
        needed_[static_cast<std::size_t>(gradients_[k].ref().node)] = true;
    for (std::int32_t i = graph_->size() - 1; i > call_; --i)
      if (is_needed(i))
        for (Ref r : graph_->node(i).inputs) needed_[static_cast<std::size_t>(r.node)] = true;
  }

  void place_constant(std::int32_t i) {
    const Node& node = graph_->node(i);
    if (node.op == &constant_op) add_constant(i, std::get<Tensor>(*node.attributes.find("value")));
    bool is_small = node.inputs.empty() && node.op != &input_op && node.outputs.size() == 1 &&
                    node.outputs[0].bytes() <= small_constant_bytes;
    if (is_small && first_slot(i) < 0) add_constant(i, value_of(*graph_, {i, 0}));
  }

  void add_constant(std::int32_t i, const Tensor& value) {
    first_slot(i) = program_.first_constant + count(program_.constants.size());
    program_.constants.push_back(value);
    program_.constant_bytes += value.bytes();
  }

  static Tensor value_of(const Graph& graph, Ref ref) {
    Graph expression;
    expression.append(graph.node(ref.node));
    expression.outputs = {{0, ref.output}};
    return evaluate(expression, {})[0];
  }

  // The slot of a value; that of a view is the slot of what it shows.
  std::int32_t slot(Ref r) {
    const Node& node = graph_->node(r.node);
    if (first_slot(r.node) < 0 && node.op->view_of >= 0)
      return slot(node.inputs[static_cast<std::size_t>(node.op->view_of)]);
    return first_slot(r.node) + r.output;
  }

  void place_step(std::int32_t i) {
    const Node& node = graph_->node(i);
    if (node.op->view_of >= 0) return;
    if (!node.op->forward) fail("[{}] this op cannot be run", node.op->name);
    GradientProgram::Step step{node.op->forward(graph_->signature(i, types_)), {}, {}, node.outputs, {}};
    for (Ref r : node.inputs) step.in.push_back(slot(r));
    first_slot(i) = program_.slot_count;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) step.out.push_back(program_.slot_count++);
    program_.steps.push_back(std::move(step));
  }

  void place_results() {
    for (std::size_t k = 0; k < gradients_.size(); ++k) {
      if (!is_wanted(k)) {
        program_.results.emplace_back();
        continue;
      }
      const Value& g = gradients_[k];
      Type wanted = graph_->type(graph_->node(call_).inputs[k]);
      if (g.type() != wanted)
        fail("[internal] the gradient of {} at '{}' is {}", to_string(wanted), node_.op->name, to_string(g.type()));
      if (g.graph() != graph_) fail("[internal] the gradient of '{}' is a value of another graph", node_.op->name);
      program_.results.push_back({slot(g.ref()), wanted});
    }
  }

  void find_used() {
    auto use = [&](std::int32_t s) {
      if (s >= 0 && s < program_.arity + program_.output_count &&
          std::ranges::find(program_.used, s) == program_.used.end())
        program_.used.push_back(s);
    };
    for (const auto& step : program_.steps) std::ranges::for_each(step.in, use);
    for (const auto& result : program_.results) use(result.slot);
    std::ranges::sort(program_.used);
  }

  void find_dead() {
    std::vector<bool> is_read(static_cast<std::size_t>(program_.slot_count), false);
    for (const auto& r : program_.results)
      if (r.slot >= 0) is_read[static_cast<std::size_t>(r.slot)] = true;
    for (std::size_t s = program_.steps.size(); s-- > 0;) {
      auto& step = program_.steps[s];
      auto visit = [&](std::int32_t slot) {
        if (slot < program_.first_temporary || is_read[static_cast<std::size_t>(slot)]) return;
        is_read[static_cast<std::size_t>(slot)] = true;
        step.dead.push_back(slot);
      };
      std::ranges::for_each(step.out, visit);
      std::ranges::for_each(step.in, visit);
    }
    find_extra_bytes();
  }

  void find_extra_bytes() {
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(program_.slot_count), 0);
    std::int64_t live = 0;
    for (const auto& step : program_.steps) {
      for (std::size_t k = 0; k < step.out.size(); ++k)
        live += bytes[static_cast<std::size_t>(step.out[k])] = step.types[k].bytes();
      program_.extra_bytes = std::max(program_.extra_bytes, live + step.kernel.scratch_bytes);
      for (std::int32_t s : step.dead) live -= bytes[static_cast<std::size_t>(s)];
    }
  }

  const Node& node_;
  const Mask& wanted_;
  std::shared_ptr<Graph> graph_;
  std::int32_t call_ = 0;
  Values gradients_;
  std::vector<bool> needed_;
  std::vector<std::int32_t> slots_;  // per node: that of its first output, -1: none yet
  std::vector<Type> types_;
  GradientProgram program_;
};

}  // namespace

GradientProgram compile_gradient(const Graph& graph, std::int32_t node, const Mask& given, const Mask& wanted) {
  return Compiler(graph, node, given, wanted).compile();
}

const GradientProgram& GradientCache::of(const Graph& graph, std::int32_t i, const Mask& given, const Mask& wanted) {
  const Node& node = graph.node(i);
  std::uint64_t hash = hash_of_signature(graph, node);
  auto [first, last] = entries_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const Entry& e = at->second;
    if (e.op == node.op && e.given == given && e.wanted == wanted &&
        std::ranges::equal(e.inputs, node.inputs, [&](const Type& t, Ref r) { return t == graph.type(r); }) &&
        e.attributes == node.attributes)
      return e.program;
  }
  GradientProgram program = compile_gradient(graph, i, given, wanted);
  if (entries_.size() >= most) entries_.clear(), constant_bytes_ = 0;
  constant_bytes_ += program.constant_bytes;
  std::vector<Type> inputs;
  for (Ref r : node.inputs) inputs.push_back(graph.type(r));
  return entries_.emplace(hash, Entry{node.op, inputs, node.attributes, given, wanted, std::move(program)})
      ->second.program;
}

}  // namespace reprise
