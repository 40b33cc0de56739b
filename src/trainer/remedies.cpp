// SPDX-License-Identifier: Apache-2.0
// What would fit where the run as asked for does not: each change is planned, by estimated times.
#include <algorithm>

#include "base/error.h"
#include "trainer/setup.h"

namespace reprise {
namespace {

struct Trial {
  std::string change;
  Recipe recipe;
};

class Trials {
 public:
  Trials(const TrainerOptions& options, std::int64_t budget) : options_(options), budget_(budget) {
    data_ = load_data(options.recipe);
    batch_ = model_for(options.recipe, data_).batch[0].shape[0];
  }

  std::int64_t batch() const { return batch_; }
  bool has_optimizer_state() const { return model_for(options_.recipe, data_).rule.state_count > 0; }

  Remedy plan(const Trial& trial) const {
    BuiltInModel model = model_for(trial.recipe, data_);
    std::int64_t size = model.batch[0].shape[0];
    TrainStep step(model.loss, model.parameters, model.rule,
                   {.accumulate = trial.recipe.accumulate,
                    .clip_norm = trial.recipe.clip_norm,
                    .clip_value = trial.recipe.clip_value,
                    .check_finite = options_.check_finite.value_or(FiniteCheck::loss)});
    std::int64_t data = data_.bytes + model.batch[0].bytes() + model.batch[1].bytes();
    CompileOptions o{.budget = std::max<std::int64_t>(1, budget_ - data), .measure = false};
    o.planning.time_limit = 3;
    PlanResult r = reprise::plan(step.graph(model.batch), o);
    double per_sample = (r.feasible ? r.cost : r.base_cost) / static_cast<double>(size);
    return {trial.change, r.min_budget + data, r.feasible, per_sample};
  }

 private:
  const TrainerOptions& options_;
  std::int64_t budget_, batch_ = 0;
  data::Dataset data_;
};

// Tries ever stronger forms of a change up to the first that fits; the strongest if none does.
template <class Make>
void try_until_fits(const Trials& trials, std::vector<Remedy>& found, std::int64_t count, const Make& make) {
  std::optional<Remedy> last;
  for (std::int64_t k = 2; k <= count && !(last && last->fits); k *= 2) {
    std::optional<Trial> trial = make(k);
    if (!trial) continue;
    try {
      last = trials.plan(*trial);
    } catch (const Error&) {  // a model that cannot be worked through in parts, say
      return;
    }
  }
  if (last) found.push_back(*last);
}

}  // namespace

std::vector<Remedy> remedies(const TrainerOptions& options, std::int64_t budget) {
  Trials trials(options, budget);
  Recipe recipe = options.recipe;
  recipe.accumulate = std::max(1, recipe.accumulate);
  double base = trials.plan({"", recipe}).slow_down;  // not feasible: without recomputing
  std::vector<Remedy> found;
  try_until_fits(trials, found, trials.batch(), [&](std::int64_t k) -> std::optional<Trial> {
    if (trials.batch() % (k * recipe.accumulate) != 0) return std::nullopt;
    Trial trial{fmt::format("--accumulate {}", k * recipe.accumulate), recipe};
    trial.recipe.accumulate = static_cast<int>(k * recipe.accumulate);
    return trial;
  });
  try_until_fits(trials, found, trials.batch(), [&](std::int64_t k) -> std::optional<Trial> {
    Trial trial{fmt::format("--batch {}", trials.batch() / k), recipe};
    trial.recipe.batch = trials.batch() / k;
    trial.recipe.accumulate = 1;
    return trial;
  });
  if (trials.has_optimizer_state()) {
    Trial trial{"--optimizer sgd", recipe};
    trial.recipe.optimizer = "sgd";
    found.push_back(trials.plan(trial));
  }
  for (Remedy& r : found) r.slow_down /= base;
  std::ranges::stable_sort(found, [](const Remedy& a, const Remedy& b) {
    return std::tuple(!a.fits, a.fits ? a.slow_down : 0, a.smallest) <
           std::tuple(!b.fits, b.fits ? b.slow_down : 0, b.smallest);
  });
  return found;
}

}  // namespace reprise
