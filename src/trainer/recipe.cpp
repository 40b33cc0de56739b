// SPDX-License-Identifier: Apache-2.0
// Recipes as JSON, and schedules by name.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reprise/trainer.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

// Calls f(key, field) for every field: what is written is what is read.
template <class R, class F>
void each_field(R& r, const F& f) {
  f("model", r.model), f("data", r.data), f("data_kind", r.data_kind), f("batch", r.batch);
  f("optimizer", r.optimizer), f("lr", r.lr), f("schedule", r.schedule), f("warm_up", r.warm_up);
  f("steps", r.steps), f("epochs", r.epochs), f("schedule_steps", r.schedule_steps), f("clip_norm", r.clip_norm),
      f("clip_value", r.clip_value);
  f("accumulate", r.accumulate), f("seed", r.seed), f("validation", r.validation);
  f("validate_samples", r.validate_samples), f("evaluate_every", r.evaluate_every), f("patience", r.patience);
  f("freeze", r.freeze), f("threads", r.threads);
}
// Those that recipes written earlier lack.
template <class R, class F>
void each_newer_field(R& r, const F& f) {
  f("train", r.train), f("loss", r.loss), f("output", r.output), f("classes", r.classes), f("shapes", r.shapes);
  f("fingerprint", r.fingerprint), f("parts_chosen", r.parts_chosen);
}

struct Row {
  const char* name;
  optim::Schedule (*make)(std::int64_t steps);
};
constexpr Row schedules[] = {
    {"constant", [](std::int64_t) { return optim::constant(); }},
    {"cosine", [](std::int64_t steps) { return optim::cosine(steps); }},
    {"linear", [](std::int64_t steps) { return optim::polynomial(steps); }},
    {"step", [](std::int64_t steps) { return optim::step_decay(std::max<std::int64_t>(1, (steps + 2) / 3)); }},
    {"exponential",
     [](std::int64_t steps) { return optim::exponential(std::pow(0.01, 1 / static_cast<double>(steps))); }},
    {"one-cycle", [](std::int64_t steps) { return optim::one_cycle(steps); }},
};

}  // namespace

std::string to_json(const Recipe& recipe) {
  Json json;
  auto write = [&](const char* key, const auto& field) { json[key] = field; };
  each_field(recipe, write);
  each_newer_field(recipe, write);
  return json.dump();
}

Recipe recipe_from_json(const std::string& text) try {
  Json json = Json::parse(text);
  Recipe recipe;
  each_field(recipe, [&](const char* key, auto& field) { json.at(key).get_to(field); });
  each_newer_field(recipe, [&](const char* key, auto& field) {
    if (json.contains(key)) json.at(key).get_to(field);
  });
  return recipe;
} catch (const Json::exception& e) {
  fail("[recipe] it lacks what a recipe needs: {}", e.what());
}

optim::Schedule schedule_named(const std::string& name, std::int64_t steps, std::int64_t warm_up) {
  const Row* row = std::ranges::find_if(schedules, [&](const Row& r) { return name == r.name; });
  if (row == std::end(schedules)) fail("[schedule] there is no schedule '{}': choose from {}", name, schedule_names());
  if (warm_up < 0 || warm_up >= std::max<std::int64_t>(steps, 1))
    fail("[schedule] warming up takes {} steps of {}: it must leave some", warm_up, steps);
  optim::Schedule then = row->make(std::max<std::int64_t>(1, steps - warm_up));
  return warm_up > 0 ? optim::warm_up(warm_up, then, 1 / static_cast<double>(warm_up + 1)) : then;
}

std::string schedule_names() {
  std::string names;
  for (const Row& row : schedules) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace reprise
