// SPDX-License-Identifier: Apache-2.0
// The part of the sweep that knows no state type: options to schedule, and what is refused.
#include "reprise/reverse_sweep.h"

#include "checkpoint/cursor.h"

namespace reprise::detail {
namespace {

std::int64_t snapshots_of(const SweepOptions& o) {
  if (o.snapshots < 0 || o.budget < 0 || o.state_bytes < 0)
    refuse<BadRequest>("[reverse_sweep] {} snapshots of {} bytes in a budget of {} bytes: none may be negative",
                       o.snapshots, o.state_bytes, o.budget);
  if (o.budget == 0) return o.snapshots;
  if (o.state_bytes == 0)
    refuse<BadRequest>("[reverse_sweep] a budget of {} needs the size of a snapshot: give state_bytes too",
                       format_bytes(o.budget));
  std::int64_t most = o.budget / o.state_bytes;
  if (most == 0)
    refuse<DoesNotFit>("[reverse_sweep] one snapshot takes {} and the budget is {}: give a budget for one at least",
                       format_bytes(o.state_bytes), format_bytes(o.budget));
  if (o.snapshots > most)
    refuse<DoesNotFit>("[reverse_sweep] {} snapshots of {} are more than the budget of {} holds: ask for at most {}",
                       o.snapshots, format_bytes(o.state_bytes), format_bytes(o.budget), most);
  return o.snapshots == 0 ? most : o.snapshots;
}

[[noreturn]] void refuse_beside_schedule(const char* option, std::int64_t value) {
  refuse<BadRequest>("[reverse_sweep] {} = {} beside a schedule, which has its own: leave out one of the two", option,
                     value);
}

chain::Schedule default_schedule(const SweepOptions& options, bool length_is_known) {
  std::int64_t snapshots = snapshots_of(options);
  if (snapshots == 0)
    refuse<BadRequest>(
        "[reverse_sweep] 0 snapshots: the first state needs one: give snapshots, or budget and state_bytes");
  return length_is_known ? chain::revolve(options.steps, snapshots) : chain::online(snapshots);
}

}  // namespace

chain::Schedule schedule_of(const SweepOptions& options, bool length_is_known) {
  if (!length_is_known && options.steps != 0)
    refuse<BadRequest>("[reverse_sweep_while] steps = {} in a run that ends when `more` says so: use reverse_sweep",
                       options.steps);
  if (!options.schedule) return default_schedule(options, length_is_known);
  const chain::Schedule& schedule = *options.schedule;
  if (options.snapshots != 0) refuse_beside_schedule("snapshots", options.snapshots);
  if (options.budget != 0) refuse_beside_schedule("budget", options.budget);
  if (length_is_known && schedule.steps() < 0)
    refuse<BadRequest>("[reverse_sweep] the schedule is for a run of unknown length: use reverse_sweep_while");
  if (!length_is_known && !schedule.is_online())
    refuse<BadRequest>("[reverse_sweep_while] the schedule is for {} steps: give one such as chain::online",
                       schedule.steps());
  if (length_is_known && options.steps != 0 && options.steps != schedule.steps())
    refuse<BadRequest>("[reverse_sweep] steps = {}, but the schedule is for {}: leave steps out or make them equal",
                       options.steps, schedule.steps());
  return schedule;
}

void check_fresh(const chain::Schedule& schedule) {
  if (schedule.has_begun())
    refuse<OutOfTurn>(
        "[sweep] the schedule has been read from: give a new one, or a copy made before its first action");
}

void check_sweep(const chain::Schedule& schedule, std::span<const void* const> stores) {
  check_fresh(schedule);
  if (schedule.chain().needs_data)
    refuse<BadRequest>("[reverse_sweep] the schedule is a mixed one, which keeps data of steps too: use mixed_sweep");
  std::size_t needed = schedule.chain().stores.size();
  if (stores.empty()) return;
  if (stores.size() != needed)
    refuse<BadRequest>(
        "[reverse_sweep] the schedule uses {} stores and {} were given: give one for each, fastest first", needed,
        stores.size());
  for (std::size_t i = 0; i < needed; ++i)
    for (std::size_t j = i + 1; j < needed; ++j)
      if (stores[i] == stores[j])
        refuse<BadRequest>("[reverse_sweep] stores {} and {} are the same object, and their slots would mix: give two",
                           i, j);
}

void check_mixed(const chain::Schedule& schedule) {
  check_fresh(schedule);
  if (!schedule.chain().needs_data)
    refuse<BadRequest>(
        "[mixed_sweep] the schedule keeps states alone: make it with chain::mixed, or use reverse_sweep");
}

const chain::Schedule& mixed_schedule_of(const SweepOptions& options) {
  if (!options.schedule)
    refuse<BadRequest>("[mixed_sweep] there is no schedule: give one, .schedule = chain::mixed({{...}})");
  schedule_of(options, true);
  return *options.schedule;
}

void refuse_failed(const char* what) {
  refuse<OutOfTurn>("[sweep] {}: an exception has ended this sweep: make a new one", what);
}

void refuse_step() { refuse<OutOfTurn>("[sweep] step: the sweep is done: take its result, or make a new one"); }

void refuse_result() {
  refuse<OutOfTurn>("[sweep] result: there is none yet, or it was taken: step until done, then ask once");
}

void refuse_comparison() {
  refuse<BadRequest>(
      "[reverse_sweep] check_determinism runs steps twice and compares: the state has to be copyable and to have "
      "operator== or reprise::Serial");
}

}  // namespace reprise::detail
