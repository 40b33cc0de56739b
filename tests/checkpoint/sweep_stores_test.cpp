// SPDX-License-Identifier: Apache-2.0
// The reverse sweep over each store: lossless ones change no bit, lossy ones say how much they did, and a disk that
// fails in the middle is an error that leaves everything in order.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/disk_faults.h"
#include "checkpoint/messages.h"
#include "reprise/checkpoint.h"

namespace reprise::sweep_stores {
namespace {

using State = std::vector<double>;
constexpr std::int64_t steps = 60, width = 600, state_bytes = width * 8, slot_stride = 8192;

State forward(std::int64_t step, const State& x) {
  State y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = std::sin(1.3 * x[i]) + 0.4 * x[(i + 1) % x.size()] + 0.01 * static_cast<double>(step);
  return y;
}
State backward(std::int64_t, const State& x, const State& after) {
  State before(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    before[i] += 1.3 * std::cos(1.3 * x[i]) * after[i];
    before[(i + 1) % x.size()] += 0.4 * after[i];
  }
  return before;
}

State start() {
  State x(width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
  return x;
}
const State seed(width, 1.0);

const State& plain_gradient() {
  static const State gradient = [] {
    std::vector<State> states{start()};
    for (std::int64_t i = 0; i < steps; ++i) states.push_back(forward(i, states.back()));
    State a = seed;
    for (std::int64_t i = steps; i-- > 0;) a = backward(i, states[static_cast<std::size_t>(i)], a);
    return a;
  }();
  return gradient;
}

std::vector<chain::Schedule> one_store_schedules() {
  return {chain::keep_all(steps), chain::every(steps, 7), chain::sqrt(steps), chain::revolve(steps, 3),
          chain::revolve(steps, 9)};
}

template <class Store>
void expect_plain_gradient(Store&& store) {
  for (const chain::Schedule& schedule : one_store_schedules()) {
    EXPECT_EQ(reverse_sweep(start(), {.schedule = schedule}, forward, seed, backward, store), plain_gradient());
    EXPECT_EQ(store.bytes_held(), 0);  // a sweep drops all that it kept
    EXPECT_EQ(store.largest_error(), 0);
  }
}

TEST(SweepOverStores, LosslessStoresChangeNoBitUnderAnySchedule) {
  expect_plain_gradient(MemoryStore<State>());
  expect_plain_gradient(EncodedStore<State>({.encoding = Encoding::plain}));
  expect_plain_gradient(EncodedStore<State>({.encoding = Encoding::zstd}));
  for (std::int64_t read_ahead : {0, 1, 4})
    expect_plain_gradient(DiskStore<State>({.slots = steps, .slot_bytes = state_bytes, .read_ahead = read_ahead}));
  expect_plain_gradient(
      DiskStore<State>({.slots = steps, .slot_bytes = state_bytes, .encoding = {.encoding = Encoding::zstd}}));
}

TEST(SweepOverStores, MemoryAndDiskTogetherChangeNoBit) {
  for (const chain::Schedule& schedule : {chain::multistage(steps, {{"memory", 3}, {"disk", 5, 4, 4}}),
                                          chain::hierarchical(steps, {{"memory", 2}, {"disk", 6, 2, 2}})}) {
    MemoryStore<State> memory;
    DiskStore<State> disk({.slots = 6, .slot_bytes = state_bytes});
    EXPECT_EQ(reverse_sweep(start(), {.schedule = schedule}, forward, seed, backward, memory, disk), plain_gradient());
    EXPECT_GT(disk.traffic().writes, 0);
    EXPECT_EQ(disk.bytes_held(), 0);
  }
}

TEST(SweepOverStores, LossyStoresStayCloseAndReportWhatTheyRounded) {
  for (auto [encoding, tolerance] : {std::pair{Encoding::f16, 1e-2}, {Encoding::bf16, 1e-1}, {Encoding::int8, 1e-1}}) {
    EncodedStore<State> store({.encoding = encoding});
    auto sweep = [&](auto&... stores) {  // few steps: this chain is chaotic
      return reverse_sweep(start(), {.steps = 6, .snapshots = 3}, forward, seed, backward, stores...);
    };
    State exact = sweep(), rounded = sweep(store);
    double scale = 0, difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      scale = std::max(scale, std::abs(exact[i]));
      difference = std::max(difference, std::abs(exact[i] - rounded[i]));
    }
    EXPECT_GT(store.largest_error(), 0);
    EXPECT_LT(store.largest_error(), tolerance);
    EXPECT_LT(difference, 3 * tolerance * scale);
  }
}

TEST(SweepOverStores, ADiskThatFillsUpInTheMiddleIsAnErrorAndTheStoreCanBeUsedAgain) {
  Parent parent;
  {
    DiskStore<State> store({.slots = 20, .slot_bytes = state_bytes, .directory = parent.path});
    State mine = start();
    SweepOptions options{.steps = steps, .snapshots = 20};
    for (rlim_t room :
         {rlim_t{0}, rlim_t{5 * slot_stride}, rlim_t{5 * slot_stride + 1000}}) {  // the last: a short write
      FileSizeLimit limit(room);
      EXPECT_THROW(reverse_sweep(mine, options, forward, seed, backward, store), StoreFailed);
      for (std::int64_t slot = 0; slot < 20; ++slot) store.drop(slot);
      while (message([&] { store.flush(); }) != "(no error)") continue;  // what the sweep did not stay to hear
      EXPECT_EQ(store.bytes_held(), 0);
    }
    EXPECT_EQ(mine, start());
    EXPECT_EQ(reverse_sweep(mine, options, forward, seed, backward, store), plain_gradient());
  }
  EXPECT_TRUE(parent.is_empty());
}

TEST(SweepOverStores, AFileThatChangesInTheMiddleIsAnErrorAndNeverAWrongGradient) {
  DiskStore<State> store({.slots = steps, .slot_bytes = state_bytes, .read_ahead = 1});
  auto damaging = [&](std::int64_t step, const State& x, const State& after) {
    if (step == 30) corrupt(store.directory(), 10 * slot_stride + 77);
    return backward(step, x, after);
  };
  std::int64_t reversed = 0;
  SweepOptions options{.schedule = chain::keep_all(steps),
                       .progress = [&](const SweepProgress& p) { reversed = p.reversed; }};
  try {
    reverse_sweep(start(), options, forward, seed, damaging, store);
    FAIL() << "the corrupted state was used";
  } catch (const StoreCorrupted& e) {
    EXPECT_EQ(e.slot, 10);
    EXPECT_EQ(reversed, steps - 11);
  }
}

TEST(SweepOverStores, AnExceptionOfTheStepRemovesTheFiles) {
  Parent parent;
  auto run = [&] {
    DiskStore<State> store({.slots = 5, .slot_bytes = state_bytes, .directory = parent.path});
    auto bad = [](std::int64_t step, const State& x) {
      return step == 40 ? throw std::range_error("step 40") : forward(step, x);
    };
    reverse_sweep(start(), {.steps = steps, .snapshots = 5}, bad, seed, backward, store);
  };
  EXPECT_THROW(run(), std::range_error);
  EXPECT_TRUE(parent.is_empty());
}

}  // namespace
}  // namespace reprise::sweep_stores
