// SPDX-License-Identifier: Apache-2.0
#include "trainer/exact.h"

#include <map>
#include <utility>

#include "graph/exact.h"
#include "reprise/train.h"

namespace reprise {
namespace {

Tensor value_of(const Capture& capture) {
  const auto& state = *static_cast<const nn::Parameter::State*>(capture.state.get());
  if (state.present) return state.value;
  Tensor value = Tensor::empty(state.type);
  state.begin(value);
  return value;
}

std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}

// A graph in f64 that can run again from what it left.
class ExactRun {
 public:
  ExactRun(const Graph& recorded, std::span<const Tensor> batch)
      : graph_(eliminate_dead_code(in_double_precision(recorded))), results_(graph_.outputs.size()) {
    updates_ = std::exchange(graph_.updates, {});
    for (const Update& u : updates_) graph_.outputs.push_back(u.value);
    for (std::size_t i = 0; i < batch.size(); ++i) set(graph_.inputs[i], batch[i]);
    for (const Capture& c : graph_.captures) set(c.input, value_of(c));
  }

  void set(std::int32_t input, const Tensor& value) { given_[input] = value.to(graph_.type({input, 0}).dtype); }

  void set(const std::string& name, const Tensor& value) {
    for (std::int32_t input : graph_.inputs)
      if (graph_.node(input).name == name) set(input, value);
  }

  std::vector<Tensor> run() {
    std::vector<Tensor> inputs;
    for (std::int32_t input : graph_.inputs) inputs.push_back(given_.at(input));
    std::vector<Tensor> outputs = evaluate(graph_, inputs);
    for (std::size_t i = 0; i < updates_.size(); ++i) given_[updates_[i].input] = outputs[results_ + i];
    outputs.resize(results_);
    return outputs;
  }

 private:
  Graph graph_;
  std::size_t results_;  // outputs before what the step updates
  std::vector<Update> updates_;
  std::map<std::int32_t, Tensor> given_;
};

}  // namespace

std::vector<Tensor> run_exactly(const Function& f, std::span<const Tensor> batch) {
  return ExactRun(trace(f, types_of(batch)), batch).run();
}

std::vector<double> exact_losses(const BuiltInModel& model, std::span<const Tensor> batch, int steps) {
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  ExactRun exact(step.graph(model.batch), batch);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    exact.set("optimizer.rate", Tensor::scalar(model.rule.rate_at(i), DType::f64));
    losses.push_back(exact.run()[0].item());
  }
  return losses;
}

}  // namespace reprise
