// SPDX-License-Identifier: Apache-2.0
// The part of the sweep that knows no state type: options to schedule, and what is refused.
#include "reprise/reverse_sweep.h"

#include "checkpoint/cursor.h"

namespace reprise::detail {
namespace {

using chain::refuse;

std::int64_t snapshots_of(const SweepOptions& o) {
  if (o.snapshots < 0 || o.budget < 0 || o.state_bytes < 0)
    refuse<chain::BadRequest>("[reverse_sweep] {} snapshots of {} bytes in a budget of {} bytes: none may be negative",
                              o.snapshots, o.state_bytes, o.budget);
  if (o.budget == 0) return o.snapshots;
  if (o.state_bytes == 0)
    refuse<chain::BadRequest>("[reverse_sweep] a budget of {} needs the size of a snapshot: give state_bytes too",
                              format_bytes(o.budget));
  std::int64_t most = o.budget / o.state_bytes;
  if (most == 0)
    refuse<chain::DoesNotFit>(
        "[reverse_sweep] one snapshot takes {} and the budget is {}: give a budget for one at least",
        format_bytes(o.state_bytes), format_bytes(o.budget));
  if (o.snapshots > most)
    refuse<chain::DoesNotFit>(
        "[reverse_sweep] {} snapshots of {} are more than the budget of {} holds: ask for at most {}", o.snapshots,
        format_bytes(o.state_bytes), format_bytes(o.budget), most);
  return o.snapshots == 0 ? most : o.snapshots;
}

chain::Schedule default_schedule(const SweepOptions& options, bool length_is_known) {
  std::int64_t snapshots = snapshots_of(options);
  if (snapshots == 0)
    refuse<chain::BadRequest>(
        "[reverse_sweep] 0 snapshots: the first state needs one: give snapshots, or budget and state_bytes");
  return length_is_known ? chain::revolve(options.steps, snapshots) : chain::online(snapshots);
}

}  // namespace

chain::Schedule schedule_of(const SweepOptions& options, bool length_is_known) {
  if (!length_is_known && options.steps != 0)
    refuse<chain::BadRequest>(
        "[reverse_sweep_while] steps = {} in a run that ends when `more` says so: use reverse_sweep", options.steps);
  if (!options.schedule) return default_schedule(options, length_is_known);
  const chain::Schedule& schedule = *options.schedule;
  if (length_is_known && schedule.steps() < 0)
    refuse<chain::BadRequest>("[reverse_sweep] the schedule is for a run of unknown length: use reverse_sweep_while");
  if (!length_is_known && !schedule.is_online())
    refuse<chain::BadRequest>("[reverse_sweep_while] the schedule is for {} steps: give one such as chain::online",
                              schedule.steps());
  if (length_is_known && options.steps != 0 && options.steps != schedule.steps())
    refuse<chain::BadRequest>(
        "[reverse_sweep] steps = {}, but the schedule is for {}: leave steps out or make them equal", options.steps,
        schedule.steps());
  return schedule;
}

void check_mixed(const chain::Schedule& schedule) {
  if (!schedule.chain().needs_data)
    refuse<chain::BadRequest>(
        "[mixed_sweep] the schedule keeps states alone: make it with chain::mixed, or use reverse_sweep");
}

void refuse_stores(std::size_t needed, std::size_t given) {
  refuse<chain::BadRequest>(
      "[reverse_sweep] the schedule uses {} stores and {} were given: give one for each, fastest first", needed, given);
}

void refuse_action(const chain::Action& action) {
  refuse<chain::BadRequest>("[reverse_sweep] '{}' belongs to a mixed schedule: use mixed_sweep",
                            chain::to_string(action));
}

void refuse_step(bool has_failed) {
  if (has_failed) refuse<chain::OutOfTurn>("[sweep] step: an exception has ended this sweep: make a new one");
  refuse<chain::OutOfTurn>("[sweep] step: the sweep is done: take its result, or make a new one");
}

void refuse_result() {
  refuse<chain::OutOfTurn>("[sweep] result: there is none yet, or it was taken: step until done, then ask once");
}

void refuse_comparison() {
  refuse<chain::BadRequest>(
      "[reverse_sweep] check_determinism runs steps twice and compares: the state has to be copyable and to have "
      "operator==");
}

}  // namespace reprise::detail
