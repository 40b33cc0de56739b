// SPDX-License-Identifier: Apache-2.0
// The backward pass: nodes last to first, each by its gradient program. What a program reads and is not there is
// computed again. Several uses of one value are summed in a fixed order, latest use first.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "execute/tape_state.h"

namespace reprise {

BackwardPass::BackwardPass(TapeState& tape, Ref target, const Tensor& seed) : tape_(tape), target_(target) {
  std::size_t count = static_cast<std::size_t>(target.node) + 1;
  adjoints_.resize(count);
  has_adjoint_.assign(count, false);
  add(target, seed);
  marked_ = tape_.is_budgeted() ? target.node + 1 : 0;
  for (std::int32_t i = 0; i < marked_; ++i) ++tape_.table->cell(i).pending;
}

BackwardPass::~BackwardPass() {
  unlock_all();
  for (const Tensor& t : results_) release(t);
  for (std::size_t k = 0; k < temporaries_.size(); ++k) release(temporaries_[k]);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(has_adjoint_.size()); ++i) forget_adjoints(i);
  for (std::int32_t i = 0; i < marked_; ++i) --tape_.table->cell(i).pending;
}

void BackwardPass::run() {
  for (std::int32_t i = target_.node; i >= 0; --i) {
    try {
      visit(i);
    } catch (const NoRoom& d) {
      tape_.fail_budget(fmt::format("the gradient of '{}'", tape_.graph->node(i).op->name), d);
    }
    forget_adjoints(i);
    if (marked_ > i) --tape_.table->cell(i).pending, marked_ = i;
    const auto* segment = tape_.segment_of(i);
    if (segment && segment->start_node == i) tape_.drop_segment(*segment);
  }
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
    Tensor* gradient = adjoint(hook.ref);
    if (!gradient) continue;
    Tensor changed = hook.call(*gradient);
    if (changed.type() != gradient->type())
      throw GradientShapeError(fmt::format("[tape] a hook made a gradient of {} into one of {}",
                                           to_string(gradient->type()), to_string(changed.type())));
    set_adjoint(hook.ref, std::move(changed));
  }
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
  if (tape_.is_budgeted()) tape_.store.make_room(gradient.bytes());
  return gradient.clone();
}

void BackwardPass::propagate(std::int32_t i) {
  const Node& node = tape_.graph->node(i);
  given_.clear(), wanted_.clear();
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(node.outputs.size()); ++k)
    given_.push_back(adjoint({i, k}) != nullptr);
  for (Ref r : node.inputs)
    wanted_.push_back(tape_.info(r.node).carries_gradient && is_float(tape_.graph->type(r).dtype));
  const GradientProgram& program = program_of(i);
  ensure_used(i, program);
  run_program(i, program);
  unlock_all();
  distribute(i, program);
}

const GradientProgram& BackwardPass::program_of(std::int32_t i) {
  constexpr std::int64_t room_for_constants = 1024;
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
  temporaries_.clear();
  temporaries_.resize(static_cast<std::size_t>(program.slot_count - program.first_temporary));
  for (const auto& step : program.steps) run_step(program, step);
}

void BackwardPass::run_step(const GradientProgram& program, const GradientProgram::Step& step) {
  in_.clear(), out_.clear();
  for (std::int32_t s : step.in) in_.push_back(slots_[static_cast<std::size_t>(s)]);
  for (std::size_t k = 0; k < step.out.size(); ++k) {
    auto slot = static_cast<std::size_t>(step.out[k]);
    Tensor& output = temporaries_[slot - static_cast<std::size_t>(program.first_temporary)];
    output = Tensor::empty(step.types[k]);
    hold(output);
    out_.push_back(output.data());
    slots_[slot] = output.data();
  }
  Tensor scratch;
  if (step.kernel.scratch_bytes > 0) scratch = Tensor::empty({DType::boolean, {step.kernel.scratch_bytes}});
  tape_.store.ledger().add(step.kernel.scratch_bytes);
  step.kernel.run({in_, out_, scratch.data()});
  tape_.store.ledger().subtract(step.kernel.scratch_bytes);
  for (std::int32_t s : step.dead) free_temporary(static_cast<std::size_t>(s - program.first_temporary));
}

void BackwardPass::free_temporary(std::size_t k) {
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
  for (std::size_t k = 0; k < temporaries_.size(); ++k) free_temporary(k);
  temporaries_.clear();
  forget_adjoints(i);
  for (std::size_t k = 0; k < results_.size(); ++k) {
    if (program.results[k].slot < 0) continue;
    add(tape_.graph->node(i).inputs[k], results_[k]);
    release(results_[k]);
    results_[k] = {};
  }
}

void BackwardPass::add(Ref r, const Tensor& gradient) {
  Tensor* so_far = adjoint(r);
  if (so_far && !so_far->is_shared())
    run_sum(*so_far, gradient, *so_far);
  else
    set_adjoint(r, so_far ? sum(*so_far, gradient) : gradient);
}

Tensor BackwardPass::sum(const Tensor& a, const Tensor& b) {
  if (tape_.is_budgeted()) tape_.store.make_room(a.bytes());
  Tensor total = Tensor::empty(a.type());
  run_sum(a, b, total);
  return total;
}

void BackwardPass::run_sum(const Tensor& a, const Tensor& b, const Tensor& total) {
  Kernel& kernel = tape_.sums[a.type()];
  if (!kernel.run) {
    const Op& op = *find_op("add");
    const Type types[] = {a.type(), a.type()};
    kernel = op.forward({op, types, Attributes(), {types, 1}});
  }
  const void* in[] = {a.data(), b.data()};
  void* out[] = {total.data()};
  kernel.run({in, out, nullptr});
}

void BackwardPass::hold(const Tensor& t) {
  if (tape_.is_budgeted()) tape_.store.ledger().hold(t);
}
void BackwardPass::release(const Tensor& t) {
  if (tape_.is_budgeted()) tape_.store.ledger().release(t);
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
  BackwardPass(*this, target, seed).run();
}

}  // namespace reprise
