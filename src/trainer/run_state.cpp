// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_state.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace reprise {
namespace {

using Json = nlohmann::ordered_json;

// Numbers as tensors keep their bits.
Tensor losses_of(const RunState& state) {
  return Tensor::from(state.losses, {static_cast<std::int64_t>(state.losses.size())});
}

Tensor evaluations_of(const RunState& state) {
  std::vector<double> rows;
  for (const Evaluation& e : state.evaluations)
    rows.insert(rows.end(), {static_cast<double>(e.step), e.loss, e.accuracy});
  return Tensor::from(rows, {static_cast<std::int64_t>(state.evaluations.size()), 3});
}

}  // namespace

void RunState::add(double loss) {
  constexpr double memory = 0.95;
  losses.push_back(loss);
  smooth_ = memory * smooth_ + loss;
  weight_ = memory * weight_ + 1;
}

bool RunState::note(const Evaluation& evaluation) {
  evaluations.push_back(evaluation);
  bool is_best = !best || evaluation.loss < best->loss;
  if (is_best) best = evaluation;
  bad_evaluations = is_best ? 0 : bad_evaluations + 1;
  return is_best;
}

void save_run(const std::string& path, const Recipe& recipe, std::int64_t samples, const RunState& state,
              const TrainStep& step) {
  Json text = {{"kind", "training run"}, {"program", version()},     {"step", state.losses.size()},
               {"samples", samples},     {"seconds", state.seconds}, {"recipe", Json::parse(to_json(recipe))}};
  io::NamedTensors tensors = {{"history.losses", losses_of(state)}, {"history.evaluations", evaluations_of(state)}};
  for (const nn::Named& s : step.state())
    if (s.parameter.state()->present) tensors.emplace_back("state." + s.name, s.parameter.value());
  io::save_snapshot(path, text.dump(), tensors);
}

RunState load_run(const Resumable& from, std::int64_t samples, const TrainStep& step) {
  Json text = Json::parse(from.snapshot.text());
  if (text.at("samples").get<std::int64_t>() != samples)
    fail("[train] '{}' is of a run on {} samples, the data have {}: give it the data it was trained on", from.path,
         text.at("samples").get<std::int64_t>(), samples);
  RunState state;
  state.seconds = text.at("seconds").get<double>();
  for (double loss : from.snapshot.read("history.losses").to_vector<double>()) state.add(loss);
  std::vector<double> rows = from.snapshot.read("history.evaluations").to_vector<double>();
  for (std::size_t i = 0; i + 2 < rows.size(); i += 3)
    state.note({static_cast<std::int64_t>(rows[i]), rows[i + 1], rows[i + 2]});
  for (const nn::Named& s : step.state())
    if (s.parameter.state()->present) from.snapshot.read("state." + s.name, s.parameter.value());
  return state;
}

}  // namespace reprise
