// SPDX-License-Identifier: Apache-2.0
// Recurrent cells unrolled over a sequence, with a read-out and a squared error at every step.
#include "models/models.h"

namespace reprise::models {
namespace {

template <class Cell>
struct Recurrent {
  Cell cell;
  nn::Linear read;
  std::int64_t hidden;

  // Hands every step's number and read-out to `visit`.
  template <class Visit>
  void run(const Value& x, const Visit& visit) const {
    Value h = Tensor::zeros({DType::f32, {x.shape()[1], hidden}}), c = h;
    for (std::int64_t t = 0; t < x.shape()[0]; ++t) {
      Value now = squeeze(slice(x, 0, t, t + 1), {0});
      if constexpr (std::is_same_v<Cell, nn::LstmCell>)
        std::tie(h, c) = cell(now, h, c);
      else
        h = cell(now, h);
      visit(t, read(h));
    }
  }
  Value operator()(const Value& x) const {
    Values outputs;
    run(x, [&](std::int64_t, const Value& y) { outputs.push_back(y); });
    return stack(outputs, 0);
  }
  Value loss(const Value& x, const Value& y) const {
    Value total;
    run(x, [&](std::int64_t t, const Value& output) {
      Value wanted = squeeze(slice(y, 0, t, t + 1), {0});
      Value error = mse(output, wanted) * (1.0 / static_cast<double>(x.shape()[0]));
      total = total ? total + error : error;
    });
    return total;
  }
  nn::Fields fields() { return reprise::fields("cell", cell, "read", read); }
};

template <class Cell>
BuiltInModel recurrent(const ModelOptions& options) {
  std::int64_t steps = options.small ? 12 : 512, batch = batch_size(options, options.small ? 4 : 32);
  std::int64_t inputs = options.small ? 6 : 64, hidden = options.small ? 12 : 256;
  using Net = Recurrent<Cell>;
  Net net{Cell(inputs, hidden), nn::Linear(hidden, inputs), hidden};
  Type type{DType::f32, {steps, batch, inputs}};
  BuiltInModel model =
      model_of(std::move(net), {type, type}, [](const Net& f, const Value& x, const Value& y) { return f.loss(x, y); });
  model.rule = optim::Sgd{{.lr = 0.01}}.rule();
  model.draw = random_batches(0, 0);
  return model;
}

}  // namespace

BuiltInModel lstm512(const ModelOptions& options) { return recurrent<nn::LstmCell>(options); }
BuiltInModel rnn512(const ModelOptions& options) { return recurrent<nn::RnnCell>(options); }

}  // namespace reprise::models
