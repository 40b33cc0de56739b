// SPDX-License-Identifier: Apache-2.0
// One function a family of models.
#pragma once

#include "reprise/models.h"

namespace reprise::models {

BuiltInModel mlp(const ModelOptions& options);
struct GptSize {
  std::int64_t layers, width, heads, tokens, batch, vocabulary;
};
BuiltInModel gpt(const ModelOptions& options, const GptSize& size);
BuiltInModel digits(const ModelOptions& options);
BuiltInModel resnet18(const ModelOptions& options);
BuiltInModel resnet50(const ModelOptions& options);
BuiltInModel vgg16(const ModelOptions& options);
BuiltInModel unet(const ModelOptions& options);
BuiltInModel lstm512(const ModelOptions& options);
BuiltInModel rnn512(const ModelOptions& options);

std::int64_t batch_size(const ModelOptions& options, std::int64_t usual);
/// What an option asks for, or the usual number if it is 0; an Error that names it where it is negative.
std::int64_t chosen(std::int64_t wanted, std::int64_t usual, std::string_view what);
/// Images of at least so many pixels a side, and a multiple of so many.
void expect_image(std::string_view model, std::int64_t size, std::int64_t least, std::int64_t multiple);

/// A model of a layer struct that is shared by its loss and its fields. Where the struct has an `evaluation()`, a copy
/// that shares its parameters and changes nothing, that one predicts.
template <class Net, class Loss>
BuiltInModel model_of(Net net, std::vector<Type> batch, Loss loss) {
  auto shared = std::make_shared<Net>(std::move(net));
  auto fixed = shared;
  if constexpr (requires { shared->evaluation(); }) fixed = std::make_shared<Net>(shared->evaluation());
  return {.parameters = nn::parameters(*shared),
          .batch = std::move(batch),
          .loss = [shared, loss](const Values& v) -> Values { return {loss(*shared, v[0], v[1])}; },
          .predict = [fixed](const Values& v) -> Values { return {(*fixed)(v[0])}; },
          .validation_loss = [fixed, loss](const Values& v) -> Values { return {loss(*fixed, v[0], v[1])}; }};
}

/// Fills a tensor with floats from the standard normal distribution if `below` is 0, else with integers below that.
void draw(const Tensor& place, std::int64_t below, std::uint64_t seed);
/// x normal (or below `x_below`), y the same; both from one seed.
std::function<void(std::uint64_t, std::size_t, const Tensor&)> random_batches(std::int64_t x_below,
                                                                              std::int64_t y_below);

/// Weights from the normal distribution of variance 2 / (inputs of an element), as rectifiers want it (He et al. 2015).
void start_for_relu(nn::Parameter& weight, nn::Seed seed);

}  // namespace reprise::models
