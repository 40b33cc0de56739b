// SPDX-License-Identifier: Apache-2.0
// ONNX files as models: a file becomes a training step like a built-in model's, and what was learned goes back into it.
//
//     BuiltInModel model = onnx_model("resnet18.onnx", {.batch = 8, .classes = 5});
//     choose_trained(model, {.train = {"fc.*"}});
//     TrainStep step(model.loss, model.parameters, model.rule, {.budget = 600_MiB});
//     ...
//     save_onnx(model, "tuned.onnx");
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/models.h"

namespace reprise {

/// What the nodes of a file may take besides its own size where a command is told no budget in bytes: room for 18,000
/// of the smallest.
inline constexpr std::int64_t onnx_usual_budget = std::int64_t{128} << 20;

/// How a file becomes a model.
struct OnnxOptions {
  std::int64_t batch = 0;  // samples; 0: what the file says, or 8 where it leaves that open
  std::map<std::string, std::vector<std::int64_t>> shapes = {};  // of inputs, as a whole: the batch is their first
  /// Of the output: cross_entropy, mse, bce (from logits; a Softmax or Sigmoid that the output ends with is left out),
  /// sum, or own: it is the loss. Empty: own where it is one number, else cross_entropy.
  std::string loss = {};
  std::string output = {};          // its name; empty: the first
  std::optional<Type> target = {};  // what the loss compares the output with; nothing: what suits the loss
  std::int64_t classes = 0;         // the last layer is made anew, with so many outputs; 0: it stays
  nn::Seed seed = 1;                // of that layer and of dropout
  /// Bytes that training may take, where they are known: a file whose nodes alone would take more than these and its
  /// own size is refused before they do. 0: only what no model has is refused, which may take hundreds of megabytes.
  std::int64_t budget = 0;
};

/// The model of the file, or an Error that names all of it that is not supported. Its weights stay in the file until a
/// step needs them. Its inputs go in first, then the target, unless the loss needs none.
REPRISE_API BuiltInModel onnx_model(const std::string& path, const OnnxOptions& options = {});

/// Writes the model's file again with the numbers that its parameters have now. Appears whole or not at all.
REPRISE_API void save_onnx(const BuiltInModel& model, const std::string& path);

/// An input or output that a file declares; -1 stands for a size that it leaves open.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::f32;  // as the model takes it: floats as f32, integers as i64
  std::vector<std::int64_t> sizes = {};
  bool has_rank = true;
};
/// What stands in a file.
struct OnnxSummary {
  std::string producer;
  std::int64_t opset = 0;
  std::vector<OnnxTensor> inputs, outputs;
  std::map<std::string, int> operators;  // how often each is used
};
/// `budget`: as in OnnxOptions.
REPRISE_API OnnxSummary onnx_summary(const std::string& path, std::int64_t budget = 0);

/// Shapes of inputs as people write them: "x:8x3x224x224" becomes {8, 3, 224, 224} of x.
REPRISE_API std::map<std::string, std::vector<std::int64_t>> onnx_shapes(const std::vector<std::string>& texts);

/// Whether a word is the path of an ONNX file: it ends with ".onnx", in letters of any case.
REPRISE_API bool is_onnx_path(std::string_view word);
/// Changes as soon as the file does, or a file of external data that it uses.
REPRISE_API std::string onnx_fingerprint(const std::string& path);

}  // namespace reprise
