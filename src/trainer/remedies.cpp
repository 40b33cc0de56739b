// SPDX-License-Identifier: Apache-2.0
// What would fit where the run as asked for does not: each change is planned, by estimated times.
#include <algorithm>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "trainer/setup.h"

namespace reprise {
namespace {

struct Trial {
  std::string change;
  Recipe recipe;
  std::string note = {};
  bool uses_disk = false;
};

// "h.3." of "h.3.attn.weight", "fc." of "fc.weight".
std::string layer_of(const std::string& name) {
  std::size_t end = name.find('.');
  if (end == std::string::npos) return name;
  std::size_t next = name.find_first_not_of("0123456789", end + 1);
  bool is_numbered = next != std::string::npos && next > end + 1 && name[next] == '.';
  return name.substr(0, (is_numbered ? next : end) + 1);
}

// Layers that are trained, in their order.
std::vector<std::string> layers_of(const BuiltInModel& model) {
  std::vector<std::string> layers;
  for (const nn::Named& p : model.parameters) {
    std::string layer = layer_of(p.name);
    if (p.parameter.trainable() && std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
  }
  return layers;
}

// What to freeze so that all layers but the last `trained` are: "h." where all of "h.0.", "h.1." ... are meant.
std::vector<std::string> prefixes_of(const std::vector<std::string>& layers, std::size_t trained) {
  auto stem = [](const std::string& layer) { return layer.substr(0, layer.find('.') + 1); };
  std::vector<std::string> prefixes, rest;
  for (std::size_t i = layers.size() - trained; i < layers.size(); ++i) rest.push_back(stem(layers[i]));
  for (std::size_t i = 0; i < layers.size() - trained; ++i) {
    bool is_whole = std::ranges::find(rest, stem(layers[i])) == rest.end() && !stem(layers[i]).empty();
    const std::string& prefix = is_whole ? stem(layers[i]) : layers[i];
    if (std::ranges::find(prefixes, prefix) == prefixes.end()) prefixes.push_back(prefix);
  }
  return prefixes;
}

class Trials {
 public:
  Trials(const TrainerOptions& options, std::int64_t budget) : options_(options), budget_(budget) {
    data_ = load_data(options.recipe, known_bytes(options));
    batch_ = model().batch[0].shape[0];
  }

  std::int64_t batch() const { return batch_; }
  BuiltInModel model() const { return model_for(options_.recipe, data_, known_bytes(options_)); }
  std::int64_t trained_by(const Recipe& recipe) const {
    return model_for(recipe, data_, known_bytes(options_)).parameter_count();
  }

  // A run checks gradients if that fits, else the loss alone; either may need a few bytes less.
  Remedy plan(const Trial& trial) const {
    if (options_.check_finite) return plan(trial, *options_.check_finite);
    Remedy remedy = plan(trial, FiniteCheck::loss);
    bool is_near = !remedy.fits && remedy.smallest - budget_ <= budget_ / 1000;
    return is_near ? plan(trial, FiniteCheck::gradients) : remedy;
  }

 private:
  Remedy plan(const Trial& trial, FiniteCheck check) const {
    BuiltInModel model = model_for(trial.recipe, data_, known_bytes(options_));
    std::int64_t size = model.batch[0].shape[0];
    TrainStep step(model.loss, model.parameters, model.rule,
                   {.accumulate = trial.recipe.accumulate,
                    .clip_norm = trial.recipe.clip_norm,
                    .clip_value = trial.recipe.clip_value,
                    .check_finite = check});
    std::int64_t data = data_.bytes;
    for (const Type& type : model.batch) data += type.bytes();
    CompileOptions o{.budget = std::max<std::int64_t>(1, budget_ - data), .measure = false};
    o.planning = planning_of(options_, 3);
    o.disk = options_.disk;
    if (trial.uses_disk) o.disk.folder = ".";  // whose speed is estimated
    PlanResult r = reprise::plan(step.graph(model.batch), o);
    double per_sample = (r.feasible ? r.cost : r.base_cost) / static_cast<double>(size);
    return {trial.change, note_of(trial, r), r.min_budget + data, r.feasible, per_sample};
  }

  static std::string note_of(const Trial& trial, const PlanResult& plan) {
    if (!trial.uses_disk || !plan) return trial.note;
    return fmt::format("moves {} a step to disk and back", format_bytes(paged_bytes(plan)));
  }

  const TrainerOptions& options_;
  std::int64_t budget_, batch_ = 0;
  Samples data_;
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

Trial frozen(const Trials& trials, const Recipe& recipe, const std::vector<std::string>& layers, std::size_t trained) {
  std::vector<std::string> prefixes = prefixes_of(layers, trained);
  Trial trial{"--freeze ", recipe};
  for (const std::string& prefix : prefixes) trial.change += (&prefix == prefixes.data() ? "" : ",") + prefix;
  trial.recipe.freeze.insert(trial.recipe.freeze.end(), prefixes.begin(), prefixes.end());
  trial.note =
      fmt::format("trains {:.1f} % of the parameters", 100 * static_cast<double>(trials.trained_by(trial.recipe)) /
                                                           static_cast<double>(trials.trained_by(recipe)));
  return trial;
}

}  // namespace

std::vector<Remedy> remedies(const TrainerOptions& options, std::int64_t budget) {
  Trials trials(options, budget);
  Recipe recipe = options.recipe;
  recipe.accumulate = std::max(1, recipe.accumulate);
  double base = trials.plan({"", recipe}).slow_down;  // not feasible: without recomputing
  std::vector<Remedy> found;
  try_until_fits(trials, found, trials.batch(), [&](std::int64_t k) -> std::optional<Trial> {
    bool is_tried = options.recipe.accumulate == 0;  // all parts were
    if (is_tried || trials.batch() % (k * recipe.accumulate) != 0) return std::nullopt;
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
  std::vector<std::string> layers = layers_of(trials.model());
  auto layer_count = static_cast<std::int64_t>(layers.size());
  try_until_fits(trials, found, 2 * layer_count - 1, [&](std::int64_t k) -> std::optional<Trial> {
    return frozen(trials, recipe, layers, static_cast<std::size_t>(std::max<std::int64_t>(1, layer_count / k)));
  });
  if (trials.model().rule.state_count > 0) {
    Trial trial{"--optimizer sgd", recipe};
    trial.recipe.optimizer = "sgd";
    found.push_back(trials.plan(trial));
  }
  if (options.disk.folder.empty()) found.push_back(trials.plan({"--disk DIR", recipe, "", true}));
  for (Remedy& r : found) r.slow_down /= base;
  std::ranges::stable_sort(found, [](const Remedy& a, const Remedy& b) {
    return std::tuple(!a.fits, a.fits ? a.slow_down : 0, a.smallest) <
           std::tuple(!b.fits, b.fits ? b.slow_down : 0, b.smallest);
  });
  return found;
}

}  // namespace reprise
