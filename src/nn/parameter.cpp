// SPDX-License-Identifier: Apache-2.0
// Parameters, and how they enter a graph.
#include <cstring>

#include "base/error.h"
#include "reprise/nn.h"

namespace reprise::nn {

Parameter::Parameter() : Parameter(Tensor{}) {}

Parameter::Parameter(Tensor value, bool trainable)
    : state_(std::make_shared<State>(State{value.type(), value, 0, true, trainable})) {}

Parameter::Parameter(const Type& type, double fill, bool trainable)
    : state_(std::make_shared<State>(State{type, Tensor{}, fill, false, trainable})) {}

Parameter::Parameter(const Type& type, std::function<void(const Tensor& to)> load, bool trainable)
    : state_(std::make_shared<State>(State{type, Tensor{}, 0, false, trainable, std::move(load)})) {}

void Parameter::State::begin(const Tensor& place) const {
  if (load) return load(place);
  bool is_zero = fill == 0;
  if (is_zero && place.bytes() > 0) std::memset(place.data(), 0, static_cast<std::size_t>(place.bytes()));
  if (is_zero || place.bytes() == 0) return;
  std::memcpy(place.data(), Tensor::full(place.type(), fill).data(), static_cast<std::size_t>(place.bytes()));
}

const Tensor& Parameter::value() const {
  if (state_->present) return state_->value;
  Tensor value = Tensor::empty(state_->type);
  state_->begin(value);
  state_->value = value;
  state_->present = true;
  return state_->value;
}

void Parameter::set(const Tensor& value) {
  if (value.type() != type())
    fail("[parameter] it is {}, the new value is {}", to_string(type()), to_string(value.type()));
  if (value.bytes() > 0) std::memmove(this->value().data(), value.data(), static_cast<std::size_t>(value.bytes()));
}

Value Parameter::in(const Value& x) const {
  const std::shared_ptr<Graph>& graph = x.graph();
  if (!graph) fail("[parameter] an empty Value has no graph: it was never assigned");
  for (const Capture& c : graph->captures)
    if (c.state == state_) return {graph, {c.input, 0}};
  Ref input = graph->add_input(type());
  graph->captures.push_back({state_, input.node});
  return {graph, input};
}

void Parameter::update(const Value& next) const {
  Ref input = in(next).ref();
  if (next.type() != type()) fail("[parameter] it is {}, its update is {}", to_string(type()), to_string(next.type()));
  for (const Update& u : next.graph()->updates)
    if (u.input == input.node)
      fail("[parameter] one step updates it twice: a layer that keeps running statistics was used twice");
  next.graph()->updates.push_back({input.node, next.ref()});
}

}  // namespace reprise::nn
