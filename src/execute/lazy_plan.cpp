// SPDX-License-Identifier: Apache-2.0
#include "reprise/lazy_plan.h"

#include <algorithm>

#include "base/error.h"
#include "execute/kernel_cache.h"
#include "execute/lazy_level.h"
#include "graph/builtin.h"
#include "ops/rules.h"

namespace reprise {
namespace {

bool runs(const Node& node) { return !is_given(node) && node.op->view_of < 0; }

class Planner {
 public:
  explicit Planner(const Graph& graph)
      : size_(static_cast<std::size_t>(graph.size())),
        is_needed_(size_, false),
        level_(size_, -1),
        last_(size_, -1),
        root_(size_) {
    plan_.graph = std::make_shared<const Graph>(graph);
    plan_.estimates.resize(size_);
  }

  EvaluationPlan plan() {
    find_needed();
    for (std::size_t i = 0; i < size_; ++i)
      if (is_needed_[i]) place(static_cast<std::int32_t>(i));
    find_last_levels();
    find_peak();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return *plan_.graph; }

  void find_needed() {
    for (Ref r : graph().outputs) is_needed_[static_cast<std::size_t>(r.node)] = true;
    for (std::size_t i = size_; i-- > 0;)
      if (is_needed_[i])
        for (Ref r : graph().node(static_cast<std::int32_t>(i)).inputs)
          is_needed_[static_cast<std::size_t>(r.node)] = true;
  }

  // Inputs and constants are at level -1, views at the level of what they show.
  void place(std::int32_t i) {
    const Node& node = graph().node(i);
    auto at = static_cast<std::size_t>(i);
    root_[at] = i;
    int deepest = -1;
    for (Ref r : node.inputs) deepest = std::max(deepest, level_[static_cast<std::size_t>(r.node)]);
    if (node.op->view_of >= 0)
      root_[at] = root_[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(node.op->view_of)].node)];
    level_[at] = deepest;
    if (!runs(node)) return;
    level_[at] = deepest + 1;
    if (static_cast<std::size_t>(level_[at]) == plan_.levels.size()) plan_.levels.emplace_back();
    plan_.levels[static_cast<std::size_t>(level_[at])].push_back(i);
    estimate(i);
  }

  void estimate(std::int32_t i) {
    NodeEstimate& e = plan_.estimates[static_cast<std::size_t>(i)];
    for (const Type& type : graph().node(i).outputs) e.bytes += type.bytes();
    e.scratch_bytes = kernels_.of(graph(), i).scratch_bytes;
    e.flops = cost_of(graph().signature(i, types_)).flops;
    plan_.total_flops += e.flops;
  }

  void find_last_levels() {
    plan_.freeable.resize(plan_.levels.size());
    for (std::size_t level = 0; level < plan_.levels.size(); ++level)
      for (std::int32_t i : plan_.levels[level]) {
        last_[static_cast<std::size_t>(i)] = std::max(last_[static_cast<std::size_t>(i)], static_cast<int>(level));
        for (Ref r : graph().node(i).inputs) {
          int& last = last_[static_cast<std::size_t>(root_[static_cast<std::size_t>(r.node)])];
          last = std::max(last, static_cast<int>(level));
        }
      }
    for (Ref r : graph().outputs) last_[static_cast<std::size_t>(root_[static_cast<std::size_t>(r.node)])] = -1;
    for (std::size_t i = 0; i < size_; ++i)
      if (last_[i] >= 0) plan_.freeable[static_cast<std::size_t>(last_[i])].push_back(static_cast<std::int32_t>(i));
  }

  void find_peak() {
    for (std::int32_t i : graph().inputs) plan_.input_bytes += graph().type({i, 0}).bytes();
    for (std::int32_t i = 0; i < graph().size(); ++i)
      if (graph().node(i).op == &constant_op) plan_.input_bytes += graph().type({i, 0}).bytes();
    std::int64_t live = plan_.input_bytes;
    plan_.peak_bytes = live;
    for (std::size_t level = 0; level < plan_.levels.size(); ++level) {
      std::int64_t scratch = 0;
      for (std::int32_t i : plan_.levels[level]) {
        live += plan_.estimates[static_cast<std::size_t>(i)].bytes;
        scratch += plan_.estimates[static_cast<std::size_t>(i)].scratch_bytes;
      }
      plan_.peak_bytes = std::max(plan_.peak_bytes, live + scratch);
      for (std::int32_t i : plan_.freeable[level]) live -= plan_.estimates[static_cast<std::size_t>(i)].bytes;
    }
  }

