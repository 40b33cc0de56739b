// SPDX-License-Identifier: Apache-2.0
#include "trainer/evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "execute/executor.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// The loss and, where there are classes, the share of right answers.
Values measures(const BuiltInModel& model, const Values& batch) {
  Value loss = model.validation_loss(batch)[0];
  if (is_float(model.batch[1].dtype)) return {loss};
  Value logits = model.predict({batch[0]})[0];
  Value rows = reshape(logits, {-1, logits.shape().back()}), labels = reshape(batch[1], {-1});
  Value right = equal(argmax(rows, 1), cast(labels, DType::i64));
  return {loss, mean(cast(right, DType::f32))};
}

std::vector<Type> batch_types(const BuiltInModel& model, std::int64_t size) {
  std::vector<Type> types = model.batch;
  for (Type& type : types) type.shape[0] = size;
  return types;
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
    : data_(data), samples_(std::min(samples, data.size)) {
  if (samples_ < 1) fail("[train] no sample is left to validate: take a larger share, or --validation 0");
  batch_ = std::min(samples_, model.batch[0].shape[0]);
  built_ = plan(model, options);
}

Built Evaluator::plan(const BuiltInModel& model, const CompileOptions& options) {
  for (;; batch_ = (batch_ + 1) / 2) {
    Graph graph = trace([&](const Values& v) { return measures(model, v); }, batch_types(model, batch_));
    graph.updates.clear();
    try {
      return build(prepare(graph, options), options);
    } catch (const NoScheduleFits&) {
      if (batch_ == 1) throw;
    }
  }
}

Evaluation Evaluator::run() const {
  Executor executor(built_.program, {});
  copy_parameters(executor);
  Tensor x = executor.pinned(executor.program().graph.inputs[0]);
  Tensor y = executor.pinned(executor.program().graph.inputs[1]);
  std::int64_t x_bytes = x.bytes() / batch_, y_bytes = y.bytes() / batch_, batches = samples_ / batch_;
  double loss = 0, right = 0;
  for (std::int64_t b = 0; b < batches; ++b) {
    for (std::int64_t i = 0; i < batch_; ++i)
      data_.read((b * batch_ + i) * data_.size / samples_, static_cast<char*>(x.data()) + i * x_bytes,
                 static_cast<char*>(y.data()) + i * y_bytes);
    executor.run();
    loss += executor.output(0).item();
    if (executor.program().outputs.size() > 1) right += executor.output(1).item();
  }
  auto n = static_cast<double>(batches);
  return {0, loss / n, executor.program().outputs.size() > 1 ? right / n : std::nan("")};
}

}  // namespace reprise
