// SPDX-License-Identifier: Apache-2.0
#include "reprise/trainer.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "trainer/evaluator.h"
#include "trainer/metrics.h"
#include "trainer/run_state.h"
#include "trainer/setup.h"
#include "trainer/snapshots.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

StepOptions step_options(const TrainerOptions& o, FiniteCheck check) {
  StepOptions options{.accumulate = o.recipe.accumulate,
                      .clip_norm = o.recipe.clip_norm,
                      .clip_value = o.recipe.clip_value,
                      .check_finite = check,
                      .measure = o.measure,
                      .profile = o.profile,
                      .timeline = true,
                      .disk = o.disk};
  options.planning = planning_of(o, o.time_limit);
  return options;
}

void use_threads(Recipe& recipe) {
  if (recipe.threads > 0) omp_set_num_threads(recipe.threads);
  recipe.threads = omp_get_max_threads();
}

// Every choice that was left open, now that the number of batches is known. Between two evaluations at least as many
// batches are trained as one evaluates.
void settle(Recipe& r, std::int64_t batches_per_epoch, std::int64_t validation_samples) {
  const double wanted = r.epochs * static_cast<double>(batches_per_epoch);
  if (r.steps == 0 && wanted > 1e15) fail("[train] {} epochs are more steps than can be counted: give fewer", r.epochs);
  if (r.steps == 0 && r.epochs > 0) r.steps = std::max<std::int64_t>(1, std::llround(wanted));
  if (r.steps == 0) r.steps = 1000;
  if (r.schedule_steps == 0) r.schedule_steps = r.steps;
  if (r.validate_samples == 0) r.validate_samples = 1024;
  std::int64_t evaluated = std::min(r.validate_samples, validation_samples) / r.batch;
  if (r.evaluate_every == 0) r.evaluate_every = std::max<std::int64_t>({1, evaluated, r.steps / 10});
}

data::Split split_for(const Recipe& recipe, const data::Dataset& data, std::int64_t batch) {
  if (!(recipe.validation >= 0 && recipe.validation < 1))
    fail("[train] {} of the samples cannot validate: give a share from 0 to below 1", recipe.validation);
  if (recipe.validation == 0) return {data, {}};
  data::Split split = data::split(data, recipe.validation, recipe.seed);
  if (split.train.size < batch && split.train.size > 0)
    fail(
        "[train] {} has {} samples, {} of which validate: the other {} do not fill a batch of {}; use --batch {} or "
        "less, or --validation 0",
        data.name, data.size, split.validation.size, split.train.size, batch, split.train.size);
  return split;
}

}  // namespace

struct Trainer::Impl {
  TrainerOptions options;
  Samples data;
  BuiltInModel model;
  data::Split split;
  data::Batches batches;
  std::optional<TrainStep> step = {};
  std::optional<Evaluator> evaluator = {};
  Tensor records = {};  // a batch's x, where it is several tensors
  TrainingMemory memory = {};
  FiniteCheck check = FiniteCheck::gradients;
  RunState state = {};
  std::vector<MetricsFile> metrics = {};
  Clock::time_point began = {};
  bool ran = false;
  std::int64_t saved_at = -1;  // the step of the last snapshot

  explicit Impl(TrainerOptions o)
      : options(std::move(o)),
        data(load_data(options.recipe, known_bytes(options))),
        model(model_for(options.recipe, data, known_bytes(options))),
        split(split_for(options.recipe, data, model.batch[0].shape[0])),
        batches(split.train, model.batch[0].shape[0], options.recipe.seed) {
    Recipe& recipe = options.recipe;
    check_fingerprint(recipe);
    recipe.parts_chosen = recipe.parts_chosen || recipe.accumulate == 0;
    recipe.batch = model.batch[0].shape[0];
    recipe.lr = model.rule.rate;
    settle(recipe, batches.per_epoch(), split.validation.size);
    model.rule.schedule = schedule_named(recipe.schedule, recipe.schedule_steps, recipe.warm_up);
    if (!data.parts.empty()) records = Tensor::empty({data.x.dtype, {recipe.batch, data.x.shape[0]}});
    memory.data = data.bytes + batches.buffer_bytes() + records.bytes();
    check = options.check_finite.value_or(FiniteCheck::gradients);
    memory.data +=
        constant_bytes(model, TrainStep(model.loss, model.parameters, model.rule, step_options(options, check)),
                       evaluates() ? Evaluator::graph(model) : Graph());
    memory.budget = budget();
    try {
      plan();
    } catch (const RunDoesNotFit& e) {
      if (options.check_finite) throw;
      plan_unguarded(e);
    }
    recipe.accumulate = step->parts();
    memory.all_trained = unlimited_if_all_trained();
    if (!options.save.empty()) options.metrics.push_back(options.save + "/metrics.jsonl");
  }

