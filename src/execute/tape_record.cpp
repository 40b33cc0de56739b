// SPDX-License-Identifier: Apache-2.0
// Recording: every node that is recorded runs at once. Truncating swaps the graph for its beginning, so that Values of
// the old one can never be taken for values of nodes recorded later.
#include <algorithm>

#include "base/error.h"
#include "execute/tape_state.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

constexpr const char* not_here =
    "[tape] this value is not on the tape: it belongs to another one, to none, or truncate() took it away";

constexpr const char* not_one_tape =
    "[tape] the operands are not all on this tape: one belongs to another tape or graph, or truncate() took it away";

// Functions of values create scalars, and the tape's rules do too, before the tape can make room for them.
constexpr std::int64_t room_for_scalars = 64;

// Listens for graphs that no tape records on any more.
struct Gone final : Recorder {
  void recorded(std::int32_t) override { throw NodeNotFound(not_here); }
};
Gone gone;

StoreOptions store_options(const TapeOptions& options) {
  bool is_budgeted = options.budget != LazyOptions::unlimited;
  return {.limit = options.budget,
          .reserve = is_budgeted ? room_for_scalars : 0,
          .policy = options.policy,
          .counts_given = true,
          .is_strict = true,
          .has_shares = is_budgeted};
}

}  // namespace

TapeState::TapeState(const TapeOptions& o) : options(o), store(store_options(o)), graph(std::make_shared<Graph>()) {
  if (o.budget <= 0) fail("[tape] a budget of {} bytes holds nothing", o.budget);
  set_segments(o.checkpoints);
  graph->listener.recorder = this;
  table = &store.table(graph);
}

TapeState::~TapeState() { close(); }

void TapeState::close() {
  if (is_closed) return;
  is_closed = true;
  graph->listener.recorder = &gone;
  grads.clear();
  hooks.clear();
  infos.clear();
  store.shrink(*table, 0);
}

void TapeState::fail_budget(std::string_view what, std::int64_t needed) const {
  throw BudgetError(fmt::format("[tape] {} needs {} at once, the budget is {}: nothing more can be dropped", what,
                                format_bytes(needed), format_bytes(options.budget)),
                    needed, options.budget);
}

void TapeState::recorded(std::int32_t node) {
  if (node == foreign_value) throw NodeNotFound(not_one_tape);
  std::int32_t first = table->size, i = first;
  bool is_extended = false;
  try {
    store.extend(*table);
    is_extended = true;
    for (; i <= node; ++i) {
      const Node& n = graph->node(i);
      bool carries = false;
      for (Ref r : n.inputs) carries = carries || info(r.node).carries_gradient;
      bool is_detached = no_grad_depth > 0;
      infos.push_back({++last_serial, carries && !is_detached, false, is_detached});
      if (!segments.empty()) note_crossings(i);
      store.ensure(*table, i);
      if (!segments.empty()) leave_segments(i);
    }
  } catch (const NoRoom& d) {
    std::string name(graph->node(node).op->name);
    std::int64_t needed = is_extended ? std::max(d.bytes, store.least_for(*table, i)) : d.bytes;
    remove_from(first);
    fail_budget(fmt::format("'{}'", name), needed);
  } catch (...) {
    remove_from(first);
    throw;
  }
}

void TapeState::synchronise() {
  if (table->size < graph->size()) recorded(graph->size() - 1);
}

void TapeState::remove_from(std::int32_t first) {
  store.shrink(*table, first);
  graph->shrink(first);
  infos.resize(static_cast<std::size_t>(first));
  leaves_segment.resize(std::min(leaves_segment.size(), static_cast<std::size_t>(first)));
}

Var TapeState::add_leaf(const Tensor& tensor, std::string name, bool is_variable) {
  if (is_variable && !is_float(tensor.dtype()))
    fail("[tape] {} has no gradient, only floats have: make it a constant", to_string(tensor.type()));
  synchronise();
  try {
    store.make_room_for(tensor);
  } catch (const NoRoom& d) {
    fail_budget(is_variable ? "a variable" : "a constant", d.bytes);
  }
  Ref ref = graph->add_input(tensor.type(), std::move(name));
  store.extend(*table);
  store.give(table->cell(ref.node), tensor);
  infos.push_back({++last_serial, is_variable, is_variable});
  if (!segments.empty()) leave_segments(ref.node);
  return var(ref);
}

