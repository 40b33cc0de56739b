// SPDX-License-Identifier: Apache-2.0
// Built-in models: known networks with their losses and optimizers, to train, plan and compare with.
//
//     auto model = built_in_model("gpt4s");
//     TrainStep step(model.loss, model.parameters, model.rule, {.budget = 64_MiB});
//     std::vector<Tensor> batch = model.random_batch(1);
//     double loss = step.run(batch);
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/autodiff.h"
#include "reprise/nn.h"
#include "reprise/optim.h"

namespace reprise {

struct ModelOptions {
  std::int64_t batch = 0;    // samples; 0: the model's own number
  bool small = false;        // the same structure with few and narrow layers, for tests
  nn::Seed seed = 1;         // of the initial weights
  std::int64_t classes = 0;  // outputs of digits, resnet and vgg, characters of gpt; 0: the model's own number
  std::int64_t image = 0;    // height and width of the images of digits, resnet, vgg and unet; 0: the model's own
};

/// A network with its loss and optimizer: one that is built in, or that of an ONNX file (reprise/onnx.h).
struct BuiltInModel {
  std::string name;          // of a file: its path
  nn::Fields parameters;     // named as PyTorch names those of the same network; of a file: by its initializers
  std::vector<Type> batch;   // of x and y; of a file: of its inputs, then of the target if the loss has one
  Function loss;             // of x and y
  Function predict;          // of x: logits, or what is compared with y; running statistics are used, not changed
  Function validation_loss;  // the loss of what `predict` gives
  optim::Rule rule;
  /// Fills `place` with tensor i of a batch of random numbers.
  std::function<void(std::uint64_t seed, std::size_t i, const Tensor& place)> draw;
  std::string data;  // which of the data that ship with the project suit it: "text", "digits" or none
  std::vector<std::string> inputs = {};                    // of a file: the names of the batch's tensors
  std::vector<std::string> notes = {};                     // what its user should know
  std::function<void(const std::string& path)> save = {};  // of a file: writes it again, with the parameters' numbers

  REPRISE_API std::int64_t parameter_count() const;  // trained numbers
  /// x and y from random numbers.
  REPRISE_API std::vector<Tensor> random_batch(std::uint64_t seed) const;
};

/// What there is, in a line.
struct ModelInfo {
  std::string_view name, description;
};
REPRISE_API std::vector<ModelInfo> built_in_models();

/// The model of that name; an Error that lists the names for any other.
REPRISE_API BuiltInModel built_in_model(std::string_view name, const ModelOptions& options = {});

/// Which parameters are trained. A pattern is the beginning of a name or, where it has a * or ?, stands for the whole.
struct TrainedChoice {
  std::vector<std::string> train = {};   // only these; none: all
  std::vector<std::string> freeze = {};  // but not these
};
/// Freezes what the choice leaves out. Throws Error where a pattern matches nothing or nothing is left to train.
REPRISE_API void choose_trained(const BuiltInModel& model, const TrainedChoice& choice);

/// Takes over weights, and x and y where there are, from a folder with a manifest.json that lists raw little-endian
/// files (kind, which is param, buffer or data; name, shape, dtype, file). Gives x and y, or nothing. Throws Error
/// where the model needs something that is not there or is of another type.
REPRISE_API std::vector<Tensor> load_weights(const BuiltInModel& model, const std::string& folder);

}  // namespace reprise