  const Recipe& recipe() const { return options.recipe; }
  // In how many parts a batch is worked through without a limit: where that is chosen, as a whole, so that percentages
  // do not depend on the choice.
  int parts_without_limit() const { return recipe().parts_chosen ? 1 : recipe().accumulate; }
  bool evaluates() const { return split.validation.size > 0 || recipe().validation > 0; }

  std::int64_t budget() {
    if (options.budget == "auto") return available_memory() / 10 * 9;
    if (options.budget.find('%') != std::string::npos) {
      TrainStep free = step_in(parts_without_limit(), model);
      free.compile(model.batch);
      memory.unlimited = free.arena_bytes() + memory.data;
    }
    return parse_bytes(options.budget, memory.unlimited);
  }

  void plan() {
    StepOptions o = step_options(options, check);
    o.budget = std::max<std::int64_t>(1, memory.budget - memory.data);
    o.planning.start = known_schedule(o);
    step.emplace(model.loss, model.parameters, model.rule, o);
    try {
      step->compile(model.batch);
    } catch (const NoScheduleFits& e) {
      refuse(e.smallest_budget + memory.data, fmt::format("{} of it for samples and the next batch; the step alone: {}",
                                                          format_bytes(memory.data), e.what()));
    }
    memory.step = step->arena_bytes();
    memory.paged = paged_bytes(step->plan());
    if (memory.unlimited == 0) memory.unlimited = memory.data + kept_bytes();
    if (evaluates()) plan_evaluation();
  }

  // Without the check of gradients. Searches for two graphs may end either way: the smaller budget is the one to name.
  void plan_unguarded(const RunDoesNotFit& guarded) {
    memory.guarded = guarded.smallest_budget;
    check = FiniteCheck::loss;
    try {
      plan();
    } catch (const RunDoesNotFit& e) {
      if (guarded.smallest_budget < e.smallest_budget) throw guarded;
      throw;
    }
  }

  std::int64_t unlimited_if_all_trained() const {
    Recipe all = recipe();
    if (all.freeze.empty() && all.train.empty()) return 0;
    all.freeze.clear();
    all.train.clear();
    return memory.data + kept_bytes(model_for(all, data, known_bytes(options)));
  }

  TrainStep step_in(int parts, const BuiltInModel& of) const {
    StepOptions o = step_options(options, check);
    o.accumulate = parts;
    return TrainStep(of.loss, of.parameters, of.rule, o);
  }

  // What a step takes that recomputes nothing.
  std::int64_t kept_bytes() const {
    return step->parts() == parts_without_limit() ? step->plan().keep_all_peak : kept_bytes(model);
  }
  std::int64_t kept_bytes(const BuiltInModel& of) const {
    Problem problem = problem_of(step_in(parts_without_limit(), of).graph(of.batch), {.measure = false});
    return peak(problem, keep_all(problem));
  }

  // That of an earlier run, if it is one of this step too: the check of gradients may have come or gone.
  std::optional<Schedule> known_schedule(const StepOptions& o) const {
    if (!options.start) return std::nullopt;
    TrainStep same(model.loss, model.parameters, model.rule, o);
    Problem problem = problem_of(same.graph(model.batch), {.measure = false, .disk = options.disk});
    return validate(problem, *options.start) ? options.start : std::nullopt;
  }

  // A plan for this budget has not looked for the smallest one. In the parts that were chosen, if they were.
  std::int64_t smallest_step() const {
    CompileOptions o{.budget = 1, .measure = false, .disk = options.disk};
    o.planning = planning_of(options, 2);
    return std::min(step->plan().min_budget,
                    reprise::plan(step_in(step->parts(), model).graph(model.batch), o).min_budget);
  }

