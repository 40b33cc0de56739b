// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "execute/executor.h"
#include "reprise/ops.h"
#include "trainer/setup.h"

namespace reprise {
namespace {

// The loss and, where there are classes, the share of right answers.
Values measures(const BuiltInModel& model, const Values& batch) {
  Value loss = model.validation_loss(batch)[0];
  if (is_float(model.batch.back().dtype) || !model.predict) return {loss};
  Value logits = model.predict(Values(batch.begin(), batch.end() - 1))[0];
  Value rows = reshape(logits, {-1, logits.shape().back()}), labels = reshape(batch.back(), {-1});
  Value right = equal(argmax(rows, 1), cast(labels, DType::i64));
  return {loss, mean(cast(right, DType::f32))};
}

std::vector<Type> batch_types(const BuiltInModel& model, std::int64_t size) {
  std::vector<Type> types = model.batch;
  for (Type& type : types) type.shape[0] = size;
  return types;
}

Graph recorded(const BuiltInModel& model, std::int64_t batch) {
  Graph graph = trace([&](const Values& v) { return measures(model, v); }, batch_types(model, batch));
  graph.updates.clear();
  return graph;
}

void copy_parameters(const Executor& executor) {
  for (const Capture& c : executor.program().graph.captures) {
    Tensor place = executor.pinned(c.input);
    auto& state = *static_cast<nn::Parameter::State*>(c.state.get());
    if (!state.present)
      state.begin(place);
    else if (place.bytes() > 0)
      std::memcpy(place.data(), state.value.data(), static_cast<std::size_t>(place.bytes()));
  }
}

}  // namespace

Evaluator::Evaluator(const BuiltInModel& model, const data::Dataset& data, std::int64_t samples,
                     const CompileOptions& options)
    : data_(data), samples_(std::min(samples, data.size)), tensors_(model.batch.size()) {
  if (samples_ < 1) fail("[train] no sample is left to validate: take a larger share, or --validation 0");
  batch_ = std::min(samples_, model.batch[0].shape[0]);
  built_ = plan(model, options);
}

Graph Evaluator::graph(const BuiltInModel& model) { return ready_to_plan(recorded(model, model.batch[0].shape[0])); }

Built Evaluator::plan(const BuiltInModel& model, const CompileOptions& options) {
  for (;; batch_ = (batch_ + 1) / 2) {
    try {
      return build(ready_to_plan(recorded(model, batch_)), options);
    } catch (const NoScheduleFits&) {
      if (batch_ == 1) throw;
    }
  }
}

Evaluation Evaluator::run() const {
  Executor executor(built_.program, {});
  copy_parameters(executor);
  std::vector<Tensor> inputs;  // x, in as many tensors as the model takes, and y
  for (std::size_t i = 0; i < tensors_; ++i) inputs.push_back(executor.pinned(executor.program().graph.inputs[i]));
  Tensor y = inputs.back();
  inputs.pop_back();
  std::vector<char> x(static_cast<std::size_t>(data_.x.bytes()));
  std::int64_t y_bytes = y.bytes() / batch_, batches = samples_ / batch_;
  double loss = 0, right = 0;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < batch_; ++i) {
      data_.read((b * batch_ + i) * data_.size / samples_, x.data(), static_cast<char*>(y.data()) + i * y_bytes);
      place_parts(x.data(), inputs, i);
    }
    executor.run();
    loss += executor.output(0).item();
    if (executor.program().outputs.size() > 1) right += executor.output(1).item();
  }
  auto n = static_cast<double>(batches);
  return {0, loss / n, executor.program().outputs.size() > 1 ? right / n : std::nan("")};
}

}  // namespace reprise
