// SPDX-License-Identifier: Apache-2.0
// Schedules that reverse a chain of steps in little memory: streams of small records, with their forecasts and a judge.
//
// The chain. Step i turns state x_i into x_{i+1}; steps run 0..n-1. Reversing step i needs x_i, and steps are reversed
// in the order n-1..0. One state is *in hand* (the solver's working memory, outside every store); others are in stores.
//
// What is counted.
//   - An advance is one run of a step made by an `Advance` record: from x_i in hand to x_{i+1} in hand.
//   - Reversing step i with x_i in hand runs no counted step: what `backward` does inside (it may well recompute step i
//     to linearise it) is its own affair, the same in every schedule. So x_n is never formed by a schedule whose length
//     is known; the driver runs step n-1 once more if the seed is a function of x_n.
//   - x_0 starts in hand and takes a slot like any other state when it is saved; the state in hand takes none.
// This is Griewank & Walther's convention ("Algorithm 799: revolve", 2000): t(n,s) = r n - C(s+r, s+1), where r is the
// least number with C(s+r, s) >= n; t(10,3) = 15. Their s counts the slot of x_0. checkpoint_schedules counts the
// forward step that precedes each reversal as well, so its totals for Revolve and Multistage are t(n,s) + n. Mixed
// schedules (`mixed`) have to run a step to obtain the data that reverse it, so there all runs are counted, as in
// Maddison (2024) and that package.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "reprise/base.h"
#include "reprise/checkpoint_errors.h"

namespace reprise::chain {

using reprise::BadRequest;
using reprise::DoesNotFit;
using reprise::OutOfTurn;

/// What a slot holds: the state before a step, or the data from which that step can be reversed without running it.
enum class Content : std::uint8_t { state, data };

// The records. `slot` counts from 0 in each store and stays below StoreUse::slots of the forecast.

/// Run steps from..to-1 on the state in hand: x_from becomes x_to.
struct Advance {
  std::int64_t from, to;
  bool operator==(const Advance&) const = default;
};
/// Run step `step` and keep in hand, beside x_{step+1}, the data that reverse it (mixed schedules only).
struct Record {
  std::int64_t step;
  bool operator==(const Record&) const = default;
};
/// Copy x_step, or the data of step `step`, from the hand into an empty slot.
struct Save {
  std::int64_t step, slot;
  int store;
  Content content;
  bool operator==(const Save&) const = default;
};
/// Bring back what a slot holds; `last` says that the slot is empty afterwards, so that the value can be moved out.
struct Restore {
  std::int64_t step, slot;
  int store;
  Content content;
  bool last;
  bool operator==(const Restore&) const = default;
};
/// Empty a slot without reading it.
struct Drop {
  std::int64_t step, slot;
  int store;
  bool operator==(const Drop&) const = default;
};
/// Reverse step `step` with x_step (or, in mixed schedules, its data) in hand; nothing is in hand afterwards.
struct Reverse {
  std::int64_t step;
  bool operator==(const Reverse&) const = default;
};

using Action = std::variant<Advance, Record, Save, Restore, Drop, Reverse>;

/// "advance 0 to 3", "save x_3 in slot 1 of store 0", ...
REPRISE_API std::string to_string(const Action& action);

/// A place for states. Capacity is in slots where every state has size 1, else in the unit of the sizes (bytes).
/// Costs are finite, and so small that their sum over a whole sweep is finite too; what is not, families refuse.
struct Store {
  std::string name;
  std::int64_t capacity = 0;
  double write_cost = 0;  // of one state, in the unit of the step costs
  double read_cost = 0;
};

/// What a schedule is made for, and what its judge holds it to.
struct Chain {
  std::int64_t steps = 0;                // -1: not known yet
  std::vector<Store> stores;             // `store` of a record indexes these
  std::vector<double> step_costs = {};   // of step i; empty: 1 each
  std::vector<std::int64_t> sizes = {};  // of x_i; empty: `state_size` each
  std::int64_t state_size = 1;
  std::int64_t data_size = 1;  // of a step's data, in mixed schedules
  bool needs_data = false;     // a step is reversed from its data (mixed), not from its state
};

struct StoreUse {
  std::int64_t slots = 0;  // most slots filled at one time
  std::int64_t peak = 0;   // most of the capacity filled at one time
  std::int64_t writes = 0, reads = 0;
  bool operator==(const StoreUse&) const = default;
};

/// What a schedule will do, known before anything runs.
struct Forecast {
  std::int64_t steps = 0;
  std::int64_t advances = 0;  // steps run by Advance
  std::int64_t records = 0;   // steps run by Record
  double cost = 0;            // of all steps run, writes and reads
  double extra = 0;           // cost beyond that of the same sweep with unlimited free memory
  std::vector<StoreUse> stores;
};

class Cursor;

/// A stream of actions, made as it is read. Its own state grows with the logarithm of the slots in use, about 2 KB for
/// each power of 16, and stays below 20 KB for a million; beside it some families have tables (`weighted`, `mixed`,
/// `hierarchical`, `disk_revolve`, `multistage`). The one exception is `online`, which holds some words for each slot:
/// which states it keeps depends on all that has run. Copies go on from where the original stands, and share the
/// tables.
///   for (chain::Schedule s = chain::revolve(10, 3); !s.done();) act(s.next());
/// The last action is always Reverse{0}. Schedules end at 2^40 steps. A schedule of unknown length (`online`,
/// `online_two_level`) gives forward actions, one step at a time, until `finish` is called; then those that reverse
/// what was run.
class REPRISE_API Schedule {
 public:
  Schedule(Chain chain, std::unique_ptr<Cursor> cursor);
  Schedule(const Schedule& other);
  Schedule& operator=(const Schedule& other);
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();

