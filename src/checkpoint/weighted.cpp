// SPDX-License-Identifier: Apache-2.0
// Unequal step costs and state sizes, exactly, by dynamic programming. With x_i in hand and m of the capacity free,
//   least(i, j, m) = min over k of  cost(i..k) + least(k, j, m - size_i) + least(i, k, m),   0 if j = i + 1:
// save x_i, advance to k, reverse k..j, come back, reverse i..k. (The chain program of Grimm, Pottier &
// Rostaing-Schmidt 1996 and Walther 1999, with sizes in place of slots.) It never gives a state up before its step is
// reversed, which costs nothing when sizes are equal; when they are not, Beaumont et al. (2019) show chains where
// giving up early is cheaper.
#include <algorithm>
#include <limits>
#include <numeric>

#include "checkpoint/walker.h"

namespace reprise::chain {
namespace {

struct Program {
  static constexpr bool needs_data = false;
  std::int64_t capacity;             // in units
  std::vector<std::int64_t> sizes;   // in units, rounded up
  std::vector<std::int32_t> splits;  // [i, j, m]: the best k, 0 where nothing fits

  std::size_t steps() const { return sizes.size(); }
  std::size_t width() const { return static_cast<std::size_t>(capacity) + 1; }
  /// Where the row of (i, j) begins; i < j <= steps.
  std::size_t row(std::size_t i, std::size_t j) const { return (j * (j - 1) / 2 + i) * width(); }
  std::size_t entries() const { return row(0, steps() + 1); }

  Move move(const View& view) const {
    std::int64_t room = capacity - view.filled(0) + (view.is_saved() ? size(view.at, Content::state) : 0);
    auto cell =
        row(static_cast<std::size_t>(view.at), static_cast<std::size_t>(view.end)) + static_cast<std::size_t>(room);
    return {0, splits[cell]};
  }
  bool release(const View&) const { return false; }
  std::int64_t size(std::int64_t step, Content) const { return sizes[static_cast<std::size_t>(step)]; }
};

/// For one (i, j), tries the split k at every capacity.
void try_split(const Program& p, std::vector<double>& least, std::vector<std::int32_t>& splits, std::size_t i,
               std::size_t j, std::size_t k, double cost) {
  auto size = static_cast<std::size_t>(p.sizes[i]);
  const double* right = least.data() + p.row(k, j);
  const double* left = least.data() + p.row(i, k);
  double* best = least.data() + p.row(i, j);
  std::int32_t* split = splits.data() + p.row(i, j);
  for (std::size_t m = size; m < p.width(); ++m) {
    double total = cost + right[m - size] + left[m];
    if (total < best[m]) {
      best[m] = total;
      split[m] = static_cast<std::int32_t>(k);
    }
  }
}

void solve(Program& p, const std::vector<double>& costs) {
  std::vector<double> least(p.entries(), never);
  p.splits.assign(p.entries(), 0);
  for (std::size_t i = 0; i < p.steps(); ++i) std::fill_n(least.data() + p.row(i, i + 1), p.width(), 0.0);
  for (std::size_t length = 2; length <= p.steps(); ++length) {
    for (std::size_t i = 0; i + length <= p.steps(); ++i) {
      double cost = 0;
      for (std::size_t k = i + 1; k < i + length; ++k)
        try_split(p, least, p.splits, i, i + length, k, cost += costs[k - 1]);
    }
  }
}

/// No step runs oftener than there are steps.
void check_sum(const std::vector<double>& costs) {
  long double sum = 0;
  for (double cost : costs) sum += cost;
  if (sum * static_cast<long double>(costs.size()) <= std::numeric_limits<double>::max()) return;
  refuse<BadRequest>(
      "[chain] weighted: the costs of {} steps sum to {:g}, and when steps run again to more than a number holds: give "
      "costs in a larger unit",
      costs.size(), sum);
}

void check(const Weighted& r) {
  check_steps("weighted", static_cast<std::int64_t>(r.step_costs.size()));
  if (r.step_costs.size() != r.sizes.size())
    refuse<BadRequest>("[chain] weighted: {} step costs and {} sizes: give one of each for every step",
                       r.step_costs.size(), r.sizes.size());
  for (double cost : r.step_costs) check_cost("weighted", "a step's cost", cost);
  check_sum(r.step_costs);
  for (std::size_t i = 0; i < r.sizes.size(); ++i)
    if (r.sizes[i] < 0) refuse<BadRequest>("[chain] weighted: x_{} has size {}: sizes are not negative", i, r.sizes[i]);
  if (r.capacity < 0)
    refuse<BadRequest>("[chain] weighted: a capacity of {}: give one that is not negative", r.capacity);
  if (r.levels <= 0) refuse<BadRequest>("[chain] weighted: {} levels: give at least 1", r.levels);
}

/// Sizes and capacity in the largest unit that loses nothing, or in capacity / levels if that unit is finer.
Program in_units(const Weighted& r) {
  std::int64_t unit = 0, total = 0;
  for (std::int64_t size : r.sizes) {
    unit = std::gcd(unit, size);
    total = size > std::numeric_limits<std::int64_t>::max() - total ? std::numeric_limits<std::int64_t>::max()
                                                                    : total + size;
  }
  std::int64_t useful = std::min(r.capacity, total);
  unit = std::max<std::int64_t>(unit, 1);
  if (useful / unit > r.levels) unit = useful / r.levels + (useful % r.levels != 0);
  Program program{.capacity = useful / unit};
  for (std::int64_t size : r.sizes) program.sizes.push_back(size / unit + (size % unit != 0));
  return program;
}

}  // namespace

Schedule weighted(const Weighted& request) {
  check(request);
  auto steps = static_cast<std::int64_t>(request.sizes.size());
  Program program = in_units(request);
  if (steps >= 2 && program.sizes[0] > program.capacity)
    refuse<DoesNotFit>(
        "[chain] weighted: x_0 has size {} and the capacity is {}: x_0 has to be kept, so give at least its size",
        request.sizes[0], request.capacity);
  constexpr double most_entries = 0x1p25;
  double entries =
      static_cast<double>(steps) * static_cast<double>(steps + 1) / 2 * static_cast<double>(program.width());
  if (entries > most_entries)
    refuse<BadRequest>(
        "[chain] weighted: {} steps at {} levels of capacity need a table of {:.0f} entries, more than {:.0f}: "
        "give fewer levels or join steps",
        steps, program.width(), entries, most_entries);
  for (std::int64_t& size : program.sizes) size = std::min(size, program.capacity + 1);
  solve(program, request.step_costs);
  Chain chain{.steps = steps,
              .stores = {{.name = "memory", .capacity = request.capacity}},
              .step_costs = request.step_costs,
              .sizes = request.sizes};
  return walk(std::move(chain), std::move(program));
}

}  // namespace reprise::chain
