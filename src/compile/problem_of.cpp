// SPDX-License-Identifier: Apache-2.0
#include "compile/problem_of.h"

#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t aligned(std::int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

ValueRef value(Ref r) { return {r.node, r.output}; }

class Builder {
 public:
  Builder(const Graph& graph, const FactsOf& facts, const std::optional<DiskTimes>& disk)
      : graph_(graph),
        facts_(facts),
        disk_(disk),
        last_reader_(at(graph.size()), -1),
        is_state_(at(graph.size()), false),
        updates_(at(graph.size())),
        updated_by_(at(graph.size()), -1) {
    for (const Capture& c : graph.captures) is_state_[at(c.input)] = true;
    for (std::int32_t i = 0; i < graph.size(); ++i)
      for (Ref r : graph.node(i).inputs) last_reader_[at(r.node)] = i;
    for (Ref r : graph.outputs) last_reader_[at(r.node)] = graph.size();
    for (const Update& u : graph.updates) {
      updates_[at(u.value.node)].push_back(u);
      updated_by_[at(u.input)] = u.value.node;
    }
  }

  Problem build() {
    std::size_t values = 0;
    for (const Node& node : graph_.nodes()) values += node.outputs.size();
    problem_.reserve(graph_.size(), static_cast<int>(values));
    for (std::int32_t i = 0; i < graph_.size(); ++i) add(i);
    for (Ref r : graph_.outputs) problem_.output(value(r));
    drop_regions();
    return std::move(problem_);
  }

 private:
  std::string unique_name(std::int32_t i) const {
    const Node& node = graph_.node(i);
    std::string name = node.name.empty() ? fmt::format("{}.{}", node.op->name, i) : node.name;
    return problem_.find(name) < 0 ? name : fmt::format("{}.{}", name, i);
  }

  std::string group(std::int32_t i) const {
    const Node& node = graph_.node(i);
    if (node.op == &constant_op) return "constants";
    if (node.op != &input_op) return node.name.ends_with(".grad") ? "gradients" : "activations";
    if (is_state_[at(i)]) return node.name.starts_with("optimizer.") ? "optimizer state" : "parameters";
    return graph_.updates.empty() ? "inputs" : "batch";
  }

  bool is_updated(std::int32_t i, std::size_t output) const {
    return std::ranges::any_of(updates_[at(i)], [&](const Update& u) { return at(u.value.output) == output; });
  }

  void add(std::int32_t i) {
    const Node& node = graph_.node(i);
    bool view = node.op->view_of >= 0, pinned = is_given(node);
    NodeSpec spec{unique_name(i), Sizes(std::vector<std::int64_t>{}), 0, 0, pinned, group(i)};
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      spec.bytes.push_back(view || is_updated(i, k) ? 0 : aligned(node.outputs[k].bytes()));
    if (!view && !pinned) {
      NodeFacts facts = facts_(i);
      spec.cost = facts.seconds;
      spec.scratch = aligned(facts.scratch_bytes);
    }
    std::vector<ValueRef> inputs;
    for (Ref r : node.inputs) inputs.push_back(value(view ? owner(graph_, r) : r));
    ValueRef made = problem_.add(std::move(spec), inputs);
    if (view) problem_.view(made, inputs[at(node.op->view_of)]);
    if (pinned || view) return;
    if (updates_[at(i)].empty())
      work_in_place(i, made);
    else
      write_over_state(i, made);
    if (!node.op->recomputable) problem_.never_recompute(made);
    if (disk_ && node.hint == Hint::none) allow_paging(i, made);
    if (node.hint == Hint::keep)
      for (std::size_t k = 0; k < node.outputs.size(); ++k) problem_.keep(made[static_cast<int>(k)]);
  }

