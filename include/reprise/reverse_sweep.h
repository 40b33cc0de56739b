// SPDX-License-Identifier: Apache-2.0
// The reverse sweep over a chain of your own steps, in few snapshots:
//   Wave s = reprise::reverse_sweep(start, {.steps = 10'000, .snapshots = 24}, leapfrog, seed, leapfrog_adjoint);
//
// State is any movable type; it has to be copyable where snapshots are kept in memory (a store of your own may do
// without).
//   forward:  State(step, State), void(step, State&), or either without the step; State may be taken by const reference
//   seed:     the adjoint of the last state, or a function of that state: Adjoint(const State&)
//   backward: Adjoint(step, const State& before, Adjoint after), void(step, const State& before, Adjoint&), or without
//             the step
// The result is the adjoint of the first state. `start` is taken by value: yours is untouched unless you move it in.
//
// Copies are made where a snapshot is saved, where one is read that stays saved, and once of x_{n-1} if the seed is a
// function and `forward` takes no const State& (through Serial, where the state only moves). Live at one time: the
// snapshots, one state in hand (two while a `forward` that does not work in place runs), one adjoint.
//
// An exception from your functions or from a store passes through. The sweep is then over, its memory is released with
// it, and `start` is lost if it was moved in; stores of your own keep what they held, and may be used again.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/chain.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/serial.h"

namespace reprise {

/// A place for states. `put` into a slot that is taken replaces what is there; `get` leaves it there. A store that can
/// hand a state over without a copy adds `State take(slot)`, which does what get and drop do.
template <class Store, class State>
concept StateStore = requires(Store& store, std::int64_t slot, const State& state) {
  store.put(slot, state);
  { store.get(slot) } -> std::convertible_to<State>;
  store.drop(slot);
};

struct SweepProgress {
  std::int64_t steps = 0;           // -1 while the length of the run is not known
  std::int64_t reversed = 0;        // of `steps`
  std::int64_t advances = 0;        // made so far; in mixed sweeps, steps run to advance or to record
  std::int64_t advances_total = 0;  // of the forecast; -1 while the length is not known

  /// The share of all advances and reversals that are done: 1 at the end, and 0 while the length is not known.
  double fraction() const {
    if (steps < 0) return 0;
    auto all = static_cast<double>(advances_total + steps);
    return all == 0 ? 1 : static_cast<double>(advances + reversed) / all;
  }
};

struct SweepOptions {
  std::int64_t steps = 0;
  std::int64_t snapshots = 0;    // most kept at one time, x_0 among them; 0: as many as the budget holds
  std::int64_t budget = 0;       // bytes for snapshots; 0: no limit
  std::int64_t state_bytes = 0;  // of one snapshot; needed with a budget
  std::optional<chain::Schedule> schedule = {};             // in place of steps, snapshots and budget; not begun
  std::function<void(const SweepProgress&)> progress = {};  // called after every step that runs or is reversed
  // Runs every step twice, compares, and throws NotDeterministic naming the first that differs.
  bool check_determinism = false;
};

namespace detail {

REPRISE_API chain::Schedule schedule_of(const SweepOptions& options, bool length_is_known);
/// Throws where a sweep cannot run the schedule over these stores (none: in memory).
REPRISE_API void check_sweep(const chain::Schedule& schedule, std::span<const void* const> stores);
REPRISE_API void check_mixed(const chain::Schedule& schedule);
REPRISE_API const chain::Schedule& mixed_schedule_of(const SweepOptions& options);
[[noreturn]] REPRISE_API void refuse_failed(const char* what);
[[noreturn]] REPRISE_API void refuse_step();
[[noreturn]] REPRISE_API void refuse_result();
[[noreturn]] REPRISE_API void refuse_comparison();

/// States in memory, by slot.
template <class State>
class Shelf {
 public:
  void put(std::int64_t slot, const State& state) {
    auto i = static_cast<std::size_t>(slot);
    if (i >= states_.size()) states_.resize(i + 1);
    states_[i].reset();
    states_[i].emplace(state);
  }
  State get(std::int64_t slot) const { return states_.at(static_cast<std::size_t>(slot)).value(); }
  State take(std::int64_t slot) {
    State state = std::move(states_.at(static_cast<std::size_t>(slot)).value());
    drop(slot);
    return state;
  }
  void drop(std::int64_t slot) { states_.at(static_cast<std::size_t>(slot)).reset(); }

