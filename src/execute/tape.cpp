// SPDX-License-Identifier: Apache-2.0
// The public face of a tape.
#include "reprise/tape.h"

#include "base/error.h"
#include "execute/tape_state.h"

namespace reprise {
namespace {

TapeState& open_tape(const std::shared_ptr<TapeState>& state) {
  if (!state) throw TapeError("[tape] this tape was moved from: use the one it was moved to");
  return *state;
}

}  // namespace

Tape::Tape(const TapeOptions& options) : state_(std::make_shared<TapeState>(options)) {}
Tape::~Tape() {
  if (state_) state_->close();
}
Tape::Tape(Tape&&) noexcept = default;
Tape& Tape::operator=(Tape&& other) noexcept {
  if (state_ && state_ != other.state_) state_->close();
  state_ = std::move(other.state_);
  return *this;
}

Var Tape::variable(const Tensor& tensor, std::string name) {
  return open_tape(state_).add_leaf(tensor, std::move(name), true);
}
Var Tape::constant(const Tensor& tensor, std::string name) {
  return open_tape(state_).add_leaf(tensor, std::move(name), false);
}

std::vector<Var> Tape::apply(const Op& op, const std::vector<Var>& inputs, Attributes attributes) {
  TapeState& state = open_tape(state_);
  Values values;
  for (const Var& v : inputs) values.emplace_back(state.graph, state.check(v));
  Values outputs = record(op, values, std::move(attributes));
  return {outputs.begin(), outputs.end()};
}

std::vector<Var> Tape::apply(std::string_view op, const std::vector<Var>& inputs, Attributes attributes) {
  const Op* found = find_op(op);
  if (!found) fail("[tape] there is no op '{}': `reprise ops` lists them", op);
  return apply(*found, inputs, std::move(attributes));
}

Tensor Tape::value(const Var& v) { return open_tape(state_).value(open_tape(state_).check(v)); }
void Tape::assign(const Var& v, const Tensor& tensor) { open_tape(state_).assign(v, tensor); }

void Tape::backward(const Var& target) {
  TapeState& state = open_tape(state_);
  Ref ref = state.check(target);
  state.require_scalar(ref);
  state.backward(ref, Tensor::full(state.graph->type(ref), 1));
}

void Tape::backward(const Var& target, const Tensor& seed) {
  TapeState& state = open_tape(state_);
  state.backward(state.check(target), seed);
}

void Tape::backward_with_checkpoints(const Var& target, const tape::CheckpointConfig& config) {
  TapeState& state = open_tape(state_);
  Ref ref = state.check(target);
  state.require_scalar(ref);
  tape::CheckpointConfig before{state.segments};
  state.set_segments(config);
  try {
    state.run_segmented(ref);
  } catch (...) {
    state.set_segments(before);
    throw;
  }
  state.set_segments(before);
}

std::vector<Var> Tape::gradients(const Var& target, const std::vector<Var>& wrt) {
  TapeState& state = open_tape(state_);
  Ref ref = state.check(target);
  state.require_scalar(ref);
  std::vector<Ref> refs;
  for (const Var& v : wrt) refs.push_back(state.check(v));
  Values results = state.gradients(ref, refs);
  return {results.begin(), results.end()};
}

Tensor Tape::grad(const Var& v) const {
  TapeState& state = open_tape(state_);
  auto at = state.grads.find(state.check(v));
  if (at == state.grads.end())
    throw NoGradient("[tape] this value has no gradient: run backward, and retain_grad() where it is not a variable");
  return at->second;
}

bool Tape::has_grad(const Var& v) const {
  TapeState& state = open_tape(state_);
  return state.grads.contains(state.check(v));
}

void Tape::zero_grads() { open_tape(state_).zero_grads(); }

void Tape::retain_grad(const Var& v) {
  TapeState& state = open_tape(state_);
  state.info(state.check_carries("retain_grad", v).node).retains = true;
}

std::int64_t Tape::add_hook(const Var& v, Hook hook) {
  TapeState& state = open_tape(state_);
  Ref ref = state.check_carries("add_hook", v);
  if (!hook) throw TapeError("[tape] add_hook: the hook is empty");
  state.info(ref.node).has_hook = true;
  state.hooks[++state.next_hook] = {ref, std::move(hook)};
  return state.next_hook;
}

void Tape::remove_hook(std::int64_t id) {
  if (open_tape(state_).hooks.erase(id) == 0) throw TapeError(fmt::format("[tape] there is no hook {}", id));
}

double Tape::clip_grad_norm(double most) { return open_tape(state_).clip_grad_norm(most); }
std::int64_t Tape::clip_grad_value(double most) { return open_tape(state_).clip_grad_value(most); }

Tape::NoGrad::NoGrad(std::shared_ptr<TapeState> tape) : tape_(std::move(tape)) { ++open_tape(tape_).no_grad_depth; }
Tape::NoGrad::~NoGrad() { --tape_->no_grad_depth; }
Tape::NoGrad Tape::no_grad() { return NoGrad(state_); }

std::int64_t Tape::node_count() const { return open_tape(state_).graph->size(); }

void Tape::truncate(std::int64_t count) {
  if (count < 0 || count > node_count())
    throw TruncateError(fmt::format("[tape] truncate to {} nodes: there are {}", count, node_count()));
  open_tape(state_).truncate(static_cast<std::int32_t>(count));
}

bool Tape::is_held(const Var& v) const {
  TapeState& state = open_tape(state_);
  return state.store.is_present(*state.table, state.check(v));
}

LazyStats Tape::stats() const {
  TapeState& state = open_tape(state_);
  LazyStats stats = state.store.stats();
  stats.bytes = state.store.ledger().held();
  stats.peak_bytes = state.store.ledger().peak();
  stats.entries = state.store.entry_count();
  return stats;
}

void Tape::reset_stats() {
  TapeState& state = open_tape(state_);
  state.store.stats() = {};
  state.store.ledger().forget_peak();
}

}  // namespace reprise