  [[noreturn]] void refuse(std::int64_t smallest, const std::string& why) const {
    throw RunDoesNotFit(fmt::format("[train] nothing fits {}: the smallest budget is {} ({} bytes), {}",
                                    format_bytes(memory.budget), format_bytes(smallest), smallest, why),
                        smallest, memory.budget);
  }

  // Between steps only state needs memory: the rest of the budget is free for evaluating.
  void plan_evaluation() {
    CompileOptions o{.budget = memory.budget - memory.data - step->pinned_bytes(),
                     .measure = options.measure,
                     .profile = options.profile};
    o.planning = planning_of(options, options.time_limit);
    try {
      evaluator.emplace(model, split.validation, recipe().validate_samples, o);
    } catch (const NoScheduleFits& e) {
      refuse(e.smallest_budget + memory.data + step->pinned_bytes(),
             fmt::format("for evaluating beside parameters and optimizer state, which --validation 0 does without: {}",
                         e.what()));
    }
    memory.evaluation = evaluator->arena_bytes();
  }

  std::optional<Evaluation> evaluate() {
    if (!evaluator) return std::nullopt;
    step->give_back();
    Evaluation found = evaluator->run();
    found.step = done();
    return found;
  }

  std::int64_t done() const { return static_cast<std::int64_t>(state.losses.size()); }

  TrainingStatus status(double step_seconds) const {
    auto n = static_cast<double>(done());
    TrainingStatus s{.step = done(),
                     .steps = recipe().steps,
                     .epoch = n / static_cast<double>(batches.per_epoch()),
                     .loss = state.losses.empty() ? 0 : state.losses.back(),
                     .smooth_loss = state.smooth_loss(),
                     .lr = model.rule.rate_at(std::max<std::int64_t>(0, done() - 1)),
                     .seconds = state.seconds + seconds_since(began),
                     .step_seconds = step_seconds};
    if (!state.evaluations.empty()) s.evaluation = state.evaluations.back();
    return s;
  }

  void read_batch(std::span<const Tensor> batch) {
    Tensor xy[] = {data.parts.empty() ? batch[0] : records, batch.back()};
    batches.next(xy);
    std::int64_t record = data.x.bytes();
    for (std::int64_t i = 0; !data.parts.empty() && i < recipe().batch; ++i)
      place_parts(static_cast<const char*>(records.data()) + i * record, batch.first(batch.size() - 1), i);
  }

  void one_step(const TrainingWatch& watch) {
    Clock::time_point start = Clock::now();
    std::vector<Tensor> batch;
    for (std::size_t i = 0; i < model.batch.size(); ++i) batch.push_back(step->batch(i));
    read_batch(batch);
    state.add(step->run(batch));
    ran = true;
    TrainingStatus now = status(seconds_since(start));
    for (MetricsFile& file : metrics) file.add_step(now);
    if (watch.on_step) watch.on_step(now);
  }

  // Whether this is the best so far.
  bool note_evaluation(const TrainingWatch& watch) {
    std::optional<Evaluation> found = evaluate();
    if (!found) return false;
    bool is_best = state.note(*found);
    TrainingStatus now = status(0);
    for (MetricsFile& file : metrics) file.add_evaluation(now, *found);
    if (watch.on_evaluation) watch.on_evaluation(now);
    return is_best;
  }

  void save(const TrainingWatch& watch) {
    if (options.save.empty() || saved_at == done()) return;
    std::string path = snapshot_path(options.save, done());
    RunState now = state;
    now.seconds += seconds_since(began);
    save_run(path, recipe(), data.size, now, *step);
    saved_at = done();
    prune_snapshots(options.save, options.keep, state.best ? state.best->step : -1);
    if (watch.on_save) watch.on_save(path);
  }

  void begin(const TrainingWatch& watch) {
    began = Clock::now();
    batches.seek(done());
    if (!options.save.empty()) {
      if (!options.held) options.held = hold_folder(options.save);
      prepare_folder(options.save);
    }
    metrics.clear();
    for (const std::string& path : options.metrics) metrics.emplace_back(path, done());
    step->batch(0);  // takes the arena, with all state in it
    save(watch);
  }