 private:
  std::vector<std::optional<State>> states_;
};

/// An integer where fractions come: a start of 0 where 0.0 is meant, a seed of 1 where 1.0 is. They would be cut off.
template <class Given, class Result>
constexpr bool keeps_fractions = !(std::is_integral_v<Given> && std::is_floating_point_v<Result>);

template <class State, class Result>
constexpr void check_state() {
  static_assert(keeps_fractions<State, Result>,
                "the start is an integer but forward gives fractions: write 1.0, not 1");
}
template <class Adjoint, class Result>
constexpr void check_adjoint() {
  static_assert(keeps_fractions<Adjoint, Result>,
                "the seed is an integer but backward gives fractions: write 1.0, not 1");
}

// What works in place returns nothing, or a reference to what it changed; a value would be lost.
template <class Result>
constexpr void check_in_place() {
  static_assert(std::is_void_v<Result> || std::is_reference_v<Result>,
                "a function that takes the state or the adjoint by reference changes it in place, and what it returns "
                "would be lost: return nothing, or take it by value");
}

template <class State, class Forward>
void run_step(Forward& forward, std::int64_t step, State& state) {
  if constexpr (std::is_invocable_r_v<State, Forward&, std::int64_t, State&&>) {
    check_state<State, std::invoke_result_t<Forward&, std::int64_t, State&&>>();
    state = std::invoke(forward, step, std::move(state));
  } else if constexpr (std::is_invocable_v<Forward&, std::int64_t, State&>) {
    check_in_place<std::invoke_result_t<Forward&, std::int64_t, State&>>();
    std::invoke(forward, step, state);
  } else if constexpr (std::is_invocable_r_v<State, Forward&, State&&>) {
    check_state<State, std::invoke_result_t<Forward&, State&&>>();
    state = std::invoke(forward, std::move(state));
  } else {
    static_assert(std::is_invocable_v<Forward&, State&>,
                  "forward is State(step, State), void(step, State&), State(State) or void(State&)");
    check_in_place<std::invoke_result_t<Forward&, State&>>();
    std::invoke(forward, state);
  }
}

template <class State>
concept Copyable = std::copy_constructible<State> || Storable<State>;

template <Copyable State>
State copy_of(const State& state) {
  if constexpr (std::copy_constructible<State>) {
    return state;
  } else {
    auto&& saved = Serial<State>::save(state);
    return Serial<State>::load(saved);
  }
}

/// Whether forward gives a state for a const one. Asked only of those that give one at all: a generic lambda that works
/// in place could not even be asked.
template <class State, class Forward, class... Step>
constexpr bool spares_its_state() {
  if constexpr (std::is_invocable_r_v<State, Forward&, Step..., State&&>)
    return std::is_invocable_r_v<State, Forward&, Step..., const State&>;
  return false;
}

/// The step's result from a state that stays; copies it only where `forward` would change it.
template <class State, class Forward>
State run_step_aside(Forward& forward, std::int64_t step, const State& state) {
  if constexpr (spares_its_state<State, Forward, std::int64_t>()) {
    return std::invoke(forward, step, state);
  } else if constexpr (spares_its_state<State, Forward>()) {
    return std::invoke(forward, state);
  } else {
    static_assert(Copyable<State>,
                  "with a seed that is a function, the last step runs beside the state it starts from, which only "
                  "moves: let forward take a const State&, specialise reprise::Serial, or give the seed as a value");
    State copy = copy_of(state);
    run_step(forward, step, copy);
    return copy;
  }
}

template <class State>
void compare_step(std::int64_t step, const State& once, const State& again) {
  if constexpr (!Comparable<State>)
    refuse_comparison();
  else if (!same_value(once, again))
    throw NotDeterministic("[reverse_sweep] step", step);
}

template <class State, class Forward>
void run_step_twice(Forward& forward, std::int64_t step, State& state) {
  if constexpr (Copyable<State>) {
    State again = copy_of(state);
    run_step(forward, step, again);
    run_step(forward, step, state);
    compare_step(step, again, state);
  } else {
    refuse_comparison();
  }
}

template <class State, class Adjoint, class Backward>
void reverse_step(Backward& backward, std::int64_t step, const State& state, Adjoint& adjoint) {
  if constexpr (std::is_invocable_r_v<Adjoint, Backward&, std::int64_t, const State&, Adjoint&&>) {
    check_adjoint<Adjoint, std::invoke_result_t<Backward&, std::int64_t, const State&, Adjoint&&>>();
    adjoint = std::invoke(backward, step, state, std::move(adjoint));
  } else if constexpr (std::is_invocable_v<Backward&, std::int64_t, const State&, Adjoint&>) {
    check_in_place<std::invoke_result_t<Backward&, std::int64_t, const State&, Adjoint&>>();
    std::invoke(backward, step, state, adjoint);
  } else if constexpr (std::is_invocable_r_v<Adjoint, Backward&, const State&, Adjoint&&>) {
    check_adjoint<Adjoint, std::invoke_result_t<Backward&, const State&, Adjoint&&>>();
    adjoint = std::invoke(backward, state, std::move(adjoint));
  } else {
    static_assert(
        std::is_invocable_v<Backward&, const State&, Adjoint&>,
        "backward is Adjoint(step, const State&, Adjoint), void(step, const State&, Adjoint&), or without the step");
    check_in_place<std::invoke_result_t<Backward&, const State&, Adjoint&>>();
    std::invoke(backward, state, adjoint);
  }
}

template <class Seed, class State>
struct AdjointOf {
  using type = std::decay_t<Seed>;
};
template <class Seed, class State>
requires std::invocable<Seed&, const State&>
struct AdjointOf<Seed, State> {
  using type = std::decay_t<std::invoke_result_t<Seed&, const State&>>;
};

template <class Seed, class State>
typename AdjointOf<Seed, State>::type adjoint_of(Seed& seed, const State& last) {
  if constexpr (std::invocable<Seed&, const State&>)
    return std::invoke(seed, last);
  else
    return std::move(seed);
}

}  // namespace detail

/// A sweep driven action by action:
///   reprise::Sweep sweep(start, chain::revolve(100, 5), forward, seed, backward);
///   while (!sweep.done()) log(sweep.step());
///   Adjoint a = sweep.result();
/// `stores` are used in the order of the schedule's stores and must outlive the sweep; with none given, states are kept
/// in memory. With a schedule of unknown length, step() runs forward until finish() is called.
template <std::movable State, class Forward, class Seed, class Backward, StateStore<State>... Stores>
class Sweep {
  static_assert(std::invocable<Seed&, const State&> || !std::invocable<Seed&, State&>,
                "a seed that is a function takes the last state by const reference or by value");

