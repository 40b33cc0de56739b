// SPDX-License-Identifier: Apache-2.0
// A small convolutional network for grey images such as handwritten digits.
#include "models/models.h"

namespace reprise::models {
namespace {

struct Unit {
  nn::Conv conv;
  bool pooled;
  Value operator()(const Value& x) const {
    Value y = relu(conv(x));
    return pooled ? max_pool(y, {2}) : y;
  }
  nn::Fields fields() { return reprise::fields("0", conv); }
};

constexpr std::int64_t grid = 2;  // what is left of an image of 8x8, and what larger ones are averaged to

struct Digits {
  std::vector<Unit> units;
  nn::Linear head;

  Value operator()(Value x) const {
    for (const Unit& unit : units) x = unit(x);
    return head(flatten(adaptive_avg_pool(x, {grid, grid}), 1));
  }
  nn::Fields fields() { return reprise::fields("units", units, "head", head); }
};

}  // namespace

BuiltInModel digits(const ModelOptions& options) {
  std::int64_t images = batch_size(options, options.small ? 8 : 64), size = chosen(options.image, 8, "image size");
  std::int64_t width = options.small ? 4 : 24, classes = chosen(options.classes, 10, "number of classes");
  expect_image("digits", size, 8, 1);
  Digits net;
  std::int64_t in = 1;
  for (auto [channels, pooled] : {std::pair{width, false}, {width, true}, {2 * width, false}, {2 * width, true}}) {
    Unit unit{nn::Conv(in, channels, {3, 3}, {.pads = {1}}), pooled};
    start_for_relu(unit.conv.weight, nn::next_seed());
    net.units.push_back(std::move(unit));
    in = channels;
  }
  net.head = nn::Linear(in * grid * grid, classes);
  BuiltInModel model = model_of(std::move(net), {{DType::f32, {images, 1, size, size}}, {DType::i64, {images}}},
                                [](const Digits& f, const Value& x, const Value& y) { return cross_entropy(f(x), y); });
  model.rule = optim::Adam{{.lr = 1e-3}}.rule();
  model.random_batch = random_batches(model.batch, 0, classes);
  model.data = "digits";
  return model;
}

}  // namespace reprise::models
