// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules: factors over steps.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reprise/optim.h"

namespace reprise::optim {
namespace {

void positive(std::string_view who, std::int64_t steps) {
  if (steps <= 0) fail("[{}] {} steps: it takes at least one", who, steps);
}

// Half a cosine from `from` at share 0 to `to` at share 1.
double bend(double from, double to, double share) { return to + (from - to) * (1 + std::cos(M_PI * share)) / 2; }

double share_of(std::int64_t step, std::int64_t steps) {
  return std::min(1.0, static_cast<double>(step) / static_cast<double>(steps));
}

}  // namespace

Schedule constant() {
  return [](std::int64_t) { return 1.0; };
}

Schedule step_decay(std::int64_t every, double factor) {
  positive("step_decay", every);
  return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

Schedule multistep(std::vector<std::int64_t> at, double factor) {
  std::ranges::sort(at);
  return [=](std::int64_t step) {
    return std::pow(factor, static_cast<double>(std::ranges::upper_bound(at, step) - at.begin()));
  };
}

Schedule exponential(double factor) {
  return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step)); };
}

Schedule cosine(std::int64_t steps, double floor) {
  positive("cosine", steps);
  return [=](std::int64_t step) { return bend(1, floor, share_of(step, steps)); };
}

Schedule cosine_restarts(std::int64_t first_period, std::int64_t longer, double floor) {
  positive("cosine_restarts", first_period);
  positive("cosine_restarts", longer);
  return [=](std::int64_t step) {
    std::int64_t period = first_period;
    for (; step >= period; period *= longer) step -= period;
    return bend(1, floor, share_of(step, period));
  };
}

Schedule warm_up(std::int64_t steps, Schedule then, double start) {
  positive("warm_up", steps);
  return [=, then = std::move(then)](std::int64_t step) {
    if (step >= steps) return then(step - steps);
    return start + (1 - start) * share_of(step, steps);
  };
}

Schedule one_cycle(std::int64_t steps, double warm_share, double start, double end) {
  positive("one_cycle", steps);
  auto top = static_cast<std::int64_t>(std::llround(warm_share * static_cast<double>(steps)));
  return [=](std::int64_t step) {
    if (step < top) return bend(start, 1, share_of(step, top));
    return bend(1, end, share_of(step - top, std::max<std::int64_t>(1, steps - top)));
  };
}

Schedule polynomial(std::int64_t steps, double power, double floor) {
  positive("polynomial", steps);
  return [=](std::int64_t step) { return floor + (1 - floor) * std::pow(1 - share_of(step, steps), power); };
}

Schedule cyclic(double low, std::int64_t up, std::int64_t down) {
  positive("cyclic", up);
  positive("cyclic", down);
  return [=](std::int64_t step) {
    std::int64_t at = step % (up + down);
    double share = at < up ? share_of(at, up) : 1 - share_of(at - up, down);
    return low + (1 - low) * share;
  };
}

double Plateau::observe(double measure) {
  bool better = bad_ < 0 || measure < best_ * (1 - options_.threshold);
  if (better) best_ = measure;
  bad_ = better ? 0 : bad_ + 1;
  if (bad_ > options_.patience) {
    factor_ = std::max(options_.floor, factor_ * options_.factor);
    bad_ = 0;
  }
  return factor_;
}

}  // namespace reprise::optim
