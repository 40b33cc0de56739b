// SPDX-License-Identifier: Apache-2.0
// The backward pass: nodes last to first, each by its gradient program. What a program reads and is not there is
// computed again. Several uses of one value are summed in a fixed order, latest use first.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "execute/tape_state.h"
#include "graph/backpropagate.h"
#include "ops/rules.h"

namespace reprise {

BackwardPass::BackwardPass(TapeState& tape, Ref target)
    : tape_(tape), target_(target), grads_before_(tape.grad_bytes()) {
  std::size_t count = static_cast<std::size_t>(target.node) + 1;
  adjoints_.swap(tape_.spare_adjoints);
  if (adjoints_.size() < count) adjoints_.resize(count);
  has_adjoint_.assign(count, false);
  marked_ = tape_.is_budgeted() ? target.node + 1 : 0;
  for (std::int32_t i = 0; i < marked_; ++i) ++tape_.table->cell(i).pending;
}

BackwardPass::~BackwardPass() {
  unlock_all();
  for (Tensor& t : results_)
    if (t.data()) release(t), t = {};
  for (std::size_t k = 0; k < temporaries_.size(); ++k) free_temporary(k);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(has_adjoint_.size()); ++i) forget_adjoints(i);
  for (std::int32_t i = 0; i < marked_; ++i) --tape_.table->cell(i).pending;
  adjoints_.swap(tape_.spare_adjoints);
  // What a hook has kept is no longer the tape's.
  if (!tape_.is_budgeted()) tape_.store.ledger().add(tape_.grad_bytes() - grads_before_ - taken_);
}

void BackwardPass::run(const Tensor& seed) {
  start(seed);
  for (std::int32_t i = target_.node; i >= 0; --i) {
    walk(i);
    forget_adjoints(i);
    if (marked_ > i) --tape_.table->cell(i).pending, marked_ = i;
    const auto* segment = tape_.segment_of(i);
    if (segment && segment->start_node == i) tape_.drop_segment(*segment);
  }
}

void BackwardPass::start(const Tensor& seed) {
  try {
    if (tape_.is_budgeted()) tape_.store.make_room_for(seed);
  } catch (const NoRoom& d) {
    tape_.fail_budget("the seed", d.bytes);
  }
  set_adjoint(target_, seed);
}

void BackwardPass::walk(std::int32_t i) {
  program_ = nullptr;
  try {
    visit(i);
  } catch (const NoRoom& d) {
    fail_at(i, d);
  }
}

// Names what the whole of the gradient takes, though only a part of it may have been tried.
void BackwardPass::fail_at(std::int32_t i, const NoRoom& d) {
  unlock_all();
  std::int64_t needed = d.bytes;
  if (program_) {
    std::vector<Ref> used;
    for (std::int32_t slot : program_->used) used.push_back(used_ref(i, *program_, slot));
    needed = std::max(needed, tape_.store.least_with(*tape_.table, used, program_->extra_bytes));
  }
  tape_.fail_budget(fmt::format("the gradient of '{}'", tape_.graph->node(i).op->name), needed);
}

void BackwardPass::visit(std::int32_t i) {
  if (!tape_.info(i).carries_gradient || !has_adjoint(i)) return;
  const auto info = tape_.info(i);  // a hook may record, and move what it refers to
  if (info.has_hook) call_hooks(i);
  if (info.is_variable || info.retains) collect(i);
  if (!info.is_variable) propagate(i);
}

bool BackwardPass::has_adjoint(std::int32_t node) const {
  if (has_adjoint_[static_cast<std::size_t>(node)]) return true;
  auto at = others_.lower_bound({node, 0});
  return at != others_.end() && at->first.node == node;
}

Tensor* BackwardPass::adjoint(Ref r) {
  if (r.output == 0)
    return has_adjoint_[static_cast<std::size_t>(r.node)] ? &adjoints_[static_cast<std::size_t>(r.node)] : nullptr;
  auto at = others_.find(r);
  return at == others_.end() ? nullptr : &at->second;
}

void BackwardPass::set_adjoint(Ref r, Tensor gradient) {
  hold(gradient);
  if (Tensor* old = adjoint(r)) release(*old);
  put_adjoint(r, std::move(gradient));
}

void BackwardPass::put_adjoint(Ref r, Tensor gradient) {
  if (r.output != 0) {
    others_[r] = std::move(gradient);
    return;
  }
  adjoints_[static_cast<std::size_t>(r.node)] = std::move(gradient);
  has_adjoint_[static_cast<std::size_t>(r.node)] = true;
}