Var TapeState::var(Ref ref) { return {shared_from_this(), ref, info(ref.node).serial}; }

Ref TapeState::check(const Var& v) const {
  bool is_here = v.tape_.get() == this && !is_closed && static_cast<std::size_t>(v.ref_.node) < infos.size() &&
                 info(v.ref_.node).serial == v.serial_;
  if (!is_here) throw NodeNotFound(not_here);
  return v.ref_;
}

Ref TapeState::check_carries(std::string_view who, const Var& v) const {
  Ref ref = check(v);
  if (!info(ref.node).carries_gradient || !is_float(graph->type(ref).dtype))
    throw TapeError(fmt::format(
        "[tape] {}: this value has no gradient: it depends on no variable, or was recorded under no_grad()", who));
  return ref;
}

Var::Var(const Value& value) {
  TapeState* state = value ? dynamic_cast<TapeState*>(value.graph()->listener.recorder) : nullptr;
  if (!state) throw NodeNotFound(not_here);
  state->synchronise();
  *this = state->var(value.ref());
}

Var::operator Value() const {
  if (!tape_) throw NodeNotFound(not_here);
  return {tape_->graph, tape_->check(*this)};
}

const Type& Var::type() const {
  if (!tape_) throw NodeNotFound(not_here);
  return tape_->graph->type(tape_->check(*this));
}

Tensor TapeState::value(Ref ref) {
  synchronise();
  try {
    store.ensure(*table, ref.node);
  } catch (const NoRoom& d) {
    fail_budget("a value", std::max(d.bytes, store.least_for(*table, table->cell(ref.node).root.node)));
  }
  return store.read(*table, ref);
}

void TapeState::truncate(std::int32_t count) {
  synchronise();
  if (walks_back)
    throw TapeError("[tape] truncate in a hook: the backward pass still needs the nodes; do it afterwards");
  if (count < 0 || count > graph->size())
    throw TruncateError(fmt::format("[tape] truncate to {} nodes: there are {}", count, graph->size()));
  auto beginning = std::make_shared<Graph>();
  for (std::int32_t i = 0; i < count; ++i) beginning->append(graph->node(i));
  for (std::int32_t i : graph->inputs)
    if (i < count) beginning->inputs.push_back(i);
  graph->listener.recorder = &gone;
  store.shrink(*table, count);
  graph = std::move(beginning);
  graph->listener.recorder = this;
  table->graph = graph.get();
  table->owner = graph;
  infos.resize(static_cast<std::size_t>(count));
  leaves_segment.resize(std::min(leaves_segment.size(), static_cast<std::size_t>(count)));
  restart_segments();
  std::erase_if(hooks, [&](const auto& h) { return h.second.ref.node >= count; });
  for (auto at = grads.lower_bound({count, 0}); at != grads.end();) {
    forget_grad(at->second);
    at = grads.erase(at);
  }
}

void TapeState::assign(const Var& v, const Tensor& tensor) {
  synchronise();
  Ref ref = check(v);
  if (graph->node(ref.node).op != &input_op) throw TapeError("[tape] assign: only variables and constants can change");
  if (tensor.type() != graph->type(ref))
    throw GradientShapeError(fmt::format("[tape] assign: the tensor is {}, the variable {}", to_string(tensor.type()),
                                         to_string(graph->type(ref))));
  for (std::int32_t i = ref.node + 1; i < graph->size(); ++i)
    for (Ref r : graph->node(i).inputs)
      if (r.node == ref.node)
        throw TapeError(fmt::format("[tape] assign: node {} was computed from it: truncate({}) first", i, i));
  Cell& cell = table->cell(ref.node);
  try {
    if (!store.ledger().is_held_once(cell.value)) store.make_room_for(tensor);  // else it takes the old one's place
  } catch (const NoRoom& d) {
    fail_budget("an assigned value", d.bytes);
  }
  store.give(cell, tensor);
}

}  // namespace reprise
