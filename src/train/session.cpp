// SPDX-License-Identifier: Apache-2.0
#include "train/session.h"

#include <cstring>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/nn.h"

namespace reprise {
namespace {

using State = nn::Parameter::State;

State& state_of(const Capture& capture) { return *static_cast<State*>(capture.state.get()); }

void copy(const Tensor& to, const Tensor& from) {
  if (to.bytes() > 0) std::memcpy(to.data(), from.data(), static_cast<std::size_t>(to.bytes()));
}

// One after another, so that no more than one value is held twice.
void bind(Executor& executor) {
  for (const Capture& c : executor.program().graph.captures) {
    State& state = state_of(c);
    Tensor place = executor.pinned(c.input);
    if (state.present && state.value.data() == place.data()) continue;
    if (state.present)
      copy(place, state.value);
    else
      state.begin(place);
    state.value = place;
    state.present = true;
  }
}

// Gives each literal of the program the memory that `place` says, with the value in it.
void move_literals(Program& program, const std::function<Tensor(std::int32_t)>& place) {
  for (std::int32_t i = 0; i < program.graph.size(); ++i)
    if (Node& node = program.graph.node(i); node.op == &constant_op) node.attributes.set("value", place(i));
}

}  // namespace

Session::~Session() {
  if (executor_) executor_->give_back();
}

void Session::choose(const std::string& key, const std::function<Built()>& make) {
  auto found = built_.find(key);
  if (found == built_.end()) found = built_.emplace(key, make()).first;
  current_ = &found->second;
}

Executor& Session::executor() {
  if (loaded_ != current_) {
    release();
    executor_ = std::make_unique<Executor>(current_->program, ExecuteOptions{options_.poison, options_.verify_recompute,
                                                                             options_.timeline, options_.disk.folder});
    loaded_ = current_;
    move_literals(*loaded_->program,
                  [this](std::int32_t i) { return executor_->pinned(i); });  // held once, in the arena
  }
  bind(*executor_);
  return *executor_;
}

// State stays where it is and keeps the arena, of which nothing else stays: copies would be beside it for a while.
void Session::release() {
  if (!executor_) return;
  executor_->give_back();
  move_literals(*loaded_->program, [this](std::int32_t i) { return executor_->pinned(i).clone(); });
  executor_.reset();
  loaded_ = nullptr;
}

const PlanResult& Session::plan(std::string_view who) const {
  if (!current_) fail("[{}] nothing is compiled yet: run it, or compile it for the types of its inputs", who);
  return current_->plan;
}

std::int64_t Session::arena_bytes(std::string_view who) const {
  plan(who);
  return current_->program->arena_bytes;
}

std::int64_t Session::pinned_bytes(std::string_view who) const {
  plan(who);
  return current_->program->pinned_bytes;
}

const std::vector<Moment>& Session::timeline(std::string_view who) const {
  if (!executor_ || !options_.timeline) fail("[{}] there is no timeline: set .timeline and run", who);
  return executor_->timeline();
}

void write_inputs(const Executor& executor, std::span<const Tensor> inputs) {
  auto place = [&](std::size_t i) { return executor.pinned(executor.program().graph.inputs[i]); };
  auto is_lost = [&](std::size_t i) {  // as the first of two inputs is that lie in each other's places
    for (std::size_t earlier = 0; earlier < i; ++earlier)
      if (inputs[i].bytes() > 0 && inputs[i].data() == place(earlier).data() &&
          inputs[earlier].data() != inputs[i].data())
        return true;
    return false;
  };
  std::vector<Tensor> saved;  // empty but for such inputs, so that a step allocates nothing
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_lost(i)) saved.resize(inputs.size()), saved[i] = inputs[i].clone();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& from = saved.empty() || !saved[i].data() ? inputs[i] : saved[i];
    if (place(i).data() != from.data()) copy(place(i), from);
  }
}

std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}

}  // namespace reprise
