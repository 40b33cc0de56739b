// SPDX-License-Identifier: Apache-2.0
// The offline optimum for equal costs: A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26(1), 2000. The
// fewest advances and, among schedules with those, the fewest saves; every choice is a few binomial coefficients.
#include "checkpoint/revolve.h"

#include <algorithm>
#include <limits>

namespace reprise::chain {
namespace {

struct Offline : RevolvePolicy {
  /// Each reversal but the first begins with one read.
  Forecast closed_form(std::int64_t steps) const {
    Forecast f;
    f.steps = steps;
    f.advances = revolve_advances(steps, slots);
    f.cost = static_cast<double>(f.advances);
    std::int64_t most = std::max<std::int64_t>(steps - 1, 0);
    f.extra = f.cost - static_cast<double>(most);
    std::int64_t filled = std::min(slots, most);
    f.stores = {{filled, filled, least_saves(steps, slots), most}};
    return f;
  }
};

}  // namespace

Schedule revolve(std::int64_t steps, std::int64_t slots) {
  check_steps("revolve", steps);
  check_slots("revolve", slots);
  return walk({.steps = steps, .stores = {{.name = "memory", .capacity = slots}}}, Offline{{slots}});
}

std::int64_t revolve_advances(std::int64_t steps, std::int64_t slots) {
  check_steps("revolve_advances", steps);
  check_slots("revolve_advances", slots);
  std::int64_t advances = least_advances(steps, slots);
  if (advances == std::numeric_limits<std::int64_t>::max())
    refuse<BadRequest>(
        "[chain] revolve_advances: {} steps in {} slots take more advances than an integer holds: give more slots",
        steps, slots);
  return advances;
}

}  // namespace reprise::chain
