// SPDX-License-Identifier: Apache-2.0
// The public face of a tape.
#include "reprise/tape.h"

#include "base/error.h"
#include "execute/tape_state.h"
#include "reprise/autodiff.h"

namespace reprise {

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

Var Tape::variable(const Tensor& tensor, std::string name) { return state_->add_leaf(tensor, std::move(name), true); }
Var Tape::constant(const Tensor& tensor, std::string name) { return state_->add_leaf(tensor, std::move(name), false); }

std::vector<Var> Tape::apply(const Op& op, const std::vector<Var>& inputs, Attributes attributes) {
  Values values;
  for (const Var& v : inputs) values.emplace_back(state_->graph, state_->check(v));
  Values outputs = record(op, values, std::move(attributes));
  return {outputs.begin(), outputs.end()};
}

std::vector<Var> Tape::apply(std::string_view op, const std::vector<Var>& inputs, Attributes attributes) {
  const Op* found = find_op(op);
  if (!found) fail("[tape] there is no op '{}': `reprise ops` lists them", op);
  return apply(*found, inputs, std::move(attributes));
}

Tensor Tape::value(const Var& v) { return state_->value(state_->check(v)); }
void Tape::assign(const Var& v, const Tensor& tensor) { state_->assign(v, tensor); }

void Tape::backward(const Var& target) {
  Ref ref = state_->check(target);
  state_->require_scalar(ref);
  state_->backward(ref, Tensor::full(state_->graph->type(ref), 1));
}

void Tape::backward(const Var& target, const Tensor& seed) { state_->backward(state_->check(target), seed); }

void Tape::backward_with_checkpoints(const Var& target, const tape::CheckpointConfig& config) {
  Ref ref = state_->check(target);
  state_->require_scalar(ref);
  tape::CheckpointConfig before{state_->segments};
  state_->set_segments(config);
  try {
    state_->run_segmented(ref);
  } catch (...) {
    state_->set_segments(before);
    throw;
  }
  state_->set_segments(before);
}

std::vector<Var> Tape::gradients(const Var& target, const std::vector<Var>& wrt) {
  Ref ref = state_->check(target);
  state_->require_scalar(ref);
  Values values;
  for (const Var& v : wrt) values.emplace_back(state_->graph, state_->check(v));
  Values results = reprise::gradients(Value(state_->graph, ref), values);
  state_->synchronise();
  return {results.begin(), results.end()};
}

Tensor Tape::grad(const Var& v) const {
  auto at = state_->grads.find(state_->check(v));
  if (at == state_->grads.end())
    throw NoGradient("[tape] this value has no gradient: run backward, and retain_grad() where it is not a variable");
  return at->second;
}

bool Tape::has_grad(const Var& v) const { return state_->grads.contains(state_->check(v)); }
void Tape::zero_grads() { state_->zero_grads(); }

void Tape::retain_grad(const Var& v) { state_->info(state_->check(v).node).retains = true; }

std::int64_t Tape::add_hook(const Var& v, Hook hook) {
  Ref ref = state_->check(v);
  state_->info(ref.node).has_hook = true;
  state_->hooks[++state_->next_hook] = {ref, std::move(hook)};
  return state_->next_hook;
}

void Tape::remove_hook(std::int64_t id) {
  if (state_->hooks.erase(id) == 0) throw TapeError(fmt::format("[tape] there is no hook {}", id));
}

double Tape::clip_grad_norm(double most) { return state_->clip_grad_norm(most); }
std::int64_t Tape::clip_grad_value(double most) { return state_->clip_grad_value(most); }

Tape::NoGrad::NoGrad(std::shared_ptr<TapeState> tape) : tape_(std::move(tape)) { ++tape_->no_grad_depth; }
Tape::NoGrad::~NoGrad() { --tape_->no_grad_depth; }
Tape::NoGrad Tape::no_grad() { return NoGrad(state_); }

std::int64_t Tape::node_count() const { return state_->graph->size(); }

void Tape::truncate(std::int64_t count) {
  if (count < 0 || count > node_count())
    throw TruncateError(fmt::format("[tape] truncate to {} nodes: there are {}", count, node_count()));
  state_->truncate(static_cast<std::int32_t>(count));
}

bool Tape::is_held(const Var& v) const { return state_->store.is_present(*state_->table, state_->check(v)); }

LazyStats Tape::stats() const {
  LazyStats stats = state_->store.stats();
  stats.bytes = state_->bytes();
  stats.peak_bytes = std::max(state_->store.ledger().peak(), stats.bytes);
  stats.entries = state_->store.entry_count();
  return stats;
}

void Tape::reset_stats() {
  state_->store.stats() = {};
  state_->store.ledger().forget_peak();
}

}  // namespace reprise
