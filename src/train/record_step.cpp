// SPDX-License-Identifier: Apache-2.0
#include "train/record_step.h"

#include <algorithm>

#include "base/error.h"
#include "ops/guard.h"
#include "train/name_step.h"
#include "train/parts.h"

namespace reprise {
namespace {

class StepRecorder {
 public:
  StepRecorder(const StepParts& step, const StepOptions& options, int parts)
      : step_(step), options_(options), parts_(parts) {}

  Values record(const Values& batch) {
    Value total, rate;
    Values slopes, counts;
    for (int i = 0; i < parts_; ++i) {
      Value y = loss_of_part("train_step", step_.loss, part_of_batch("train_step", batch, parts_, i), parts_);
      if (options_.check_finite != FiniteCheck::off) counts.push_back(count_not_finite(y));
      // Here, before the gradients, so that updates need not wait for all of them.
      if (options_.check_finite == FiniteCheck::loss && i == parts_ - 1) rate = guarded(counts, step_.rate.in(y));
      name_forward(*y.graph(), step_);
      std::int32_t forward_end = y.graph()->size();
      add_to(slopes, gradients(y, parameters(y, i)));
      if (is_state(y)) y = y * 1.0;  // what is updated must not be read as the loss afterwards
      total = i == 0 ? y : total + y;
      name_backward(*y.graph(), forward_end);
    }
    std::int32_t last_part = total.graph()->size();
    if (options_.check_finite == FiniteCheck::gradients) {
      for (const Value& slope : slopes) counts.push_back(count_not_finite(slope));
      rate = guarded(counts, step_.rate.in(total));
    }
    update(total, clipped(slopes), rate ? rate : step_.rate.in(total));
    name_backward(*total.graph(), last_part);
    name_states(*total.graph(), step_);
    return {total};
  }

 private:
  static bool is_state(const Value& v) {
    const Graph& graph = *v.graph();
    Ref r = v.ref();
    while (graph.node(r.node).op->view_of >= 0)
      r = graph.node(r.node).inputs[static_cast<std::size_t>(graph.node(r.node).op->view_of)];
    return std::ranges::any_of(graph.captures, [&](const Capture& c) { return c.input == r.node; });
  }

  // Those that the loss depends on are in its graph by now; the others are not trained.
  Values parameters(const Value& y, int i) {
    if (i == 0)
      for (const Trained& t : step_.trained)
        if (t.parameter.trainable() &&
            std::ranges::any_of(y.graph()->captures, [&](const Capture& c) { return c.state == t.parameter.state(); }))
          used_.push_back(&t);
    if (used_.empty())
      fail("[train_step] the loss depends on no parameter that may be trained: check the model's fields()");
    Values wrt;
    for (const Trained* t : used_) wrt.push_back(t->parameter.in(y));
    return wrt;
  }

  Values clipped(Values slopes) const {
    if (options_.clip_value > 0) slopes = optim::clip_by_value(slopes, options_.clip_value);
    if (options_.clip_norm > 0) slopes = optim::clip_by_norm(slopes, options_.clip_norm);
    return slopes;
  }

  // The rate, which all updates of parameters read, and what layers update themselves wait until all counts are zero.
  static Value guarded(const Values& counts, const Value& rate) {
    Value passed = guard(Value(Tensor::scalar(0, DType::i64)), counts);
    const std::shared_ptr<Graph>& graph = rate.graph();
    for (std::size_t i = 0; i < graph->updates.size(); ++i)
      graph->updates[i].value = guard({graph, graph->updates[i].value}, {passed}).ref();
    return guard(rate, {passed});
  }

  void update(const Value& y, const Values& slopes, const Value& rate) const {
    Value steps = step_.steps.in(y);
    for (std::size_t i = 0; i < used_.size(); ++i) {
      Values states;
      for (const nn::Parameter& s : used_[i]->states) states.push_back(s.in(y));
      Values next = step_.rule.apply(used_[i]->parameter.in(y), states, slopes[i], rate, steps);
      used_[i]->parameter.update(next[0]);
      for (std::size_t k = 0; k < states.size(); ++k) used_[i]->states[k].update(next[k + 1]);
    }
    step_.steps.update(steps + Value(Tensor::scalar(1, DType::i64)));
  }

  const StepParts& step_;
  const StepOptions& options_;
  int parts_;
  std::vector<const Trained*> used_;
};

}  // namespace

Graph record_step(const StepParts& step, const StepOptions& options, int parts, std::span<const Type> batch) {
  StepRecorder recorder(step, options, parts);
  return trace([&](const Values& v) { return recorder.record(v); }, batch);
}

}  // namespace reprise