void BackwardPass::forget_adjoints(std::int32_t i) {
  auto at = static_cast<std::size_t>(i);
  if (has_adjoint_[at]) {
    release(adjoints_[at]);
    adjoints_[at] = {};
    has_adjoint_[at] = false;
  }
  if (others_.empty()) return;
  for (auto other = others_.lower_bound({i, 0}); other != others_.end() && other->first.node == i;) {
    release(other->second);
    other = others_.erase(other);
  }
}

void BackwardPass::call_hooks(std::int32_t i) {
  std::vector<std::int64_t> ids;  // a hook may add and remove hooks, itself too
  for (const auto& [id, hook] : tape_.hooks)
    if (hook.ref.node == i) ids.push_back(id);
  for (std::int64_t id : ids) {
    auto at = tape_.hooks.find(id);
    if (at == tape_.hooks.end()) continue;
    auto hook = at->second;
    if (adjoint(hook.ref)) set_adjoint(hook.ref, call_hook(hook.call, *adjoint(hook.ref)));
  }
}

// Under a budget the room for what the hook makes is kept while it runs.
Tensor BackwardPass::call_hook(const Tape::Hook& hook, const Tensor& gradient) {
  std::int64_t room = tape_.is_budgeted() ? gradient.bytes() : 0;
  if (room > 0) tape_.store.make_room(room);
  Ledger& ledger = tape_.store.ledger();
  ledger.add(room);
  Tensor changed;
  try {
    changed = hook(gradient);
  } catch (...) {
    ledger.subtract(room);
    throw;
  }
  ledger.subtract(room);
  if (changed.type() != gradient.type())
    throw GradientShapeError(fmt::format("[tape] a hook made a gradient of {} into one of {}",
                                         to_string(gradient.type()), to_string(changed.type())));
  return changed;
}

void BackwardPass::collect(std::int32_t i) {
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(tape_.graph->node(i).outputs.size()); ++k) {
    Tensor* gradient = adjoint({i, k});
    if (!gradient) continue;
    auto at = tape_.grads.find({i, k});
    Tensor total = at == tape_.grads.end() ? own(*gradient) : sum(at->second, *gradient);
    hold(total);
    if (at != tape_.grads.end()) release(at->second);
    tape_.grads[{i, k}] = std::move(total);
  }
}

// Memory that nobody else can change: a seed, a hook's result and another value's gradient may be the same tensor.
Tensor BackwardPass::own(const Tensor& gradient) {
  if (!gradient.is_shared()) return gradient;
  Tensor copy = take(gradient.type());
  if (gradient.bytes() > 0) std::memcpy(copy.data(), gradient.data(), static_cast<std::size_t>(gradient.bytes()));
  return copy;
}

// New memory, with room made for it where there is a budget.
Tensor BackwardPass::take(const Type& type) {
  if (tape_.is_budgeted()) {
    tape_.store.make_room(type.bytes());
  } else {
    tape_.store.ledger().add(type.bytes());
    taken_ += type.bytes();
  }
  return Tensor::empty(type);
}

void BackwardPass::propagate(std::int32_t i) {
  const Node& node = tape_.graph->node(i);
  given_.clear(), wanted_.clear();
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(node.outputs.size()); ++k)
    given_.push_back(adjoint({i, k}) != nullptr);
  for (Ref r : node.inputs)
    wanted_.push_back(tape_.info(r.node).carries_gradient && is_float(tape_.graph->type(r).dtype));
  const GradientProgram& program = program_of(i);
  program_ = &program;
  ensure_used(i, program);
  run_program(i, program);
  unlock_all();
  distribute(i, program);
}

const GradientProgram& BackwardPass::program_of(std::int32_t i) {
  constexpr std::int64_t room_for_constants = 128;
  if (!tape_.is_budgeted()) return tape_.programs.of(*tape_.graph, i, given_, wanted_);
  std::int64_t before = tape_.programs.constant_bytes();
  tape_.store.shed(room_for_constants, 0);
  const GradientProgram& program = tape_.programs.of(*tape_.graph, i, given_, wanted_);
  tape_.store.ledger().add(tape_.programs.constant_bytes() - before);
  return program;
}