  bool done() const;
  /// The next action; OutOfTurn if there is none left.
  Action next();
  /// What the stream's own state takes now: without the description of the chain and the tables.
  std::int64_t state_bytes() const;
  const Chain& chain() const { return chain_; }
  std::int64_t steps() const { return chain_.steps; }
  bool is_online() const;
  /// Whether an action was read from it, or its run was finished: drivers and the judge want one that is not.
  bool has_begun() const { return has_begun_; }
  /// Ends the forward run after the steps advanced so far; for schedules of unknown length only.
  void finish();
  /// Of the whole schedule, wherever the stream stands. OutOfTurn while the length is unknown.
  Forecast forecast() const;
  /// Of a schedule of unknown length, should it end after `steps` steps.
  Forecast forecast_at(std::int64_t steps) const;

 private:
  Chain chain_;
  std::unique_ptr<Cursor> cursor_;
  std::unique_ptr<Cursor> start_;  // where the stream began, for the forecast
  bool has_begun_ = false;
};

// Simple families: one store, every state of size 1.

/// Keeps every state: no step runs twice.
REPRISE_API Schedule keep_all(std::int64_t steps);
/// Keeps x_0, x_interval, x_2interval, ...; each segment runs once more, kept whole, when its turn to be reversed
/// comes.
REPRISE_API Schedule every(std::int64_t steps, std::int64_t interval);
/// As `every`, with `segments` segments of floor(steps/segments) steps, the last one taking the rest.
REPRISE_API Schedule uniform(std::int64_t steps, std::int64_t segments);
/// As `every`, with intervals of about sqrt(steps): about 2 sqrt(steps) slots, each step run at most twice.
REPRISE_API Schedule sqrt(std::int64_t steps);

/// The fewest advances possible with `slots` slots and, among those, the fewest saves; any number of steps, no tables.
REPRISE_API Schedule revolve(std::int64_t steps, std::int64_t slots);
/// t(n,s), the advances of `revolve`, in closed form. BadRequest if the total passes the largest integer.
REPRISE_API std::int64_t revolve_advances(std::int64_t steps, std::int64_t slots);

struct Weighted {
  std::vector<double> step_costs;   // one per step
  std::vector<std::int64_t> sizes;  // of x_0..x_{n-1}, one per step
  std::int64_t capacity = 0;        // of the one store, in the unit of the sizes
  std::int64_t levels = 1024;       // finest resolution of the capacity: past it, sizes are rounded up
};
/// Unequal costs and sizes, by dynamic programming over (first, last, free capacity): O(n^3 levels) time, O(n^2 levels)
/// memory. With equal sizes the cost is the least possible. With unequal sizes it is optimal among the schedules that
/// keep a saved state until its step is reversed, and for these proved against all of them on small chains; giving one
/// up early and saving it again later can, rarely, be cheaper, and no program of polynomial size is known for that.
/// Where sizes are rounded up to `levels`, all this holds for the rounded sizes.
REPRISE_API Schedule weighted(const Weighted& request);

struct Mixed {
  std::int64_t steps = 0;
  std::int64_t capacity = 0;  // in the unit of the two sizes
  std::int64_t state_size = 1;
  std::int64_t data_size = 1;  // of the data that reverse one step
};
/// A slot holds a state or one step's data, whichever leads to the fewest runs of steps (Maddison 2024, there for equal
/// sizes). O(n^2 capacity) time, O(n capacity) memory; sizes are taken in units of their common divisor.
REPRISE_API Schedule mixed(const Mixed& request);

// Several stores, the fastest first.

/// x_0, x_period, ... go to the second store (as large as need be); each segment is reversed by `revolve` in `slots`
/// slots of the first. A period of 0 stands for the cheapest one.
struct Periodic {
  std::int64_t steps = 0, slots = 0, period = 0;
  double write_cost = 0, read_cost = 0;  // of the second store
};
REPRISE_API Schedule periodic(const Periodic& request);

/// The cheapest schedule for any number of stores (H-Revolve, Herrmann & Pallez 2020): older states in slower stores, a
/// state read from a slow store may move to a faster one. The least cost there is if the first store costs nothing and
/// neither cost falls from one store to the next; else the least among schedules of that shape. O(n^2) time for each
/// slot of a store that is neither free nor unlimited: seconds for 10,000 steps and 100 slots.
REPRISE_API Schedule hierarchical(std::int64_t steps, std::vector<Store> stores);
/// `hierarchical` with free memory of `slots` slots and an unlimited disk (Aupy, Herrmann, Hovland & Robert 2016).
REPRISE_API Schedule disk_revolve(std::int64_t steps, std::int64_t slots, double write_cost, double read_cost);
/// `revolve` in the slots of all stores together, the most used slots in the fastest store (Stumm & Walther 2009): the
/// fewest advances, whatever reading and writing costs. To know which slots are used most it reads revolve's stream
/// once.
REPRISE_API Schedule multistage(std::int64_t steps, std::vector<Store> stores);

// Length unknown until the run ends.

/// Wang, Moin & Iaccarino (2009): wherever the run ends, no step runs oftener than under `revolve` for one step more.
REPRISE_API Schedule online(std::int64_t slots);
/// Every period-th state goes to the second store, which must be as large as the run asks; segments as in `periodic`.
REPRISE_API Schedule online_two_level(std::int64_t period, std::int64_t slots, double write_cost = 0,
                                      double read_cost = 0);

/// What the judge found by simulating the stores after every action.
struct Verdict {
  bool ok = false;
  std::string why;    // the first rule broken, with the action's number
  Forecast measured;  // of what was read of the stream
};
/// Reads actions from `next` until Reverse{0} and proves that every step is reversed once, in order, within the stores'
/// capacities, from what is there. Shares no code with the schedules.
REPRISE_API Verdict judge(const Chain& chain, const std::function<Action()>& next);
/// The whole of a schedule that has not been read from yet, and that its forecast is what it does.
REPRISE_API Verdict judge(Schedule schedule);
/// The same of a schedule of unknown length that is finished after `finish_after` steps.
REPRISE_API Verdict judge(Schedule schedule, std::int64_t finish_after);

}  // namespace reprise::chain
