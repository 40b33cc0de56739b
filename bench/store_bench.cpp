// SPDX-License-Identifier: Apache-2.0
// What it costs to keep the states of a reverse sweep on disk: the same sweep with its states in memory, in a file that
// is written behind and read ahead, and in a file with the caller waiting for every byte. Ratios are to the sweep in
// memory.
//   store_bench [steps] [floats per state] [directory]
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "reprise/checkpoint.h"

namespace reprise {
namespace {

using State = std::vector<float>;

// Some tens of operations for each element, as explicit time steppers have; nothing grows or dies out over many steps.
void forward(std::int64_t, State& x) {
  for (float& v : x)
    for (int i = 0; i < 8; ++i) v = v + 0.1f * (1.f - v * v);
}
void backward(std::int64_t, const State& x, State& adjoint) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (int k = 0; k < 16; ++k) adjoint[i] = adjoint[i] * (1.f - 0.2f * (x[i] - 1.f)) + 0.001f;
}

// A disk store without its background work: every put waits for the disk, nothing is read ahead.
struct WaitingStore {
  DiskStore<State> disk;
  void put(std::int64_t slot, const State& state) {
    disk.put(slot, state);
    disk.flush();
  }
  State get(std::int64_t slot) { return disk.get(slot); }
  void drop(std::int64_t slot) { disk.drop(slot); }
};

struct Case {
  chain::Schedule schedule;
  std::int64_t floats;
};

template <class Store>
double seconds(const Case& c, Store& store) {
  State start(static_cast<std::size_t>(c.floats), 1.f), seed = start;
  auto begin = std::chrono::steady_clock::now();
  reverse_sweep(std::move(start), {.schedule = c.schedule}, forward, std::move(seed), backward, store);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The three by turns, and the best of five each: others use the machine too.
void compare(const char* name, const Case& c, const std::string& directory) {
  std::int64_t slots = c.schedule.forecast().stores[0].slots;
  DiskOptions options{.slots = slots, .slot_bytes = c.floats * 4, .directory = directory};
  MemoryStore<State> memory;
  DiskStore<State> disk(options);
  options.read_ahead = 0;
  WaitingStore waiting{DiskStore<State>(options)};
  double in_memory = INFINITY, overlapped = INFINITY, waited = INFINITY;
  for (int repeat = 0; repeat < 5; ++repeat) {
    in_memory = std::min(in_memory, seconds(c, memory));
    overlapped = std::min(overlapped, seconds(c, disk));
    waited = std::min(waited, seconds(c, waiting));
  }
  DiskTraffic traffic = disk.traffic();
  double found = static_cast<double>(traffic.from_memory), read = static_cast<double>(traffic.from_file);
  fmt::print("{:<10} {:>4} slots | in memory {:.3f} s | disk {:.3f} s = x{:.2f} | disk, waiting {:.3f} s = x{:.2f}",
             name, slots, in_memory, overlapped, overlapped / in_memory, waited, waited / in_memory);
  fmt::print(" | {:.0f} % of gets found in memory\n", 100 * found / (found + read));
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  std::int64_t steps = argc > 1 ? std::atoll(argv[1]) : 40, floats = argc > 2 ? std::atoll(argv[2]) : 1 << 18;
  std::string directory = argc > 3 ? argv[3] : "";
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  fmt::print("{} steps, {} a state\n", steps, reprise::format_bytes(floats * 4));
  reprise::compare("keep all", {reprise::chain::keep_all(steps), floats}, directory);
  reprise::compare("sqrt", {reprise::chain::sqrt(steps), floats}, directory);
  reprise::compare("revolve", {reprise::chain::revolve(steps, 10), floats}, directory);
}