Ref BackwardPass::used_ref(std::int32_t i, const GradientProgram& program, std::int32_t slot) const {
  if (slot >= program.arity) return {i, slot - program.arity};
  return tape_.graph->node(i).inputs[static_cast<std::size_t>(slot)];
}

// Values that drive each other out in one order may fit in the other.
void BackwardPass::ensure_used(std::int32_t i, const GradientProgram& program) {
  auto take = [&](std::int32_t slot) {
    Ref r = used_ref(i, program, slot);
    tape_.store.ensure(*tape_.table, r.node);
    Cell& cell = tape_.table->root(r);
    tape_.store.lock(cell);
    locked_.push_back(&cell);
  };
  try {
    for (std::int32_t slot : program.used) take(slot);
  } catch (const NoRoom&) {
    unlock_all();
    for (auto slot = program.used.rbegin(); slot != program.used.rend(); ++slot) take(*slot);
  }
}

void BackwardPass::unlock_all() {
  for (Cell* cell : locked_) tape_.store.unlock(*cell);
  locked_.clear();
}

void BackwardPass::run_program(std::int32_t i, const GradientProgram& program) {
  if (tape_.is_budgeted()) tape_.store.make_room(program.extra_bytes);
  slots_.assign(static_cast<std::size_t>(program.slot_count), nullptr);
  for (std::int32_t slot : program.used)
    slots_[static_cast<std::size_t>(slot)] = tape_.store.data(*tape_.table, used_ref(i, program, slot));
  for (std::int32_t k = 0; k < program.output_count; ++k)
    if (Tensor* dy = adjoint({i, k}))
      slots_[static_cast<std::size_t>(program.arity + program.output_count + k)] = dy->data();
  for (std::size_t k = 0; k < program.constants.size(); ++k)
    slots_[static_cast<std::size_t>(program.first_constant) + k] = program.constants[k].data();
  temporary_count_ = static_cast<std::size_t>(program.slot_count - program.first_temporary);
  if (temporaries_.size() < temporary_count_) temporaries_.resize(temporary_count_);
  for (const auto& step : program.steps) run_step(program, step);
}

// New memory that room was made for already.
Tensor BackwardPass::take_planned(const Type& type) {
  if (!tape_.is_budgeted()) return take(type);
  Tensor t = Tensor::empty(type);
  hold(t);
  return t;
}

void BackwardPass::run_step(const GradientProgram& program, const GradientProgram::Step& step) {
  in_.clear(), out_.clear();
  for (std::int32_t s : step.in) in_.push_back(slots_[static_cast<std::size_t>(s)]);
  for (std::size_t k = 0; k < step.out.size(); ++k) {
    auto slot = static_cast<std::size_t>(step.out[k]);
    Tensor& output = temporaries_[slot - static_cast<std::size_t>(program.first_temporary)];
    output = take_planned(step.types[k]);
    out_.push_back(output.data());
    slots_[slot] = output.data();
  }
  if (step.kernel.scratch_bytes == 0)
    step.kernel.run({in_, out_, nullptr});
  else
    run_with_scratch(step.kernel);
  for (std::int32_t s : step.dead) free_temporary(static_cast<std::size_t>(s - program.first_temporary));
}

void BackwardPass::run_with_scratch(const Kernel& kernel) {
  Tensor scratch = take_planned({DType::boolean, {kernel.scratch_bytes}});
  try {
    kernel.run({in_, out_, scratch.data()});
  } catch (...) {
    release(scratch);
    throw;
  }
  release(scratch);
}

void BackwardPass::free_temporary(std::size_t k) {
  if (!temporaries_[k].data()) return;
  release(temporaries_[k]);
  temporaries_[k] = {};
}

Tensor BackwardPass::result(std::int32_t i, const GradientProgram& program, const GradientProgram::Result& result) {
  std::int32_t s = result.slot - program.arity - program.output_count;
  if (s < 0) {
    Tensor t = tape_.store.read(*tape_.table, used_ref(i, program, result.slot));
    return t.reshape(result.type.shape);
  }
  Tensor t = s < program.output_count ? *adjoint({i, s})
             : result.slot < program.first_temporary
                 ? program.constants[static_cast<std::size_t>(result.slot - program.first_constant)]
                 : temporaries_[static_cast<std::size_t>(result.slot - program.first_temporary)];
  return t.shape() == result.type.shape ? t : t.reshape(result.type.shape);
}

