// SPDX-License-Identifier: Apache-2.0
// A small convolutional network for grey images such as handwritten digits.
#include "models/models.h"

namespace reprise::models {
namespace {

// x plus a correction that starts at zero.
struct DigitsBlock {
  nn::Conv first, second;
  Value operator()(const Value& x) const { return x + second(relu(first(relu(x)))); }
  nn::Fields fields() { return reprise::fields("0", first, "1", second); }
};

constexpr std::int64_t grid = 4;  // what images are averaged to in the end

struct Digits {
  nn::Conv stem;
  std::vector<DigitsBlock> blocks;
  nn::Linear head;

  Value operator()(const Value& images) const {
    Value x = stem(images);
    for (const DigitsBlock& block : blocks) x = block(x);
    return head(flatten(adaptive_avg_pool(relu(x), {grid, grid}), 1));
  }
  nn::Fields fields() { return reprise::fields("stem", stem, "blocks", blocks, "head", head); }
};

nn::Conv convolution(std::int64_t in, std::int64_t out) {
  nn::Conv conv(in, out, {3, 3}, {.pads = {1}});
  start_for_relu(conv.weight, nn::next_seed());
  return conv;
}

}  // namespace

BuiltInModel digits(const ModelOptions& options) {
  std::int64_t images = batch_size(options, options.small ? 8 : 64), size = chosen(options.image, 8, "image size");
  std::int64_t width = options.small ? 4 : 16, depth = options.small ? 3 : 8;
  std::int64_t classes = chosen(options.classes, 10, "number of classes");
  expect_image("digits", size, grid, 1);
  Digits net{convolution(1, width), {}, nn::Linear(width * grid * grid, classes)};
  for (std::int64_t i = 0; i < depth; ++i) {
    DigitsBlock block{convolution(width, width), convolution(width, width)};
    block.second.weight.set(Tensor::zeros(block.second.weight.type()));
    net.blocks.push_back(std::move(block));
  }
  BuiltInModel model = model_of(std::move(net), {{DType::f32, {images, 1, size, size}}, {DType::i64, {images}}},
                                [](const Digits& f, const Value& x, const Value& y) { return cross_entropy(f(x), y); });
  model.rule = optim::Adam{{.lr = 2e-3}}.rule();
  model.draw = random_batches(0, classes);
  model.data = "digits";
  return model;
}

}  // namespace reprise::models
