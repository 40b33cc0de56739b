// SPDX-License-Identifier: Apache-2.0
// RNN, LSTM and GRU. The common forms become our own recurrent nets; the others are recorded step by step.
#include <algorithm>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

// Steps are nodes of the graph: a file cannot ask for any number of them.
constexpr std::int64_t most_steps = 8192;

struct CellState {
  Value h, c;
};

// One direction of a layer, in ONNX's order of gates.
struct Direction {
  Value w, r;            // [gates·H, in], [gates·H, H]
  Value w_bias, r_bias;  // [gates·H], or empty
  Value peepholes;       // [3H], or empty
  std::vector<std::string> activations;
  std::vector<double> alphas, betas;
  double clip = 0;  // 0: none
  bool input_forget = false, linear_before_reset = false;
};

struct Cell {
  std::string_view op;
  std::int64_t gates;
  std::vector<std::string> activations;  // the usual ones
  CellState (*step)(const Value& x, const Direction& d, const CellState& s);
};

Value activated(const Direction& d, std::size_t i, const Value& value) {
  const std::string& name = d.activations[i];
  Value x = d.clip > 0 ? clamp(value, -d.clip, d.clip) : value;
  auto alpha = [&](double otherwise) { return i < d.alphas.size() ? d.alphas[i] : otherwise; };
  auto beta = [&](double otherwise) { return i < d.betas.size() ? d.betas[i] : otherwise; };
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Tanh") return tanh(x);
  if (name == "Relu") return relu(x);
  if (name == "LeakyRelu") return leaky_relu(x, alpha(0.01));
  if (name == "Elu") return elu(x, alpha(1));
  if (name == "HardSigmoid") return hard_sigmoid(x, alpha(0.2), beta(0.5));
  if (name == "Softplus") return softplus(x);
  if (name == "Softsign") return x / (abs(x) + 1);
  unsupported("activation {} is not supported", name);
}

Value hidden_product(const Direction& d, const Value& h) {
  Value y = matmul(h, d.r, false, true);
  return d.r_bias ? y + d.r_bias : y;
}

CellState rnn_cell(const Value& x, const Direction& d, const CellState& s) {
  return {activated(d, 0, x + hidden_product(d, s.h)), {}};
}

// Gates i, o, f, c.
CellState lstm_cell(const Value& x, const Direction& d, const CellState& s) {
  Values g = split(x + hidden_product(d, s.h), 4, 1), p;
  if (d.peepholes) p = split(d.peepholes, 3, 0);
  Value i = activated(d, 0, d.peepholes ? g[0] + p[0] * s.c : g[0]);
  Value f = d.input_forget ? 1 - i : activated(d, 0, d.peepholes ? g[2] + p[2] * s.c : g[2]);
  Value next = f * s.c + i * activated(d, 1, g[3]);
  Value o = activated(d, 0, d.peepholes ? g[1] + p[1] * next : g[1]);
  return {o * activated(d, 2, next), next};
}

// Gates z, r, h. The reset gate is applied to the state, or to its product where linear_before_reset says.
CellState gru_cell(const Value& x, const Direction& d, const CellState& s) {
  std::int64_t hidden = s.h.shape()[1];
  Values in = split(x, 3, 1), part = split(hidden_product(d, s.h), 3, 1);
  Value z = activated(d, 0, in[0] + part[0]), r = activated(d, 0, in[1] + part[1]);
  Value candidate = part[2];
  if (!d.linear_before_reset) {
    candidate = matmul(r * s.h, narrow(d.r, 0, 2 * hidden, hidden), false, true);
    if (d.r_bias) candidate = candidate + narrow(d.r_bias, 0, 2 * hidden, hidden);
  } else {
    candidate = r * candidate;
  }
  Value h = activated(d, 1, in[2] + candidate);
  return {(1 - z) * h + z * s.h, {}};
}

const Cell rnn_kind_of_onnx{"RNN", 1, {"Tanh"}, rnn_cell};
const Cell lstm_kind_of_onnx{"LSTM", 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_cell};
const Cell gru_kind_of_onnx{"GRU", 3, {"Sigmoid", "Tanh"}, gru_cell};

// A whole node: x is [T, B, in], states are [directions, B, H].
struct Layer {
  Value x, h0, c0, lengths;
  std::vector<Direction> directions;
  std::vector<bool> backwards;
  std::int64_t hidden = 0;
};

// Part i of `count` equal parts along the first axis, which disappears.
Value direction_part(const Value& v, int i) { return v ? squeeze(narrow(v, 0, i, 1), {0}) : v; }