void BackwardPass::distribute(std::int32_t i, const GradientProgram& program) {
  results_.clear();
  for (const auto& r : program.results) {
    results_.push_back(r.slot < 0 ? Tensor() : result(i, program, r));
    if (r.slot >= 0) hold(results_.back());
  }
  for (std::size_t k = 0; k < temporary_count_; ++k) free_temporary(k);
  temporary_count_ = 0;
  forget_adjoints(i);
  for (std::size_t k = 0; k < results_.size(); ++k)
    if (program.results[k].slot >= 0) add(tape_.graph->node(i).inputs[k], results_[k]);
}

// Takes over a gradient that is held.
void BackwardPass::add(Ref r, Tensor& gradient) {
  Tensor* so_far = adjoint(r);
  if (!so_far) {
    put_adjoint(r, std::move(gradient));
    gradient = {};
    return;
  }
  if (so_far->is_shared())
    set_adjoint(r, sum(*so_far, gradient));
  else
    run_sum(*so_far, gradient, *so_far);
  release(gradient);
  gradient = {};
}

Tensor BackwardPass::sum(const Tensor& a, const Tensor& b) {
  Tensor total = take(a.type());
  run_sum(a, b, total);
  return total;
}

namespace {

// Halves are for storage: each sum is that of f32, rounded.
template <class Half>
Kernel half_sum(std::int64_t count) {
  return {[count](const Buffers& b) {
    for (std::int64_t i = 0; i < count; ++i)
      b.out<Half>()[i] = Half(static_cast<float>(b.in<Half>(0)[i]) + static_cast<float>(b.in<Half>(1)[i]));
  }};
}

Kernel sum_kernel(const Type& type) {
  if (type.dtype == DType::f16) return half_sum<f16>(type.elements());
  if (type.dtype == DType::bf16) return half_sum<bf16>(type.elements());
  const Op& op = *find_op("add");
  const Type types[] = {type, type};
  return op.forward({op, types, Attributes(), {types, 1}});
}

}  // namespace

void BackwardPass::run_sum(const Tensor& a, const Tensor& b, const Tensor& total) {
  Kernel& kernel = tape_.sums[a.type()];
  if (!kernel.run) kernel = sum_kernel(a.type());
  const void* in[] = {a.data(), b.data()};
  void* out[] = {total.data()};
  kernel.run({in, out, nullptr});
}

void BackwardPass::hold(const Tensor& t) {
  if (tape_.is_budgeted()) tape_.store.ledger().hold(t);
}

// Just before its handle goes. Without a budget nobody counts shares: the last handle tells.
void BackwardPass::release(const Tensor& t) {
  if (tape_.is_budgeted()) return tape_.store.ledger().release(t);
  if (!t.data() || t.is_shared()) return;
  tape_.store.ledger().subtract(t.bytes());
  taken_ -= t.bytes();
}

Values TapeState::gradients(Ref target, const std::vector<Ref>& refs) {
  std::int32_t before = graph->size();
  Values wrt;
  for (Ref r : refs) {
    if (!is_float(graph->type(r).dtype))
      throw TapeError(fmt::format("[tape] gradients: {} has none, only floats have", to_string(graph->type(r))));
    wrt.emplace_back(graph, r);
  }
  try {
    Value y(graph, target);
    Values results = backpropagate({y}, {full_like(y, 1)}, wrt, [&](std::int32_t i) { return info(i).is_detached; });
    for (std::size_t k = 0; k < wrt.size(); ++k)
      if (!results[k]) results[k] = zeros_like(wrt[k]);
    synchronise();
    return results;
  } catch (...) {
    if (graph->size() > before) remove_from(before);
    throw;
  }
}

void TapeState::require_scalar(Ref target) const {
  const Type& type = graph->type(target);
  if (type.elements() != 1 || !is_float(type.dtype))
    throw NonScalarTarget(fmt::format(
        "[tape] backward of {}: it needs one float, or a seed; reduce it with sum or mean", to_string(type)));
}

void TapeState::backward(Ref target, const Tensor& seed) {
  if (seed.type() != graph->type(target))
    throw GradientShapeError(
        fmt::format("[tape] the seed is {}, the target is {}", to_string(seed.type()), to_string(graph->type(target))));
  struct Walk {
    explicit Walk(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
    ~Walk() { flag_ = before_; }
    bool& flag_;
    bool before_;
  } walk(walks_back);
  BackwardPass(*this, target).run(seed);
}

}  // namespace reprise
