// SPDX-License-Identifier: Apache-2.0
// A slot holds a state or the data that reverse one step: J. R. Maddison, "Step-based checkpointing with high-level
// algorithmic differentiation", 2024, with sizes of one's own. With x_0 in hand and m of the capacity free, the fewest
// runs of steps that reverse n of them are
//   runs(1, m) = 1,
//   runs(n, m) = min of  1 + runs(n-1, m - data)                             run step 0, save its data, go on from x_1
//                   and  k + runs(n-k, m - state) + runs(k, m), 0 < k < n    save x_0, advance to x_k, come back later.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "checkpoint/min_plus.h"
#include "checkpoint/walker.h"

namespace reprise::chain {
namespace {

struct Table {
  static constexpr bool needs_data = true;
  static constexpr std::int32_t record = 0;
  std::int64_t steps, capacity, state, data;  // in units
  std::vector<std::int32_t> choices;          // [m, n]: how far to advance from a saved state, or `record`
  double runs = 0;                            // of the whole

  std::int32_t choice(const View& view) const {
    std::int64_t room = capacity - view.filled(0) + (view.is_saved() ? state : 0);
    return choices[static_cast<std::size_t>(room * (steps + 1) + view.length())];
  }
  Move move(const View& view) const {
    std::int32_t k = choice(view);
    return {0, view.at + k, k == record};
  }
  bool release(const View& view) const { return choice(view) == record; }
  std::int64_t size(std::int64_t, Content content) const { return content == Content::data ? data : state; }
};

/// The row of capacity m from the rows of m - state and m - data (null where they do not fit).
std::vector<double> solve_row(std::int64_t steps, const double* state, const double* data, std::int32_t* choices) {
  auto n_end = static_cast<std::size_t>(steps) + 1;
  std::vector<double> runs(n_end, never);
  if (n_end > 1) runs[1] = 1;
  MinPlus advance(n_end, 2, state ? state[1] : never);  // p(k) = k + runs(k, m), q(l) = runs(l, m - state)
  for (std::size_t n = 2; n < n_end; ++n) {
    choices[n] = Table::record;
    if (data) runs[n] = 1 + data[n - 1];
    if (state) {
      std::size_t k = advance.best();
      if (advance.value(n, k) < runs[n]) {
        runs[n] = advance.value(n, k);
        choices[n] = static_cast<std::int32_t>(k);
      }
      advance.append(static_cast<double>(n) + runs[n], state[n]);
    }
  }
  return runs;
}

void solve(Table& t) {
  t.choices.assign(static_cast<std::size_t>((t.capacity + 1) * (t.steps + 1)), Table::record);
  std::vector<std::vector<double>> rows;
  for (std::int64_t m = 0; m <= t.capacity; ++m) {
    auto below = [&](std::int64_t size) {
      return m >= size ? rows[static_cast<std::size_t>(m - size)].data() : nullptr;
    };
    rows.push_back(solve_row(t.steps, below(t.state), below(t.data), t.choices.data() + m * (t.steps + 1)));
    if (m >= std::max(t.state, t.data)) rows[static_cast<std::size_t>(m - std::max(t.state, t.data))] = {};
  }
  t.runs = t.steps == 0 ? 0 : rows.back()[static_cast<std::size_t>(t.steps)];
}

void check(const Mixed& r) {
  check_steps("mixed", r.steps);
  if (r.state_size <= 0 || r.data_size <= 0)
    refuse<BadRequest>("[chain] mixed: sizes of {} for a state and {} for a step's data: give sizes above 0",
                       r.state_size, r.data_size);
  if (r.capacity < 0) refuse<BadRequest>("[chain] mixed: a capacity of {}: give one that is not negative", r.capacity);
}

Table in_units(const Mixed& r) {
  std::int64_t unit = std::gcd(r.state_size, r.data_size);
  Table table{
      .steps = r.steps, .capacity = r.capacity / unit, .state = r.state_size / unit, .data = r.data_size / unit};
  // More than all data, or all states, is never filled.
  std::int64_t larger = std::max(table.state, table.data);
  if (r.steps < table.capacity / larger) table.capacity = r.steps * larger;
  return table;
}

}  // namespace

Schedule mixed(const Mixed& request) {
  check(request);
  Table table = in_units(request);
  constexpr double most_entries = 0x1p26;
  double entries = (static_cast<double>(table.capacity) + 1) * static_cast<double>(table.steps + 1);
  if (entries > most_entries)
    refuse<BadRequest>(
        "[chain] mixed: {} steps and a capacity of {} units need a table of {:.0f} entries, more than {:.0f}: "
        "give sizes and capacity in a coarser unit",
        request.steps, table.capacity, entries, most_entries);
  solve(table);
  if (std::isinf(table.runs))
    refuse<DoesNotFit>(
        "[chain] mixed: a capacity of {} holds neither x_0 (size {}) nor the data of all steps but the last "
        "({} of size {}): give at least the smaller",
        request.capacity, request.state_size, request.steps - 1, request.data_size);
  Chain chain{.steps = request.steps,
              .stores = {{.name = "memory", .capacity = request.capacity}},
              .state_size = request.state_size,
              .data_size = request.data_size,
              .needs_data = true};
  return walk(std::move(chain), std::move(table));
}

}  // namespace reprise::chain