  void allow_paging(std::int32_t i, ValueRef made) {
    const Node& node = graph_.node(i);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      std::int64_t bytes = aligned(node.outputs[k].bytes());
      if (bytes >= smallest_page && !is_updated(i, k)) problem_.pageable(made[static_cast<int>(k)], disk_->of(bytes));
    }
  }

  void write_over_state(std::int32_t i, ValueRef made) {
    for (const Update& u : updates_[at(i)]) {
      problem_.view(made[u.value.output], {u.input, 0});
      if (u.value.output == 0) problem_.update(made, {u.input, 0});
    }
    problem_.never_recompute(made);
  }

  void work_in_place(std::int32_t i, ValueRef made) {
    const Node& node = graph_.node(i);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (k >= 32 || !(node.op->may_overwrite >> k & 1)) continue;
      Ref r = node.inputs[k];
      const Node& source = graph_.node(r.node);
      bool is_possible = !is_given(source) && source.op->view_of < 0 && last_reader_[at(r.node)] == i &&
                         graph_.type(r).bytes() == node.outputs[0].bytes() && node.outputs[0].bytes() > 0;
      if (is_possible) return problem_.in_place(made, value(r));
    }
  }

  // Values hinted to be recomputed form regions, one after another in the graph (constants and updates of state may
  // stand between them). All values of a region must be gone before its backward part begins: while the node runs that
  // makes the gradient which the part starts from.
  void drop_regions() {
    for (std::int32_t begin = 0; begin < graph_.size(); ++begin) {
      if (graph_.node(begin).hint != Hint::recompute) continue;
      std::int32_t end = begin + 1;
      while (end < graph_.size() && is_in_region(end)) ++end;
      if (std::int32_t across = start_of_backward(begin, end); across >= 0) drop_region(begin, end, across);
      begin = end;
    }
  }

  bool is_in_region(std::int32_t i) const {
    return graph_.node(i).hint == Hint::recompute || is_given(graph_.node(i)) || !updates_[at(i)].empty();
  }

  // The newest value that the region's first reader in the backward pass needs besides the region's own: a gradient.
  // Where it needs none, as twice the input of a square does not, what the backward pass made last before it.
  std::int32_t start_of_backward(std::int32_t begin, std::int32_t end) const {
    std::int32_t last = -1;
    for (std::int32_t reader = end; reader < graph_.size(); ++reader) {
      const Node& node = graph_.node(reader);
      if (!node.is_backward) continue;
      std::int32_t newest = -1;
      bool is_reader = false;
      for (Ref r : node.inputs) {
        std::int32_t made = owner(graph_, r).node;
        if (is_given(graph_.node(made))) continue;
        is_reader = is_reader || (made >= begin && made < end);
        if (made >= end) newest = std::max(newest, made);
      }
      if (newest < 0) newest = last;
      if (is_reader && newest >= 0) return newest;
      if (!is_given(node) && node.op->view_of < 0) last = reader;
    }
    return -1;
  }

  // Of a region: what the backward pass reads, and what that is computed from.
  void drop_region(std::int32_t begin, std::int32_t end, std::int32_t across) {
    std::vector<bool> is_needed = read_after(begin, end, across);
    for (std::int32_t i = end; i-- > begin;) {
      const Node& node = graph_.node(i);
      if (!is_needed[at(i - begin)] || is_given(node) || node.op->view_of >= 0 || !updates_[at(i)].empty()) continue;
      if (last_reader_[at(i)] == graph_.size() || reads(across, i) || reads_what_changes(i, across)) continue;
      if (!node.op->recomputable)
        fail("[recompute] '{}' must run once only: leave it out of what is recomputed", problem_.node(i).name);
      for (std::size_t k = 0; k < node.outputs.size(); ++k) problem_.never_keep({i, static_cast<int>(k)}, {across, 0});
      for (Ref r : node.inputs)
        if (std::int32_t made = owner(graph_, r).node; made >= begin) is_needed[at(made - begin)] = true;
    }
  }

  // Which nodes of a region have readers after a node, through views too.
  std::vector<bool> read_after(std::int32_t begin, std::int32_t end, std::int32_t node) const {
    std::vector<bool> is_read(at(end - begin), false);
    for (std::int32_t reader = node + 1; reader < graph_.size(); ++reader)
      for (Ref r : graph_.node(reader).inputs)
        if (std::int32_t made = owner(graph_, r).node; made >= begin && made < end) is_read[at(made - begin)] = true;
    return is_read;
  }

  bool reads(std::int32_t reader, std::int32_t made) const {
    return std::ranges::any_of(graph_.node(reader).inputs, [&](Ref r) { return owner(graph_, r).node == made; });
  }

  // Whether it reads state that is another one by then, as dropout's key is: such values are small, and kept.
  bool reads_what_changes(std::int32_t i, std::int32_t until) const {
    return std::ranges::any_of(graph_.node(i).inputs, [&](Ref r) {
      std::int32_t update = updated_by_[at(owner(graph_, r).node)];
      return update >= 0 && update < until;
    });
  }

  const Graph& graph_;
  const FactsOf& facts_;
  const std::optional<DiskTimes>& disk_;
  std::vector<std::int32_t> last_reader_;
  std::vector<bool> is_state_;                // inputs that stand for parameters and what the optimizer keeps
  std::vector<std::vector<Update>> updates_;  // by the node that makes the new value
  std::vector<std::int32_t> updated_by_;      // that node, by the state's input
  Problem problem_;
};

}  // namespace

Problem problem_of(const Graph& graph, const FactsOf& facts, const std::optional<DiskTimes>& disk) {
  return Builder(graph, facts, disk).build();
}

}  // namespace reprise
