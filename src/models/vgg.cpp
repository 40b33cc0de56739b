// SPDX-License-Identifier: Apache-2.0
// VGG-16 (Simonyan & Zisserman 2015), without dropout.
#include "models/models.h"

namespace reprise::models {
namespace {

struct VggUnit {
  nn::Conv conv;
  bool pooled;
  Value operator()(const Value& x) const {
    Value y = relu(conv(x));
    return pooled ? max_pool(y, {2}) : y;
  }
  nn::Fields fields() { return reprise::fields("0", conv); }
};

struct Vgg {
  std::vector<VggUnit> units;
  nn::Linear fc1, fc2, fc3;
  std::int64_t grid;

  Value operator()(Value x) const {
    for (const VggUnit& unit : units) x = unit(x);
    x = flatten(adaptive_avg_pool(x, {grid, grid}), 1);
    return fc3(relu(fc2(relu(fc1(x)))));
  }
  nn::Fields fields() { return reprise::fields("units", units, "head.2.0", fc1, "head.2.3", fc2, "head.2.6", fc3); }
};

}  // namespace

BuiltInModel vgg16(const ModelOptions& options) {
  std::int64_t images = batch_size(options, options.small ? 2 : 4),
               size = chosen(options.image, options.small ? 32 : 224, "image size");
  std::int64_t classes = chosen(options.classes, options.small ? 10 : 1000, "number of classes");
  std::int64_t wide = options.small ? 32 : 4096, scale = options.small ? 16 : 1;
  expect_image("vgg16", size, 32, 1);
  Vgg net{{}, {}, {}, {}, size / 32};
  std::int64_t in = 3;
  for (auto [channels, count] : {std::pair<std::int64_t, int>{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}})
    for (int i = 0; i < count; ++i, in = channels / scale) {
      VggUnit unit{nn::Conv(in, channels / scale, {3, 3}, {.pads = {1}}), i + 1 == count};
      start_for_relu(unit.conv.weight, nn::next_seed());
      net.units.push_back(std::move(unit));
    }
  net.fc1 = nn::Linear(in * net.grid * net.grid, wide);
  net.fc2 = nn::Linear(wide, wide);
  net.fc3 = nn::Linear(wide, classes);
  BuiltInModel model = model_of(std::move(net), {{DType::f32, {images, 3, size, size}}, {DType::i64, {images}}},
                                [](const Vgg& f, const Value& x, const Value& y) { return cross_entropy(f(x), y); });
  model.rule = optim::Sgd{{.lr = 0.01}}.rule();
  model.draw = random_batches(0, classes);
  return model;
}

}  // namespace reprise::models
