// SPDX-License-Identifier: Apache-2.0
// The C++ of docs/checkpointing.md, run: every way of sweeping gives the same sensitivity.
// test:
#include <reprise/checkpoint.h>

#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

using Wave = std::vector<double>;
Wave leapfrog(std::int64_t step, const Wave& w);
Wave leapfrog_adjoint(std::int64_t step, const Wave& w, const Wave& after);
Wave seed(const Wave& last);

Wave sensitivity(const Wave& start) {
  return reprise::reverse_sweep(start, {.steps = 10'000, .snapshots = 24}, leapfrog, seed, leapfrog_adjoint);
}

Wave within_a_budget(const Wave& start) {
  reprise::SweepOptions options{.steps = 1000, .budget = 64'000, .state_bytes = 8 * 100};
  options.progress = [](const reprise::SweepProgress& p) {
    if (p.reversed % 100 == 0) std::clog << p.advances << " of " << p.advances_total << " advances\n";
  };
  options.check_determinism = true;  // while debugging: each step runs twice, the first that differs is named
  return reprise::reverse_sweep(start, options, leapfrog, seed, leapfrog_adjoint);
}

Wave until_quiet(const Wave& start) {
  auto more = [](std::int64_t step, const Wave& w) { return step < 500 && std::abs(w[0]) > 1e-3; };
  return reprise::reverse_sweep_while(start, {.snapshots = 24}, more, leapfrog, seed, leapfrog_adjoint);
}

void print_schedule() {
  for (reprise::chain::Schedule s = reprise::chain::revolve(10, 3); !s.done();)
    std::cout << reprise::chain::to_string(s.next()) << "\n";
}

void compare() {
  reprise::chain::Forecast f = reprise::chain::disk_revolve(1000, 8, 20.0, 15.0).forecast();
  std::cout << f.advances << " advances, " << f.extra << " more than with unlimited memory; " << f.stores[0].slots
            << " slots in memory, " << f.stores[1].writes << " states written to disk\n";
}

Wave in_memory_and_on_disk(const Wave& start) {
  reprise::chain::Schedule schedule = reprise::chain::disk_revolve(1000, 8, 20.0, 15.0);
  reprise::MemoryStore<Wave> memory;
  reprise::DiskStore<Wave> disk(
      {.slots = schedule.forecast().stores[1].slots, .slot_bytes = reprise::stored_bytes(start)});
  return reprise::reverse_sweep(start, {.schedule = schedule}, leapfrog, seed, leapfrog_adjoint, memory, disk);
}

Wave step_by_step(const Wave& start) {
  reprise::Sweep sweep(start, reprise::chain::revolve(1000, 8), leapfrog, seed, leapfrog_adjoint);
  while (!sweep.done()) {
    reprise::chain::Action action = sweep.step();
    if (auto* r = std::get_if<reprise::chain::Reverse>(&action); r && r->step % 100 == 0)
      std::clog << "at step " << r->step << "\n";
  }
  return sweep.result();
}

// A ring of pendulums: [angle and speed of each].
constexpr std::size_t pendulums = 50;
constexpr double dt = 0.01;

Wave leapfrog(std::int64_t, const Wave& w) {
  Wave next = w;
  for (std::size_t i = 0; i < pendulums; ++i) {
    double left = w[(i + pendulums - 1) % pendulums], right = w[(i + 1) % pendulums];
    next[pendulums + i] += dt * (left + right - 2 * w[i] - std::sin(w[i]));
  }
  for (std::size_t i = 0; i < pendulums; ++i) next[i] += dt * next[pendulums + i];
  return next;
}

Wave leapfrog_adjoint(std::int64_t, const Wave& w, const Wave& after) {
  Wave before = after;
  for (std::size_t i = 0; i < pendulums; ++i) before[pendulums + i] += dt * after[i];
  for (std::size_t i = 0; i < pendulums; ++i) {
    double a = dt * before[pendulums + i];
    before[(i + pendulums - 1) % pendulums] += a;
    before[(i + 1) % pendulums] += a;
    before[i] -= a * (2 + std::cos(w[i]));
  }
  return before;
}

// Of half the squared angles.
Wave seed(const Wave& last) {
  Wave a = last;
  for (std::size_t i = pendulums; i < 2 * pendulums; ++i) a[i] = 0;
  return a;
}

double loss(Wave w, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) w = leapfrog(i, w);
  double sum = 0;
  for (std::size_t i = 0; i < pendulums; ++i) sum += w[i] * w[i] / 2;
  return sum;
}

int main() {
  Wave start(2 * pendulums);
  for (std::size_t i = 0; i < pendulums; ++i)
    start[i] = std::sin(2 * std::numbers::pi * static_cast<double>(i) / pendulums) + 0.5;
  print_schedule();
  compare();

  Wave expected =
      reprise::reverse_sweep(start, {.schedule = reprise::chain::keep_all(1000)}, leapfrog, seed, leapfrog_adjoint);
  bool same =
      within_a_budget(start) == expected && in_memory_and_on_disk(start) == expected && step_by_step(start) == expected;
  Wave up = start, down = start;
  up[3] += 1e-6, down[3] -= 1e-6;
  double error = (loss(up, 1000) - loss(down, 1000)) / 2e-6 - expected[3];
  std::cout << "equal to keeping all, bit for bit: " << (same ? "yes" : "NO") << "; finite differences differ by "
            << error << "\n"
            << "after 10,000 steps " << sensitivity(start)[3] << ", until quiet " << until_quiet(start)[3] << "\n";
  return same && std::abs(error) < 1e-6 ? 0 : 1;
}
