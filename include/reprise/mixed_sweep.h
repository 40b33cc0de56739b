// SPDX-License-Identifier: Apache-2.0
// The reverse sweep under a mixed schedule, where a snapshot is a state or the data that reverse one step:
//   auto a = reprise::mixed_sweep(start, chain::mixed({.steps = n, .capacity = 100, .state_size = 1, .data_size = 3}),
//                                 forward, record, seed, backward);
//   forward:  as in reverse_sweep
//   record:   std::pair<State, Data>(step, State): the same step, and what reversing it needs
//   seed:     the adjoint of the last state, or a function of that state: Adjoint(const State&)
//   backward: as in reverse_sweep, with the step's data in place of the state
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
  std::int64_t steps;
  std::optional<State> state;
  std::optional<Data> data = {};
  std::optional<Adjoint> adjoint = {};
  std::unordered_map<std::int64_t, std::variant<State, Data>> slots = {};

  void operator()(const chain::Advance& a) {
    data.reset();
    for (std::int64_t i = a.from; i < a.to; ++i) run_step(forward, i, *state);
  }
  void operator()(const chain::Record& a) {
    auto [next, recorded] = std::invoke(record, a.step, std::move(*state));
    state.emplace(std::move(next));
    data.emplace(std::move(recorded));
    if (a.step + 1 == steps) adjoint.emplace(adjoint_of(seed, *state));
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
  }
};

}  // namespace detail

template <class State, class Forward, class Record, class Seed, class Backward>
auto mixed_sweep(State start, chain::Schedule schedule, Forward forward, Record record, Seed seed, Backward backward) {
  using Recorded = std::invoke_result_t<Record&, std::int64_t, State&&>;
  using Data = std::decay_t<typename Recorded::second_type>;
  using Adjoint = typename detail::AdjointOf<Seed, State>::type;
  detail::check_mixed(schedule);
  if (schedule.steps() == 0) return detail::adjoint_of(seed, std::as_const(start));
  detail::MixedSweep<State, Data, Adjoint, Forward, Record, Seed, Backward> sweep{
      std::move(forward), std::move(record), std::move(seed), std::move(backward), schedule.steps(), std::move(start)};
  while (!schedule.done()) std::visit(sweep, schedule.next());
  return std::move(*sweep.adjoint);
}

}  // namespace reprise
