// SPDX-License-Identifier: Apache-2.0
// Recurrent layers and cells.
#include <cmath>

#include "nn/initial.h"
#include "reprise/nn.h"

namespace reprise::nn {

RecurrentLayer::RecurrentLayer(std::int64_t inputs, std::int64_t hidden, std::int64_t gates, Seed seed) {
  expect_positive("recurrent layer", {inputs, hidden});
  double limit = std::sqrt(1.0 / static_cast<double>(hidden));
  weight_ih = Parameter(uniform({gates * hidden, inputs}, limit, seed));
  weight_hh = Parameter(uniform({gates * hidden, hidden}, limit, seed + 1));
  bias_ih = Parameter(uniform({gates * hidden}, limit, seed + 2));
  bias_hh = Parameter(uniform({gates * hidden}, limit, seed + 3));
}

RecurrentWeights RecurrentLayer::in(const Value& x) const {
  return {weight_ih.in(x), weight_hh.in(x), bias_ih.in(x), bias_hh.in(x)};
}

Fields RecurrentLayer::fields() {
  return reprise::fields("weight_ih", weight_ih, "weight_hh", weight_hh, "bias_ih", bias_ih, "bias_hh", bias_hh);
}

Value RnnCell::operator()(const Value& x, const Value& h) const {
  RecurrentWeights w = in(x);
  return tanh(linear(x, w.input, w.input_bias) + linear(h, w.hidden, w.hidden_bias));
}

Value GruCell::operator()(const Value& x, const Value& h) const {
  RecurrentWeights w = in(x);
  return record("gru_cell", {linear(x, w.input, w.input_bias), linear(h, w.hidden, w.hidden_bias), h});
}

std::pair<Value, Value> LstmCell::operator()(const Value& x, const Value& h, const Value& c) const {
  RecurrentWeights w = in(x);
  Values next =
      record(*find_op("lstm_cell"), {linear(x, w.input, w.input_bias), linear(h, w.hidden, w.hidden_bias), c});
  return {next[0], next[1]};
}

}  // namespace reprise::nn
