// SPDX-License-Identifier: Apache-2.0
// What a schedule of a million steps in 50 slots costs by itself: time per action, and the most memory it takes; then
// the same with more and more slots, to see that its memory grows with their logarithm.
//   chain_bench [steps] [slots]
#include <fmt/core.h>

#include <malloc.h>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <string>

#include "reprise/chain.h"

namespace {

std::size_t held_bytes = 0, peak_bytes = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (!memory) throw std::bad_alloc();
  peak_bytes = std::max(peak_bytes, held_bytes += malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  held_bytes -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

/// Walks as a driver does: looks at each action and follows where the chain stands.
struct Walk {
  std::int64_t actions = 0, advances = 0, reversed = 0, at = 0;
  void operator()(const chain::Advance& a) {
    advances += a.to - a.from;
    at = a.to;
  }
  void operator()(const chain::Restore& a) { at = a.step; }
  void operator()(const chain::Reverse&) { ++reversed; }
  template <class Other>
  void operator()(const Other&) {}
};

void measure(const std::string& name, chain::Schedule schedule) {
  std::size_t before = held_bytes;
  peak_bytes = held_bytes;
  auto begin = Clock::now();
  Walk walk;
  for (; !schedule.done(); ++walk.actions) std::visit(walk, schedule.next());
  std::chrono::duration<double, std::nano> time = Clock::now() - begin;
  fmt::print("{:<21} {:>8} actions {:>8} advances {:>6.1f} ns per action {:>6} bytes more while walking\n", name,
             walk.actions, walk.advances, time.count() / static_cast<double>(walk.actions), peak_bytes - before);
}

void forecast_time(const chain::Schedule& schedule) {
  auto begin = Clock::now();
  chain::Forecast forecast = schedule.forecast();
  std::chrono::duration<double, std::nano> time = Clock::now() - begin;
  fmt::print("revolve's forecast in closed form: {} advances, {} writes, {:.0f} ns\n", forecast.advances,
             forecast.stores[0].writes, time.count());
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 1'000'000, slots = argc > 2 ? std::atoll(argv[2]) : 50;
  std::size_t before = held_bytes;
  peak_bytes = held_bytes;
  reprise::chain::Schedule schedule = reprise::chain::revolve(steps, slots);
  reprise::measure("revolve", schedule);
  fmt::print("                      all told, made and walked: {} bytes at most\n", peak_bytes - before);
  reprise::forecast_time(schedule);
  for (std::int64_t more : {std::int64_t{1'000}, steps / 2})
    reprise::measure(fmt::format("revolve, {} slots", more), reprise::chain::revolve(steps, more));
  reprise::measure("keep_all", reprise::chain::keep_all(steps));
  reprise::measure("sqrt", reprise::chain::sqrt(steps));
  reprise::measure("periodic",
                   reprise::chain::periodic({.steps = steps, .slots = slots, .write_cost = 20, .read_cost = 20}));
  reprise::measure("multistage",
                   reprise::chain::multistage(steps, {{"memory", slots / 2}, {"disk", slots - slots / 2}}));
}
