// SPDX-License-Identifier: Apache-2.0
// The first half of docs/checkpointing.md, as it stands there, and run: every way of sweeping gives the same result.
// test:
#include <reprise/checkpoint.h>

#include <cmath>
#include <iostream>
#include <vector>

using State = std::vector<double>;  // of a pendulum: its angle and its speed

State leapfrog(std::int64_t, const State& x) {
  double speed = x[1] - 0.01 * std::sin(x[0]);
  return {x[0] + 0.01 * speed, speed};
}
State leapfrog_adjoint(std::int64_t, const State& x, const State& after) {
  double speed = after[1] + 0.01 * after[0];
  return {after[0] - 0.01 * std::cos(x[0]) * speed, speed};
}
State seed(const State& last) { return {last[0], 0}; }  // of half the squared angle

State sensitivity(const State& start) {
  return reprise::reverse_sweep(start, {.steps = 10'000, .snapshots = 24}, leapfrog, seed, leapfrog_adjoint);
}

State within_a_budget(const State& start) {
  reprise::SweepOptions options{.steps = 1000, .budget = 1024, .state_bytes = reprise::stored_bytes(start)};
  options.progress = [shown = 0.0](const reprise::SweepProgress& p) mutable {
    if (p.fraction() < shown) return;
    std::clog << std::round(100 * p.fraction()) << " %\n";
    shown += 0.25;
  };
  options.check_determinism = true;  // while debugging: each step runs twice, the first that differs is named
  return reprise::reverse_sweep(start, options, leapfrog, seed, leapfrog_adjoint);
}

State until_it_hangs_straight(const State& start) {
  auto more = [](std::int64_t step, const State& x) { return step < 500 && x[0] > 0; };
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

State in_memory_and_on_disk(const State& start) {
  reprise::chain::Schedule schedule = reprise::chain::disk_revolve(1000, 8, 20.0, 15.0);
  reprise::MemoryStore<State> memory;
  reprise::DiskStore<State> disk(
      {.slots = schedule.forecast().stores[1].slots, .slot_bytes = reprise::stored_bytes(start)});
  return reprise::reverse_sweep(start, {.schedule = schedule}, leapfrog, seed, leapfrog_adjoint, memory, disk);
}

State step_by_step(const State& start) {
  reprise::Sweep sweep(start, reprise::chain::revolve(1000, 8), leapfrog, seed, leapfrog_adjoint);
  while (!sweep.done()) {
    reprise::chain::Action action = sweep.step();
    if (auto* r = std::get_if<reprise::chain::Reverse>(&action); r && r->step % 100 == 0)
      std::clog << "at step " << r->step << "\n";
  }
  return sweep.result();
}

int main() {
  const State start{1, 0};
  print_schedule();
  compare();

  State expected =
      reprise::reverse_sweep(start, {.schedule = reprise::chain::keep_all(1000)}, leapfrog, seed, leapfrog_adjoint);
  bool same =
      within_a_budget(start) == expected && in_memory_and_on_disk(start) == expected && step_by_step(start) == expected;
  auto loss = [](double angle) {
    State x{angle, 0};
    for (std::int64_t i = 0; i < 1000; ++i) x = leapfrog(i, x);
    return x[0] * x[0] / 2;
  };
  double error = (loss(start[0] + 1e-6) - loss(start[0] - 1e-6)) / 2e-6 - expected[0];
  std::cout << "equal to keeping all, bit for bit: " << (same ? "yes" : "NO") << "; finite differences differ by "
            << error << "\n"
            << "after 10,000 steps " << sensitivity(start)[0] << ", until it hangs straight "
            << until_it_hangs_straight(start)[0] << "\n";
  return same && std::abs(error) < 1e-6 ? 0 : 1;
}