 public:
  using Adjoint = typename detail::AdjointOf<Seed, State>::type;

  Sweep(State start, chain::Schedule schedule, Forward forward, Seed seed, Backward backward, Stores&... stores)
      : Sweep(std::move(start), std::move(schedule), SweepOptions{}, std::move(forward), std::move(seed),
              std::move(backward), stores...) {}
  Sweep(State start, chain::Schedule schedule, const SweepOptions& options, Forward forward, Seed seed,
        Backward backward, Stores&... stores)
      : schedule_(std::move(schedule)),
        forward_(std::move(forward)),
        seed_(std::move(seed)),
        backward_(std::move(backward)),
        stores_(std::addressof(stores)...),
        progress_(options.progress),
        check_determinism_(options.check_determinism),
        state_(std::move(start)) {
    detail::check_sweep(schedule_, std::vector<const void*>{std::addressof(stores)...});
    if constexpr (sizeof...(Stores) == 0) shelves_.resize(schedule_.chain().stores.size());
    if (schedule_.steps() == 0) start_adjoint(*state_);
    learn_length();
  }

  bool done() const { return schedule_.done(); }
  /// Performs the next action and tells which it was.
  chain::Action step() {
    if (has_failed_) detail::refuse_failed("step");
    if (done()) detail::refuse_step();
    has_failed_ = true;  // unless we come to the end
    chain::Action action = schedule_.next();
    std::visit([this](const auto& a) { this->perform(a); }, action);
    has_failed_ = false;
    return action;
  }
  /// Ends a run of unknown length: the state in hand is the last.
  void finish() {
    if (has_failed_) detail::refuse_failed("finish");
    schedule_.finish();
    has_failed_ = true;  // unless we come to the end
    learn_length();
    start_adjoint(*state_);
    state_.reset();
    has_failed_ = false;
  }
  /// The state in hand, if there is one: x_i during the forward run.
  const State* state() const { return state_ ? &*state_ : nullptr; }
  const SweepProgress& progress() const { return at_; }
  const chain::Schedule& schedule() const { return schedule_; }
  /// The adjoint of the first state, once the sweep is done.
  Adjoint result() {
    if (has_failed_) detail::refuse_failed("result");
    if (!done() || !adjoint_) detail::refuse_result();
    return *std::exchange(adjoint_, std::nullopt);
  }

