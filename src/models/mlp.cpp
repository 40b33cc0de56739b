// SPDX-License-Identifier: Apache-2.0
// Linear layers with rectifiers between them.
#include "models/models.h"

namespace reprise::models {
namespace {

struct MlpUnit {
  nn::Linear linear;
  bool rectified;
  Value operator()(const Value& x) const { return rectified ? relu(linear(x)) : linear(x); }
  nn::Fields fields() { return rectified ? reprise::fields("0", linear) : linear.fields(); }
};

struct Mlp {
  std::vector<MlpUnit> units;
  Value operator()(Value x) const {
    for (const MlpUnit& unit : units) x = unit(x);
    return x;
  }
  nn::Fields fields() { return reprise::fields("units", units); }
};

}  // namespace

BuiltInModel mlp(const ModelOptions& options) {
  std::int64_t layers = 16, width = options.small ? 24 : 1024, rows = batch_size(options, options.small ? 32 : 512);
  Mlp net;
  for (std::int64_t i = 0; i < layers; ++i) {
    MlpUnit unit{nn::Linear(width, width), i + 1 < layers};
    start_for_relu(unit.linear.weight, nn::next_seed());
    unit.linear.bias.set(Tensor::zeros({DType::f32, {width}}));
    net.units.push_back(unit);
  }
  Type type{DType::f32, {rows, width}};
  BuiltInModel model =
      model_of(std::move(net), {type, type}, [](const Mlp& f, const Value& x, const Value& y) { return mse(f(x), y); });
  model.rule = optim::Sgd{{.lr = options.small ? 0.001 : 0.05}}.rule();
  model.draw = random_batches(0, 0);
  return model;
}

}  // namespace reprise::models
