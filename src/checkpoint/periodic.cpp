// SPDX-License-Identifier: Apache-2.0
// Periodic schedules over two stores (J. Herrmann, "Periodicity in optimal hierarchical checkpointing schemes for
// adjoint computations", 2021, shows that the best unlimited ones are periodic but for their ends).
#include <algorithm>

#include "checkpoint/two_level.h"

namespace reprise::chain {
namespace {

double cost_of(const Periodic& r, std::int64_t period) {
  std::int64_t full = (r.steps - 1) / period;  // segments before the last
  auto cost = static_cast<double>(least_advances(r.steps - full * period, r.slots));
  double each = static_cast<double>(period) + static_cast<double>(least_advances(period, r.slots));
  return cost + static_cast<double>(full) * (each + r.write_cost + r.read_cost);
}

/// Tries every period up to 4096 and, beyond, a grid as fine as a part in 4096.
std::int64_t cheapest_period(const Periodic& r) {
  std::int64_t best = r.steps;
  double least = cost_of(r, best);
  for (std::int64_t period = 1; period < r.steps; period += 1 + period / 4096) {
    double cost = cost_of(r, period);
    if (cost >= least) continue;
    least = cost;
    best = period;
  }
  return best;
}

}  // namespace

Chain two_level_chain(std::int64_t steps, const TwoLevel& policy, double write_cost, double read_cost) {
  std::int64_t outer = steps < 0 ? most_steps : std::max<std::int64_t>((steps - 1) / policy.period, 0);
  return {.steps = steps,
          .stores = {{.name = "memory", .capacity = policy.slots},
                     {.name = "disk", .capacity = outer, .write_cost = write_cost, .read_cost = read_cost}}};
}

Schedule periodic(const Periodic& request) {
  check_steps("periodic", request.steps);
  check_slots("periodic", request.slots);
  check_cost("periodic", "the write cost", request.write_cost);
  check_cost("periodic", "the read cost", request.read_cost);
  check_traffic("periodic", request.steps, request.write_cost, request.read_cost);
  if (request.period < 0) refuse<BadRequest>("[chain] periodic: a period of {}: give 0 or more", request.period);
  std::int64_t period = request.period > 0 ? request.period : request.steps == 0 ? 1 : cheapest_period(request);
  TwoLevel policy{period, request.slots};
  return walk(two_level_chain(request.steps, policy, request.write_cost, request.read_cost), policy);
}

}  // namespace reprise::chain