 private:
  void learn_length() {
    at_.steps = schedule_.steps();
    at_.advances_total = at_.steps < 0 ? -1 : schedule_.forecast().advances;
  }
  void report() const {
    if (progress_) progress_(at_);
  }
  template <class Use>
  void with_store(int index, Use use) {
    if constexpr (sizeof...(Stores) == 0) {
      use(shelves_[static_cast<std::size_t>(index)]);
    } else {
      std::apply(
          [&](auto*... store) {
            int i = 0;
            ((i++ == index ? use(*store) : void()), ...);
          },
          stores_);
    }
  }
  void start_adjoint(const State& last) { adjoint_.emplace(detail::adjoint_of(seed_, last)); }

  void perform(const chain::Advance& a) {
    for (std::int64_t i = a.from; i < a.to; ++i) {
      if (check_determinism_)
        detail::run_step_twice(forward_, i, *state_);
      else
        detail::run_step(forward_, i, *state_);
      at_.advances += 1;
      report();
    }
  }
  void perform(const chain::Save& a) {
    with_store(a.store, [&](auto& store) { store.put(a.slot, std::as_const(*state_)); });
  }
  void perform(const chain::Restore& a) {
    with_store(a.store, [&](auto& store) {
      if (!a.last) return static_cast<void>(state_.emplace(store.get(a.slot)));
      if constexpr (requires { store.take(a.slot); }) {
        state_.emplace(store.take(a.slot));
      } else {
        state_.emplace(store.get(a.slot));
        store.drop(a.slot);
      }
    });
  }
  void perform(const chain::Drop& a) {
    with_store(a.store, [&](auto& store) { store.drop(a.slot); });
  }
  void perform(const chain::Reverse& a) {
    if (!adjoint_) first_adjoint(a.step);
    detail::reverse_step(backward_, a.step, std::as_const(*state_), *adjoint_);
    state_.reset();
    at_.reversed += 1;
    report();
  }
  void perform(const chain::Record&) {}  // of mixed schedules, which the constructor refuses

  void first_adjoint(std::int64_t step) {
    if constexpr (std::invocable<Seed&, const State&>) {
      State last = detail::run_step_aside(forward_, step, std::as_const(*state_));
      if (check_determinism_)
        detail::compare_step(step, last, detail::run_step_aside(forward_, step, std::as_const(*state_)));
      start_adjoint(last);
    } else {
      start_adjoint(*state_);
    }
  }

  chain::Schedule schedule_;
  Forward forward_;
  Seed seed_;
  Backward backward_;
  std::tuple<Stores*...> stores_;
  std::vector<detail::Shelf<State>> shelves_;  // where no stores were given
  std::function<void(const SweepProgress&)> progress_;
  bool check_determinism_, has_failed_ = false;
  SweepProgress at_;
  std::optional<State> state_;  // in hand
  std::optional<Adjoint> adjoint_;
};

/// Runs the chain forward from `start`, then its adjoint back, within the snapshots the options allow.
template <std::movable State, class Forward, class Seed, class Backward, StateStore<State>... Stores>
auto reverse_sweep(State start, const SweepOptions& options, Forward forward, Seed seed, Backward backward,
                   Stores&... stores) {
  Sweep<State, Forward, Seed, Backward, Stores...> sweep(std::move(start), detail::schedule_of(options, true), options,
                                                         std::move(forward), std::move(seed), std::move(backward),
                                                         stores...);
  while (!sweep.done()) sweep.step();
  return sweep.result();
}

/// The same for a run of unknown length: it goes on while `more(step, state)` (or `more(state)`) is true. By default
/// the schedule is chain::online(snapshots); `steps` stays 0. The seed is a function of the last state, or a value.
template <std::movable State, class More, class Forward, class Seed, class Backward, StateStore<State>... Stores>
auto reverse_sweep_while(State start, const SweepOptions& options, More more, Forward forward, Seed seed,
                         Backward backward, Stores&... stores) {
  Sweep<State, Forward, Seed, Backward, Stores...> sweep(std::move(start), detail::schedule_of(options, false), options,
                                                         std::move(forward), std::move(seed), std::move(backward),
                                                         stores...);
  auto goes_on = [&](std::int64_t step) {
    if constexpr (std::is_invocable_v<More&, std::int64_t, const State&>)
      return static_cast<bool>(std::invoke(more, step, *sweep.state()));
    else
      return static_cast<bool>(std::invoke(more, *sweep.state()));
  };
  for (std::int64_t step = 0; goes_on(step); ++step)
    while (!std::holds_alternative<chain::Advance>(sweep.step())) continue;
  sweep.finish();
  while (!sweep.done()) sweep.step();
  return sweep.result();
}

}  // namespace reprise
