// SPDX-License-Identifier: Apache-2.0
#include "reprise/train.h"

#include "base/error.h"
#include "ops/guard.h"
#include "train/parts.h"
#include "train/record_step.h"
#include "train/session.h"

namespace reprise {
namespace {

CompileOptions compile_options(const StepOptions& o) {
  return {o.budget, o.planning, o.measure, o.profile, o.poison, o.verify_recompute, o.timeline, o.disk};
}

StepOptions checked(StepOptions options) {
  if (options.accumulate < 0)
    fail("[train_step] .accumulate is {}: it must be at least 1, or 0 for the fastest", options.accumulate);
  if (!(options.clip_norm >= 0) || !(options.clip_value >= 0))
    fail("[train_step] clipping to {} and {}: both must be positive, or 0 for none", options.clip_norm,
         options.clip_value);
  return options;
}

std::string name_of(const Graph& graph, std::int32_t node) {
  const Node& n = graph.node(node);
  return n.name.empty() ? fmt::format("{}.{}", n.op->name, node) : n.name;
}

// " (matmul of 'fc.weight', 'gelu.12')", or nothing for an input.
std::string reads_of(const Graph& graph, std::int32_t node) {
  const Node& n = graph.node(node);
  if (n.inputs.empty()) return {};
  std::string names;
  for (Ref r : n.inputs) names += (names.empty() ? "'" : ", '") + name_of(graph, r.node) + "'";
  return fmt::format(" ({} of {})", n.op->name, names);
}

}  // namespace

struct TrainStep::Impl {
  StepOptions options;
  StepParts step;
  Session session;
  std::map<std::string, int> parts = {};  // by batch types, where they were to be chosen
  std::string key = {};                   // of what is in use
  std::vector<Type> types = {};           // of its batch
  std::vector<char> trainable = {};       // which parameters it trains

  // Which parameters are trained is part of what is compiled.
  std::string key_for(std::span<const Type> batch) const {
    std::string text = key_of(batch);
    for (const Trained& t : step.trained) text += t.parameter.trainable() ? '+' : '-';
    return text;
  }

  // Whether what is in use does for this batch; allocates nothing.
  bool fits(std::span<const Tensor> batch) const {
    if (types.size() != batch.size() || trainable.size() != step.trained.size()) return false;
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (types[i] != batch[i].type()) return false;
    for (std::size_t i = 0; i < trainable.size(); ++i)
      if ((trainable[i] != 0) != step.trained[i].parameter.trainable()) return false;
    return true;
  }

  void choose(std::span<const Type> batch) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      if (batch[i].elements() == 0)
        fail("[train_step] tensor {} of the batch, {}, has no elements: leave empty batches out", i,
             to_string(batch[i]));
    key = key_for(batch);
    types.clear();
    trainable.clear();
    session.choose(key, [&] { return options.accumulate > 0 ? built(batch, options.accumulate) : fastest(batch); });
    types.assign(batch.begin(), batch.end());
    for (const Trained& t : step.trained) trainable.push_back(t.parameter.trainable());
  }

  Built built(std::span<const Type> batch, int count, bool names_smallest = true) {
    parts[key] = count;
    CompileOptions how = session.options();
    how.planning.names_smallest = names_smallest;
    return build(ready_to_plan(record_step(step, options, count, batch)), how);
  }

  Built fastest(std::span<const Type> batch) {
    BuiltInParts best =
        build_fastest(batch, [&](int count, bool names_smallest) { return built(batch, count, names_smallest); });
    parts[key] = best.parts;
    return std::move(best.built);
  }

  double run(std::span<const Tensor> batch) {
    if (!fits(batch)) choose(types_of(batch));
    Executor& executor = session.executor();
    std::int64_t done = static_cast<std::int64_t>(step.steps.value().item());
    step.rate.value().span<double>()[0] = step.rule.rate_at(done);
    write_inputs(executor, batch);
    try {
      executor.run();
    } catch (const GuardFailed&) {
      explain(executor);
    }
    return executor.output(0).item();
  }

  [[noreturn]] void explain(Executor& executor) const {
    std::optional<NotFiniteValue> found = executor.find_not_finite();
    if (!found) fail("[internal] a step was stopped, but rerun it has no value that is not finite");
    const Graph& graph = executor.program().graph;
    std::string first = name_of(graph, found->node);
    throw NotFinite(
        fmt::format("[train_step] step {} was stopped: {} of the {} elements of '{}'{} are NaN or infinite, "
                    "the first to be so; nothing was updated. Lower the learning rate, warm it up, clip "
                    "gradients, or check the data",
                    static_cast<std::int64_t>(step.steps.value().item()), found->count, found->type.elements(), first,
                    reads_of(graph, found->node)),
        first);
  }
};

TrainStep::TrainStep(Function loss, nn::Fields parameters, optim::Rule rule, StepOptions options)
    : impl_(new Impl{checked(options), {std::move(loss), std::move(rule), {}}, Session(compile_options(options))}) {
  impl_->step.rule.check();
  for (const nn::Named& p : parameters)
    impl_->step.trained.push_back({p.name, p.parameter, impl_->step.rule.start(p.parameter)});
}
TrainStep::~TrainStep() = default;
TrainStep::TrainStep(TrainStep&&) noexcept = default;
TrainStep& TrainStep::operator=(TrainStep&&) noexcept = default;

TrainStep::Impl& TrainStep::impl() const {
  if (!impl_) fail("[train_step] this step was moved away: use the one it was moved to");
  return *impl_;
}

double TrainStep::run(std::span<const Tensor> batch) { return impl().run(batch); }
void TrainStep::compile(std::span<const Type> batch) { impl().choose(batch); }

Graph TrainStep::graph(std::span<const Type> batch) const {
  return record_step(impl().step, impl().options, std::max(1, impl().options.accumulate), batch);
}

const PlanResult& TrainStep::plan() const { return impl().session.plan("train_step"); }
std::int64_t TrainStep::arena_bytes() const { return impl().session.arena_bytes("train_step"); }
const std::vector<Moment>& TrainStep::timeline() const { return impl().session.timeline("train_step"); }
std::int64_t TrainStep::pinned_bytes() const { return impl().session.pinned_bytes("train_step"); }
void TrainStep::give_back() {
  plan();
  impl().session.executor().give_back();
}
int TrainStep::parts() const {
  plan();
  return impl().parts.at(impl().key);
}

Tensor TrainStep::batch(std::size_t i) const {
  plan();
  if (i >= impl().types.size())
    fail("[train_step] batch({}): a batch has {} tensors, counted from 0", i, impl().types.size());
  Executor& executor = impl().session.executor();
  return executor.pinned(executor.program().graph.inputs[i]);
}

std::int64_t TrainStep::steps() const { return static_cast<std::int64_t>(impl().step.steps.value().item()); }

nn::Fields TrainStep::state() const {
  nn::Fields all;
  for (const Trained& t : impl().step.trained) {
    all.push_back({t.name, t.parameter});
    for (std::size_t k = 0; k < t.states.size(); ++k)
      all.push_back({"optimizer." + t.name + "." + std::to_string(k), t.states[k]});
  }
  all.push_back({"optimizer.steps", impl().step.steps});
  return all;
}

}  // namespace reprise