void read_weights(const NodeCall& c, const Cell& cell, Direction& d, int i) {
  d.w = direction_part(c.in(1), i);
  d.r = direction_part(c.in(2), i);
  if (d.r.rank() != 2 || d.w.rank() != 2 || d.r.shape()[0] != cell.gates * d.r.shape()[1] ||
      d.w.shape()[0] != d.r.shape()[0])
    fail("[onnx] weights {} and {} do not fit {}", to_string(c.in(1).type()), to_string(c.in(2).type()), cell.op);
  if (c.has(3)) {
    Values biases = split(direction_part(c.in(3), i), 2, 0);
    d.w_bias = biases[0], d.r_bias = biases[1];
  }
  if (cell.gates == 4) d.peepholes = direction_part(c.maybe(7), i);
}

void read_options(const NodeCall& c, const Cell& cell, Direction& d, std::size_t i) {
  std::vector<std::string> all = c.texts("activations");
  std::size_t count = cell.activations.size();
  d.activations = cell.activations;
  if (!all.empty()) {
    if (all.size() < (i + 1) * count) fail("[onnx] {} has {} activations, too few", cell.op, all.size());
    auto first = all.begin() + static_cast<std::ptrdiff_t>(i * count);
    d.activations.assign(first, first + static_cast<std::ptrdiff_t>(count));
  }
  d.alphas = c.reals("activation_alpha");
  d.betas = c.reals("activation_beta");
  if ((!d.alphas.empty() || !d.betas.empty()) && (i > 0 || count > 1))
    unsupported("activation_alpha and activation_beta are supported for a single activation only");
  d.clip = c.real("clip", 0);
  d.input_forget = cell.gates == 4 && c.flag("input_forget");
  d.linear_before_reset = c.flag("linear_before_reset");
}

Layer layer_of(const NodeCall& c, const Cell& cell) {
  bool batch_first = c.flag("layout");
  auto ordered = [&](const Value& v) { return v && batch_first ? swap_axes(v, 0, 1) : v; };
  Layer layer{.x = ordered(c.in(0)), .h0 = ordered(c.maybe(5)), .c0 = cell.gates == 4 ? ordered(c.maybe(6)) : Value{}};
  if (layer.x.rank() != 3 || c.in(1).rank() != 3 || c.in(2).rank() != 3)
    fail("[onnx] {} takes x, W and R with three dimensions, not {}", cell.op, to_string(c.in(0).type()));
  if (layer.x.shape()[0] < 1 || layer.x.shape()[0] > most_steps)
    unsupported("{} steps are not supported: 1 to {} are", layer.x.shape()[0], most_steps);
  std::string direction = c.text("direction", "forward");
  int count = direction == "bidirectional" ? 2 : 1;
  if (c.in(1).shape()[0] != count)
    fail("[onnx] W is {}: {} has {} directions", to_string(c.in(1).type()), cell.op, count);
  for (int i = 0; i < count; ++i) {
    Direction& d = layer.directions.emplace_back();
    read_weights(c, cell, d, i);
    read_options(c, cell, d, static_cast<std::size_t>(i));
    layer.backwards.push_back(i == 1 || direction == "reverse");
  }
  layer.hidden = layer.directions[0].r.shape()[1];
  if (c.has(4)) layer.lengths = c.in(4);
  if (const Tensor* known = c.known(4)) {
    std::vector<std::int64_t> lengths = known->to_vector<std::int64_t>();
    if (std::ranges::all_of(lengths, [&](std::int64_t n) { return n == layer.x.shape()[0]; })) layer.lengths = {};
  }
  return layer;
}

bool is_our_form(const Cell& cell, const Layer& layer) {
  return !layer.lengths && std::ranges::all_of(layer.directions, [&](const Direction& d) {
    bool usual = d.activations == cell.activations || (cell.gates == 1 && d.activations[0] == "Relu");
    bool same_activation = d.activations == layer.directions[0].activations;
    return usual && same_activation && !d.peepholes && d.clip == 0 && !d.input_forget && d.alphas.empty() &&
           d.betas.empty() && (cell.gates != 3 || d.linear_before_reset);
  });
}

// Gates in our order: i, f, g, o from i, o, f, c; r, z, n from z, r, h.
Value reordered(const Cell& cell, const Value& v) {
  if (!v || cell.gates == 1) return v;
  Values g = split(v, cell.gates, 0);
  return cell.gates == 4 ? concat({g[0], g[2], g[3], g[1]}, 0) : concat({g[1], g[0], g[2]}, 0);
}

