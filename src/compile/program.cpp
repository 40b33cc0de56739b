// SPDX-License-Identifier: Apache-2.0
#include "compile/program.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/index.h"

namespace reprise {
namespace {

class Linker {
 public:
  Linker(Graph graph, const Problem& problem, std::span<const Placement> layout)
      : problem_(problem),
        place_(problem.values().size(), nullptr),
        runs_(at(graph.size()), 0),
        page_(problem.values().size(), -1) {
    program_.graph = std::move(graph);
    begins_.reserve(layout.size());
    for (const Placement& p : layout) {
      program_.arena_bytes = std::max(program_.arena_bytes, p.offset + p.bytes);
      begins_.push_back(&p);
    }
    std::ranges::sort(begins_, {}, key_of);
    take_pinned();
  }

  Program link(const Schedule& schedule) {
    for (step_ = 0; step_ < static_cast<int>(schedule.steps.size()); ++step_) {
      Step step = schedule.steps[at(step_)];
      if (step.kind == Step::Kind::run)
        run(step.id);
      else if (step.kind == Step::Kind::drop)
        drop(step.id);
      else if (step.kind == Step::Kind::page_out)
        page_out(step.id);
      else if (step.kind == Step::Kind::page_in)
        page_in(step.id);
      else
        fail("[internal] a program cannot {} yet", to_string(step.kind));
    }
    for (Ref r : program_.graph.outputs) program_.outputs.push_back(offset(value_of(r)));
    program_.instructions.shrink_to_fit();
    program_.offsets.shrink_to_fit();
    return std::move(program_);
  }

 private:
  static std::tuple<int, Placement::Kind, int> key_of(const Placement* p) { return {p->id, p->kind, p->from}; }

  const Placement* find(Placement::Kind kind, int id, int from) const {
    std::tuple key{id, kind, from};
    auto found = std::ranges::lower_bound(begins_, key, {}, key_of);
    return found == begins_.end() || key_of(*found) != key ? nullptr : *found;
  }
  int value_of(Ref r) const { return problem_.node(r.node).first_value + r.output; }

  // Where a value is now; a view is where the value it shows is, and a value without bytes is anywhere.
  std::int64_t offset(int value) const {
    const Problem::Value& v = problem_.value(value);
    int owner = v.view_of >= 0 ? v.view_of : value;
    if (problem_.value(owner).bytes == 0) return 0;
    const Placement* p = place_[at(owner)];
    if (!p) fail("[internal] '{}' has no place at step {}", problem_.value_name(owner), step_);
    return p->offset;
  }

  void take_pinned() {
    for (std::int32_t i = 0; i < program_.graph.size(); ++i) {
      bool pinned = problem_.node(i).pinned;
      int value = problem_.node(i).first_value;
      if (pinned) place_[at(value)] = find(Placement::Kind::value, value, 0);
      program_.pinned.push_back(pinned ? offset(value) : -1);
      if (pinned) program_.pinned_bytes += problem_.value(value).bytes;
      program_.scratch_bytes.push_back(problem_.node(i).scratch);
    }
  }

  void run(int node) {
    const Problem::Node& planned = problem_.node(node);
    const Node& recorded = program_.graph.node(node);
    if (planned.pinned || recorded.op->view_of >= 0) return;
    Instruction instruction{.again = runs_[at(node)]++ > 0, .node = node};
    instruction.first = static_cast<std::int32_t>(program_.offsets.size());
    instruction.inputs = static_cast<std::int32_t>(recorded.inputs.size());
    instruction.outputs = static_cast<std::uint32_t>(planned.value_count);
    instruction.has_scratch = planned.scratch > 0;
    for (Ref r : recorded.inputs) program_.offsets.push_back(offset(value_of(r)));
    for (int v = planned.first_value; v < planned.first_value + planned.value_count; ++v) {
      if (problem_.value(v).view_of < 0) instruction.bytes += begin(v);
      program_.offsets.push_back(offset(v));
    }
    if (planned.scratch > 0) {
      const Placement* p = find(Placement::Kind::scratch, node, step_);
      if (!p) fail("[internal] the scratch memory of '{}' has no place at step {}", planned.name, step_);
      program_.offsets.push_back(p->offset);
    }
    program_.instructions.push_back(instruction);
  }

  void add(Instruction instruction, std::initializer_list<std::int64_t> offsets) {
    instruction.outputs = 1;
    instruction.first = static_cast<std::int32_t>(program_.offsets.size());
    program_.offsets.insert(program_.offsets.end(), offsets);
    program_.instructions.push_back(instruction);
  }

  // A life of the value begins with this step. Gives the bytes that were free before: none where it takes over an
  // input that ends here, and less the ones it replaces.
  std::int64_t begin(int value) {
    const Placement* before = place_[at(value)];
    const Placement* p = find(Placement::Kind::value, value, step_);
    place_[at(value)] = p;
    if (!p) return 0;
    int taken = problem_.value(value).in_place_of;
    const Placement* source = taken >= 0 ? place_[at(taken)] : nullptr;
    std::int64_t fresh = p->bytes;
    if (source && source->to == step_ && source->offset == p->offset) fresh -= source->bytes;
    if (before && before->to == step_) fresh -= before->bytes;
    return fresh;
  }

  // A value whose memory another has taken over ended with that step: there is nothing to free.
  void drop(int value) {
    const Placement* p = place_[at(value)];
    if (!p || p->to <= step_) return;
    Instruction instruction{.kind = Instruction::Kind::drop, .node = problem_.value(value).node, .bytes = p->bytes};
    add(instruction, {p->offset});
  }

  // Each value has a place of its own in the file, and always the same bits: it is written there once a step.
  void page_out(int value) {
    std::int64_t& page = page_[at(value)];
    Instruction instruction{
        .kind = Instruction::Kind::page_out, .again = page >= 0, .node = problem_.value(value).node};
    if (page < 0) page = std::exchange(program_.page_bytes, program_.page_bytes + whole_pages(value));
    add_move(instruction, value);
  }

  void page_in(int value) {
    place_[at(value)] = find(Placement::Kind::value, value, step_);
    add_move(Instruction{.kind = Instruction::Kind::page_in, .node = problem_.value(value).node}, value);
  }

  void add_move(Instruction instruction, int value) {
    instruction.bytes = problem_.value(value).bytes;
    add(instruction, {offset(value), page_[at(value)]});
  }

  std::int64_t whole_pages(int value) const {
    return (problem_.value(value).bytes + page_size - 1) / page_size * page_size;
  }

  const Problem& problem_;
  Program program_;
  std::vector<const Placement*> begins_;  // in order of their keys
  std::vector<const Placement*> place_;   // of each value, now
  std::vector<int> runs_;
  std::vector<std::int64_t> page_;  // of each value, its place in the file, or -1
  int step_ = 0;
};

}  // namespace

Program link(Graph graph, const Problem& problem, const Schedule& schedule, std::span<const Placement> layout) {
  return Linker(std::move(graph), problem, layout).link(schedule);
}

}  // namespace reprise