  bool is_due(std::int64_t every) const { return every > 0 && done() % every == 0; }

  TrainingEnd run(const TrainingWatch& watch) {
    begin(watch);
    if (done() == 0 && is_onnx_path(recipe().model)) note_evaluation(watch);  // it may have been trained before
    while (done() < recipe().steps) {
      one_step(watch);
      bool is_last = done() == recipe().steps;
      bool is_best = (is_due(recipe().evaluate_every) || is_last) && note_evaluation(watch);
      bool is_hopeless = recipe().patience > 0 && state.bad_evaluations >= recipe().patience;
      bool is_stopped = watch.should_stop && watch.should_stop();
      if (is_best || is_last || is_hopeless || is_stopped || is_due(options.save_every)) save(watch);
      if (is_hopeless && !is_last) return TrainingEnd::stopped_early;
      if (is_stopped && !is_last) return TrainingEnd::interrupted;
    }
    return TrainingEnd::finished;
  }
};

Trainer::Trainer(TrainerOptions options) {
  use_threads(options.recipe);
  impl_ = std::make_unique<Impl>(std::move(options));
}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

const Recipe& Trainer::recipe() const { return impl_->recipe(); }
const BuiltInModel& Trainer::model() const { return impl_->model; }
TrainStep& Trainer::step() { return *impl_->step; }
const PlanResult& Trainer::plan() const { return impl_->step->plan(); }
FiniteCheck Trainer::check_finite() const { return impl_->check; }
TrainingMemory Trainer::memory() const {
  TrainingMemory& memory = impl_->memory;
  if (memory.smallest == 0) memory.smallest = impl_->smallest_step() + memory.data;
  return memory;
}
std::int64_t Trainer::sample_count() const { return impl_->data.size; }
std::int64_t Trainer::steps_per_epoch() const { return impl_->batches.per_epoch(); }
bool Trainer::ran() const { return impl_->ran; }
const std::vector<double>& Trainer::losses() const { return impl_->state.losses; }
const std::vector<Evaluation>& Trainer::evaluations() const { return impl_->state.evaluations; }
std::optional<Evaluation> Trainer::best() const { return impl_->state.best; }
std::optional<Evaluation> Trainer::evaluate() { return impl_->evaluate(); }

TrainingEnd Trainer::run(const TrainingWatch& watch) {
  try {
    TrainingEnd end = impl_->run(watch);
    impl_->state.seconds += seconds_since(impl_->began);
    return end;
  } catch (const NotFinite& e) {
    // With the loss alone checked the weights may have been spoilt by the step before.
    if (impl_->check != FiniteCheck::gradients)
      throw NotFinite(
          fmt::format("{}. Gradients were not checked, so the step before may have spoilt the weights: they "
                      "are not saved, and --resume goes on from the snapshot before",
                      e.what()),
          e.node);
    impl_->save(watch);
    throw;
  }
}

void Trainer::restore(const Resumable& from) {
  impl_->step->batch(0);
  impl_->state = load_run(from, impl_->data.size, *impl_->step);
  if (impl_->done() > recipe().steps)
    fail("[train] '{}' is of step {}, the run is to end at {}: ask for more steps", from.path, from.step,
         recipe().steps);
  impl_->saved_at = std::filesystem::path(from.path).parent_path() == impl_->options.save ? from.step : -1;
}

void Trainer::load_weights(const io::NamedTensors& weights) {
  for (const nn::Named& p : impl_->model.parameters) {
    auto found = std::ranges::find(weights, p.name, [](const auto& w) { return w.first; });
    if (found == weights.end()) fail("[train] the weights hold no '{}', which {} needs", p.name, recipe().model);
    if (found->second.type() != p.parameter.type())
      fail("[train] the weights hold '{}' as {}, {} needs {}", p.name, to_string(found->second.type()), recipe().model,
           to_string(p.parameter.type()));
    nn::Parameter(p.parameter).set(found->second);
  }
}

io::NamedTensors Trainer::weights() const {
  io::NamedTensors all;
  for (const nn::Named& p : impl_->model.parameters) all.emplace_back(p.name, p.parameter.value());
  return all;
}

}  // namespace reprise
