// SPDX-License-Identifier: Apache-2.0
// The reverse sweep under a mixed schedule, where a snapshot is a state or the data that reverse one step:
//   auto a = reprise::mixed_sweep(start, chain::mixed({.steps = n, .capacity = 100, .state_size = 1, .data_size = 3}),
//                                 forward, record, seed, backward);
//   forward:  as in reverse_sweep
//   record:   std::pair<State, Data>(step, State): the same step, and what reversing it needs
//   seed:     the adjoint of the last state, or a function of that state: Adjoint(const State&)
//   backward: as in reverse_sweep, with the step's data in place of the state
// To watch it, or to check that steps are deterministic, give options in place of the schedule, as in reverse_sweep:
//   {.schedule = chain::mixed({...}), .progress = show}
// Exceptions pass through, as in reverse_sweep.
#pragma once

#include <unordered_map>

#include "reprise/reverse_sweep.h"

namespace reprise {

namespace detail {

template <class State, class Data, class Adjoint, class Forward, class Record, class Seed, class Backward>
struct MixedSweep {
  Forward forward;
  Record record;
  Seed seed;
  Backward backward;
  std::optional<State> state;
  std::function<void(const SweepProgress&)> progress = {};
  bool check_determinism = false;
  SweepProgress at = {};
  std::optional<Data> data = {};
  std::optional<Adjoint> adjoint = {};
  std::unordered_map<std::int64_t, std::variant<State, Data>> slots = {};

  void operator()(const chain::Advance& a) {
    data.reset();
    for (std::int64_t i = a.from; i < a.to; ++i) {
      check_determinism ? run_step_twice(forward, i, *state) : run_step(forward, i, *state);
      report(1, 0);
    }
  }
  void operator()(const chain::Record& a) {
    check_determinism ? record_twice(a.step) : record_step(a.step);
    if (a.step + 1 == at.steps) adjoint.emplace(adjoint_of(seed, std::as_const(*state)));
    report(1, 0);
  }
  void operator()(const chain::Save& a) {
    if (a.content == chain::Content::state)
      slots.insert_or_assign(a.slot, std::variant<State, Data>(std::in_place_index<0>, *state));
    else
      slots.insert_or_assign(a.slot, std::variant<State, Data>(std::in_place_index<1>, std::move(*data)));
  }
  void operator()(const chain::Restore& a) {
    auto& held = slots.at(a.slot);
    if (a.content == chain::Content::data)
      data.emplace(std::move(std::get<1>(held)));
    else
      state.emplace(a.last ? std::move(std::get<0>(held)) : std::get<0>(held));
    if (a.last) slots.erase(a.slot);
  }
  void operator()(const chain::Drop& a) { slots.erase(a.slot); }
  void operator()(const chain::Reverse& a) {
    reverse_step(backward, a.step, std::as_const(*data), *adjoint);
    data.reset();
    state.reset();
    report(0, 1);
  }

 private:
  void record_step(std::int64_t step) {
    auto [next, recorded] = std::invoke(record, step, std::move(*state));
    state.emplace(std::move(next));
    data.emplace(std::move(recorded));
  }
  void record_twice(std::int64_t step) {
    if constexpr (Copyable<State>) {
      auto [next, recorded] = std::invoke(record, step, copy_of(*state));
      record_step(step);
      compare_step<State>(step, next, *state);
      if constexpr (Comparable<Data>) compare_step<Data>(step, recorded, *data);
    } else {
      refuse_comparison();
    }
  }
  void report(std::int64_t advances, std::int64_t reversed) {
    at.advances += advances;
    at.reversed += reversed;
    if (progress) progress(at);
  }
};

}  // namespace detail

template <class State, class Forward, class Record, class Seed, class Backward>
auto mixed_sweep(State start, const SweepOptions& options, Forward forward, Record record, Seed seed,
                 Backward backward) {
  using Recorded = std::invoke_result_t<Record&, std::int64_t, State&&>;
  using Data = std::decay_t<typename Recorded::second_type>;
  using Adjoint = typename detail::AdjointOf<Seed, State>::type;
  chain::Schedule schedule = detail::mixed_schedule_of(options);
  detail::check_mixed(schedule);
  if (schedule.steps() == 0) return detail::adjoint_of(seed, std::as_const(start));
  detail::MixedSweep<State, Data, Adjoint, Forward, Record, Seed, Backward> sweep{
      std::move(forward), std::move(record), std::move(seed),          std::move(backward),
      std::move(start),   options.progress,  options.check_determinism};
  chain::Forecast forecast = schedule.forecast();
  sweep.at.steps = schedule.steps();
  sweep.at.advances_total = forecast.advances + forecast.records;
  while (!schedule.done()) std::visit(sweep, schedule.next());
  return std::move(*sweep.adjoint);
}
template <class State, class Forward, class Record, class Seed, class Backward>
auto mixed_sweep(State start, chain::Schedule schedule, Forward forward, Record record, Seed seed, Backward backward) {
  return mixed_sweep(std::move(start), SweepOptions{.schedule = std::move(schedule)}, std::move(forward),
                     std::move(record), std::move(seed), std::move(backward));
}

}  // namespace reprise