  std::size_t size_;
  EvaluationPlan plan_;
  std::vector<bool> is_needed_;
  std::vector<int> level_, last_;
  std::vector<std::int32_t> root_;  // of a view: the node whose memory it shows
  KernelCache kernels_;
  std::vector<Type> types_;
};

// Values of one run of a plan.
class PlanRun {
 public:
  PlanRun(const EvaluationPlan& plan, std::span<const Tensor> inputs, int threads)
      : plan_(plan), graph_(*plan.graph), values_(static_cast<std::size_t>(graph_.size())), runner_(threads) {
    if (inputs.size() != graph_.inputs.size())
      fail("[run] the graph has {} inputs, {} tensors were given", graph_.inputs.size(), inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const Type& wanted = graph_.type({graph_.inputs[k], 0});
      if (inputs[k].type() != wanted)
        fail("[run] input {} is {}, the graph wants {}", k, to_string(inputs[k].type()), to_string(wanted));
      values(graph_.inputs[k]) = {inputs[k]};
    }
    for (std::int32_t i = 0; i < graph_.size(); ++i)
      if (graph_.node(i).op == &constant_op) values(i) = {std::get<Tensor>(*graph_.node(i).attributes.find("value"))};
  }

  std::vector<Tensor> run() {
    for (std::size_t level = 0; level < plan_.levels.size(); ++level) {
      run_level(plan_.levels[level]);
      for (std::int32_t i : plan_.freeable[level])
        if (graph_.node(i).op != &input_op) values(i).clear();
    }
    std::vector<Tensor> results;
    for (Ref r : graph_.outputs) results.push_back(value(r));
    return results;
  }

 private:
  std::vector<Tensor>& values(std::int32_t i) { return values_[static_cast<std::size_t>(i)]; }

  Tensor value(Ref r) {
    Ref at = r;
    while (graph_.node(at.node).op->view_of >= 0)
      at = graph_.node(at.node).inputs[static_cast<std::size_t>(graph_.node(at.node).op->view_of)];
    return values(at.node)[static_cast<std::size_t>(at.output)].reshape(graph_.type(r).shape);
  }

  void run_level(const std::vector<std::int32_t>& nodes) {
    std::vector<Job> jobs(nodes.size());
    std::vector<Kernel> kernels;
    std::vector<Tensor> scratch;
    kernels.reserve(nodes.size());
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const Node& node = graph_.node(nodes[k]);
      kernels.push_back(kernels_.of(graph_, nodes[k]));
      Job& job = jobs[k];
      job.kernel = &kernels.back();
      job.cost = cost_of(graph_.signature(nodes[k], types_));
      for (Ref r : node.inputs) job.in.push_back(value(r).data());
      for (const Type& type : node.outputs)
        job.out.push_back(values(nodes[k]).emplace_back(Tensor::empty(type)).data());
      job.scratch = scratch.emplace_back(Tensor::empty({DType::boolean, {kernels.back().scratch_bytes}})).data();
    }
    runner_.run(jobs);
  }

  const EvaluationPlan& plan_;
  const Graph& graph_;
  std::vector<std::vector<Tensor>> values_;
  KernelCache kernels_;
  LevelRunner runner_;
  std::vector<Type> types_;
};

}  // namespace

EvaluationPlan plan_evaluation(const Graph& graph) { return Planner(graph).plan(); }

std::vector<Tensor> run(const EvaluationPlan& plan, std::span<const Tensor> inputs, int threads) {
  if (!plan.graph) fail("[run] the plan is empty: plan_evaluation makes one");
  return PlanRun(plan, inputs, threads).run();
}

std::string EvaluationPlan::summary() const {
  std::size_t nodes = 0;
  for (const auto& level : levels) nodes += level.size();
  return fmt::format("{} nodes in {} levels | peak {} (inputs {}) | {:.3g} flops", nodes, levels.size(),
                     format_bytes(peak_bytes), format_bytes(input_bytes), total_flops);
}

}  // namespace reprise
