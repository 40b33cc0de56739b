// SPDX-License-Identifier: Apache-2.0
// Recurrent nets over batched sequences: one large product for all inputs, then a product and a fused cell a step.
#include "base/error.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

struct State {
  Value h, c;
};

// A kind of net: how many gates it has, and its step from the input's part, the weights and a state to the next.
struct Kind {
  std::string_view name;
  std::int64_t gates;
  bool bias_joins_input;  // both biases are added to the input's part; otherwise the hidden one stays with h
  State (*step)(const Value& x, const RecurrentWeights& w, const State& s);
};

Value hidden_part(const RecurrentWeights& w, const Value& h) {
  return w.hidden_bias ? linear(h, w.hidden, w.hidden_bias) : matmul(h, w.hidden, false, true);
}

State tanh_step(const Value& x, const RecurrentWeights& w, const State& s) {
  return {tanh(x + matmul(s.h, w.hidden, false, true)), {}};
}
State relu_step(const Value& x, const RecurrentWeights& w, const State& s) {
  return {record("relu", {x + matmul(s.h, w.hidden, false, true)}), {}};
}
State lstm_step(const Value& x, const RecurrentWeights& w, const State& s) {
  Values next = record(*find_op("lstm_cell"), {x, matmul(s.h, w.hidden, false, true), s.c});
  return {next[0], next[1]};
}
State gru_step(const Value& x, const RecurrentWeights& w, const State& s) {
  return {record("gru_cell", {x, hidden_part(w, s.h), s.h}), {}};
}

constexpr Kind tanh_kind{"rnn", 1, true, tanh_step}, relu_kind{"rnn", 1, true, relu_step},
    lstm_kind{"lstm", 4, true, lstm_step}, gru_kind{"gru", 3, false, gru_step};

void expect_shape(const Kind& kind, std::string_view what, const Value& v, const Shape& shape) {
  if (v.shape() != shape)
    fail("[{}] {} is {}: it must have shape {}", kind.name, what, to_string(v.type()), to_string(shape));
}

std::int64_t hidden_size(const Kind& kind, const RecurrentWeights& w) {
  if (w.hidden.rank() != 2 || w.hidden.shape()[0] != kind.gates * w.hidden.shape()[1])
    fail("[{}] the hidden weight is {}: it must be [{}·hidden, hidden]", kind.name, to_string(w.hidden.type()),
         kind.gates);
  return w.hidden.shape()[1];
}

void check_weights(const Kind& kind, const RecurrentWeights& w, std::int64_t inputs, std::int64_t hidden) {
  expect_shape(kind, "the input weight", w.input, {kind.gates * hidden, inputs});
  expect_shape(kind, "the hidden weight", w.hidden, {kind.gates * hidden, hidden});
  for (const Value* bias : {&w.input_bias, &w.hidden_bias})
    if (*bias) expect_shape(kind, "a bias", *bias, {kind.gates * hidden});
}

// The inputs' part of every step: [T·B, gates·H] in one product, then parted by time.
Values input_parts(const Kind& kind, const Value& x, const RecurrentWeights& w) {
  Value bias = w.input_bias;
  if (kind.bias_joins_input && w.hidden_bias) bias = bias ? bias + w.hidden_bias : w.hidden_bias;
  Value all = bias ? linear(x, w.input, bias) : linear(x, w.input);
  Values parts = split(all, x.shape()[0], 0);
  for (Value& part : parts) part = squeeze(part, {0});
  return parts;
}

struct Pass {
  Values outputs;  // [B, H] each, in order of time
  State last;
};

Pass run_direction(const Kind& kind, const Value& x, const RecurrentWeights& w, State state, bool backwards) {
  Values parts = input_parts(kind, x, w);
  Pass pass{Values(parts.size()), {}};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t t = backwards ? parts.size() - 1 - i : i;
    state = kind.step(parts[t], w, state);
    pass.outputs[t] = state.h;
  }
  pass.last = state;
  return pass;
}

// The states every layer and direction begins with: given as [layers·directions, B, H], or zeros.
Values initial_states(const Kind& kind, const Value& x, const Value& given, std::size_t count, std::int64_t hidden) {
  Shape shape{static_cast<std::int64_t>(count), x.shape()[1], hidden};
  Values states;
  if (given) {
    expect_shape(kind, "an initial state", given, shape);
    states = split(given, shape[0], 0);
    for (Value& s : states) s = squeeze(s, {0});
  } else {
    Value zeros = Tensor::zeros({x.dtype(), {shape[1], hidden}});
    states.assign(count, zeros);
  }
  return states;
}

RecurrentOutput run(const Kind& kind, Value x, const State& initial, const std::vector<RecurrentWeights>& weights,
                    bool bidirectional) {
  std::size_t directions = bidirectional ? 2 : 1;
  if (weights.empty() || weights.size() % directions != 0)
    fail("[{}] {} sets of weights for {} direction{}: give one a layer and direction", kind.name, weights.size(),
         directions, directions == 1 ? "" : "s");
  if (x.rank() != 3 || x.shape()[0] == 0)
    fail("[{}] x is {}: it takes sequences [time, batch, inputs] of at least one step", kind.name, to_string(x.type()));
  std::int64_t hidden = hidden_size(kind, weights[0]);
  Values h = initial_states(kind, x, initial.h, weights.size(), hidden), c = h;
  if (kind.gates == 4) c = initial_states(kind, x, initial.c, weights.size(), hidden);
  for (std::size_t layer = 0; layer < weights.size(); layer += directions) {
    Values outputs;  // of this layer, per direction
    for (std::size_t d = 0; d < directions; ++d) {
      check_weights(kind, weights[layer + d], x.shape()[2], hidden);
      Pass pass = run_direction(kind, x, weights[layer + d], {h[layer + d], c[layer + d]}, d == 1);
      h[layer + d] = pass.last.h;
      if (kind.gates == 4) c[layer + d] = pass.last.c;
      outputs.push_back(stack(pass.outputs));
    }
    x = concat(outputs, 2);
  }
  return {x, stack(h), kind.gates == 4 ? stack(c) : Value{}};
}

}  // namespace

RecurrentOutput rnn(const Value& x, const Value& h0, const std::vector<RecurrentWeights>& weights,
                    const RecurrentOptions& options) {
  if (options.activation != "tanh" && options.activation != "relu")
    fail("[rnn] there is no activation '{}': use tanh or relu", options.activation);
  const Kind& kind = options.activation == "tanh" ? tanh_kind : relu_kind;
  return as_told_by("rnn", [&] { return run(kind, x, {h0, {}}, weights, options.bidirectional); });
}

RecurrentOutput lstm(const Value& x, const Value& h0, const Value& c0, const std::vector<RecurrentWeights>& weights,
                     const RecurrentOptions& options) {
  return as_told_by("lstm", [&] { return run(lstm_kind, x, {h0, c0}, weights, options.bidirectional); });
}

RecurrentOutput gru(const Value& x, const Value& h0, const std::vector<RecurrentWeights>& weights,
                    const RecurrentOptions& options) {
  return as_told_by("gru", [&] { return run(gru_kind, x, {h0, {}}, weights, options.bidirectional); });
}

}  // namespace reprise