RecurrentOutput by_our_nets(const Cell& cell, const Layer& layer) {
  std::vector<RecurrentWeights> weights;
  for (const Direction& d : layer.directions)
    weights.push_back(
        {reordered(cell, d.w), reordered(cell, d.r), reordered(cell, d.w_bias), reordered(cell, d.r_bias)});
  bool reversed = layer.backwards[0];
  RecurrentOptions options{.bidirectional = layer.directions.size() == 2};
  if (layer.directions[0].activations[0] == "Relu") options.activation = "relu";
  Value x = reversed ? flip(layer.x, {0}) : layer.x;
  RecurrentOutput y = cell.gates == 4   ? lstm(x, layer.h0, layer.c0, weights, options)
                      : cell.gates == 3 ? gru(x, layer.h0, weights, options)
                                        : rnn(x, layer.h0, weights, options);
  if (reversed) y.output = flip(y.output, {0});
  return y;
}

Value initial_state(const Layer& layer, const Value& given, int i) {
  if (given) return direction_part(given, i);
  return Tensor::zeros({layer.x.dtype(), {layer.x.shape()[1], layer.hidden}});
}

// Sequences that have ended keep their state and give zeros.
struct StepResult {
  CellState state;
  Value output;
};
StepResult masked_step(const Layer& layer, const CellState& old, const CellState& next, std::int64_t t) {
  if (!layer.lengths) return {next, next.h};
  Value runs = unsqueeze(greater(layer.lengths, number(static_cast<double>(t), layer.lengths)), {1});
  CellState kept{where(runs, next.h, old.h), next.c ? where(runs, next.c, old.c) : Value{}};
  return {kept, where(runs, next.h, number(0, next.h))};
}

RecurrentOutput step_by_step(const Cell& cell, const Layer& layer) {
  std::int64_t steps = layer.x.shape()[0];
  Values outputs, last_h, last_c;
  for (std::size_t i = 0; i < layer.directions.size(); ++i) {
    const Direction& d = layer.directions[i];
    Value all = d.w_bias ? linear(layer.x, d.w, d.w_bias) : linear(layer.x, d.w);
    Values parts = split(all, steps, 0), over_time(static_cast<std::size_t>(steps));
    auto at = static_cast<int>(i);
    CellState state{initial_state(layer, layer.h0, at), cell.gates == 4 ? initial_state(layer, layer.c0, at) : Value{}};
    for (std::int64_t n = 0; n < steps; ++n) {
      std::int64_t t = layer.backwards[i] ? steps - 1 - n : n;
      Value x = squeeze(parts[static_cast<std::size_t>(t)], {0});
      StepResult result = masked_step(layer, state, cell.step(x, d, state), t);
      state = result.state;
      over_time[static_cast<std::size_t>(t)] = result.output;
    }
    outputs.push_back(stack(over_time));
    last_h.push_back(state.h);
    if (state.c) last_c.push_back(state.c);
  }
  return {concat(outputs, 2), stack(last_h), last_c.empty() ? Value{} : stack(last_c)};
}

// Outputs: every state [T, directions, B, H], the last h, the last c [directions, B, H]; the batch first where `layout`
// says.
Values recurrent(const NodeCall& c, const Cell& cell) {
  Layer layer = layer_of(c, cell);
  RecurrentOutput y = is_our_form(cell, layer) ? by_our_nets(cell, layer) : step_by_step(cell, layer);
  auto directions = static_cast<std::int64_t>(layer.directions.size());
  Value all = reshape(y.output, {layer.x.shape()[0], layer.x.shape()[1], directions, layer.hidden});
  bool batch_first = c.flag("layout");
  all = batch_first ? transpose(all, {1, 0, 2, 3}) : transpose(all, {0, 2, 1, 3});
  auto ordered = [&](const Value& v) { return v && batch_first ? swap_axes(v, 0, 1) : v; };
  return {all, ordered(y.h), ordered(y.c)};
}

Values rnn_of(const NodeCall& c) { return recurrent(c, rnn_kind_of_onnx); }
Values lstm_of(const NodeCall& c) { return recurrent(c, lstm_kind_of_onnx); }
Values gru_of(const NodeCall& c) { return recurrent(c, gru_kind_of_onnx); }

constexpr Operator recurrent_table[] = {
    {"GRU", 7, 21, computes, gru_of},
    {"LSTM", 7, 21, computes, lstm_of},
    {"RNN", 7, 21, computes, rnn_of},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return recurrent_table; }

}  // namespace reprise::onnx
