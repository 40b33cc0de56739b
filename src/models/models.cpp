// SPDX-License-Identifier: Apache-2.0
#include "models/models.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "nn/initial.h"

namespace reprise {
namespace models {
namespace {

BuiltInModel gpt6(const ModelOptions& o) { return gpt(o, {6, 384, 6, 256, 8, 65}); }
BuiltInModel gpt4s(const ModelOptions& o) { return gpt(o, {4, 128, 4, 64, 32, 65}); }

struct Entry {
  ModelInfo info;
  BuiltInModel (*make)(const ModelOptions&);
};
constexpr Entry table[] = {
    {{"mlp16", "16 linear layers of 1024 with relu, batch 512, mean squared error, SGD"}, mlp},
    {{"gpt6", "transformer: 6 layers, width 384, 6 heads, 256 tokens, batch 8, 65 characters, Adam"}, gpt6},
    {{"gpt4s", "transformer: 4 layers, width 128, 4 heads, 64 tokens, batch 32, 65 characters, Adam"}, gpt4s},
    {{"digits", "residual network of 8 blocks of 16 channels, 64 images of 1x8x8, 10 classes, Adam"}, digits},
    {{"resnet18", "residual network, 8 images of 3x224x224, 1000 classes, SGD"}, resnet18},
    {{"resnet50", "residual network, 4 images of 3x224x224, 1000 classes, SGD"}, resnet50},
    {{"vgg16", "plain convolutional network, 4 images of 3x224x224, 1000 classes, SGD"}, vgg16},
    {{"unet", "U-net: 5 levels from 32 channels, batch norm, 4 images of 3x256x256, binary cross entropy, SGD"}, unet},
    {{"lstm512", "LSTM cell of 256 over 512 steps, batch 32, a read-out and a squared error every step, SGD"}, lstm512},
    {{"rnn512", "the same with a tanh cell"}, rnn512},
};

}  // namespace

std::int64_t batch_size(const ModelOptions& options, std::int64_t usual) {
  if (options.batch < 0) fail("[model] a batch of {} samples: it must be positive", options.batch);
  return options.batch > 0 ? options.batch : usual;
}

std::int64_t chosen(std::int64_t wanted, std::int64_t usual, std::string_view what) {
  if (wanted < 0) fail("[model] {} {}: it must be positive", what, wanted);
  return wanted > 0 ? wanted : usual;
}

void expect_image(std::string_view model, std::int64_t size, std::int64_t least, std::int64_t multiple) {
  if (size < least || size % multiple != 0)
    fail("[model] {} cannot work on images of {}x{}: it needs at least {} pixels a side, in multiples of {}", model,
         size, size, least, multiple);
}

void draw(const Tensor& place, std::int64_t below, std::uint64_t seed) {
  DType drawn = below == 0 ? DType::f32 : DType::i64;
  bool is_there = place.dtype() == drawn;
  Tensor t = is_there ? place : Tensor::empty({drawn, place.shape()});
  if (below == 0) {
    nn::fill_normal(t, 1, seed);
  } else {
    Random random(seed);
    for (std::int64_t& x : t.span<std::int64_t>()) x = random.below(below);
  }
  if (!is_there) std::memcpy(place.data(), t.to(place.dtype()).data(), static_cast<std::size_t>(place.bytes()));
}

std::function<void(std::uint64_t, std::size_t, const Tensor&)> random_batches(std::int64_t x_below,
                                                                              std::int64_t y_below) {
  return [=](std::uint64_t seed, std::size_t i, const Tensor& place) {
    draw(place, i == 0 ? x_below : y_below, 2 * seed + i);
  };
}

void start_for_relu(nn::Parameter& weight, nn::Seed seed) {
  const Shape& shape = weight.type().shape;
  auto inputs = static_cast<double>(shape.elements() / shape[0]);
  weight.set(nn::normal(shape, std::sqrt(2 / inputs), seed));
}

}  // namespace models

std::vector<ModelInfo> built_in_models() {
  std::vector<ModelInfo> all;
  for (const models::Entry& entry : models::table) all.push_back(entry.info);
  return all;
}

BuiltInModel built_in_model(std::string_view name, const ModelOptions& options) {
  nn::set_seed(options.seed);
  std::string names;
  for (const models::Entry& entry : models::table) {
    names += (names.empty() ? "" : ", ") + std::string(entry.info.name);
    if (entry.info.name != name) continue;
    BuiltInModel model = entry.make(options);
    model.name = name;
    return model;
  }
  fail("[model] there is no model '{}': choose from {}", name, names);
}

std::vector<Tensor> BuiltInModel::random_batch(std::uint64_t seed) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < batch.size(); ++i) draw(seed, i, tensors.emplace_back(Tensor::empty(batch[i])));
  return tensors;
}

std::int64_t BuiltInModel::parameter_count() const {
  std::int64_t count = 0;
  for (const nn::Named& p : parameters)
    if (p.parameter.trainable()) count += p.parameter.type().elements();
  return count;
}

}  // namespace reprise
