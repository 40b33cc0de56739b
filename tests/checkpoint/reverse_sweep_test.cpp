// SPDX-License-Identifier: Apache-2.0
#include "reprise/reverse_sweep.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/mixed_sweep.h"
#include "reprise/stores.h"

namespace reprise {
namespace {

using Vector = std::vector<double>;

// A chaotic little chain: any state mixed up, or any step run in the wrong order, changes every bit of the gradient.
Vector forward(std::int64_t step, const Vector& x) {
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = std::sin(1.7 * x[i]) + 0.5 * x[(i + 1) % x.size()] + 0.01 * static_cast<double>(step);
  return y;
}
Vector backward(std::int64_t, const Vector& x, const Vector& after) {
  Vector before(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    before[i] += 1.7 * std::cos(1.7 * x[i]) * after[i];
    before[(i + 1) % x.size()] += 0.5 * after[i];
  }
  return before;
}
Vector seed(const Vector& last) {
  Vector a(last.size());
  for (std::size_t i = 0; i < last.size(); ++i) a[i] = 2 * last[i];
  return a;
}
const Vector start = {0.3, -0.8, 0.55};

// The plain sweep: every state kept.
Vector plain_gradient(std::int64_t steps) {
  std::vector<Vector> states = {start};
  for (std::int64_t i = 0; i < steps; ++i) states.push_back(forward(i, states.back()));
  Vector a = seed(states.back());
  for (std::int64_t i = steps - 1; i >= 0; --i) a = backward(i, states[static_cast<std::size_t>(i)], a);
  return a;
}

TEST(ReverseSweep, EqualsThePlainSweepBitForBitWhateverTheSnapshots) {
  for (std::int64_t steps : {0, 1, 2, 3, 10, 47, 200})
    for (std::int64_t snapshots : {1, 2, 3, 7, 250})
      EXPECT_EQ(reverse_sweep(start, {.steps = steps, .snapshots = snapshots}, forward, seed, backward),
                plain_gradient(steps))
          << steps << " steps, " << snapshots << " snapshots";
}

TEST(ReverseSweep, EqualsThePlainSweepBitForBitUnderEverySchedule) {
  constexpr std::int64_t n = 61;
  chain::Weighted weights{std::vector<double>(n, 1), std::vector<std::int64_t>(n, 24), 24 * 5};
  for (std::size_t i = 0; i < n; ++i) weights.step_costs[i] = static_cast<double>(1 + i % 7);
  for (const chain::Schedule& schedule :
       {chain::keep_all(n), chain::every(n, 8), chain::uniform(n, 5), chain::sqrt(n), chain::revolve(n, 4),
        chain::weighted(weights), chain::periodic({.steps = n, .slots = 3, .period = 10}),
        chain::disk_revolve(n, 3, 2, 2), chain::hierarchical(n, {{"memory", 2}, {"ssd", 2, 1, 1}, {"disk", 3, 4, 4}}),
        chain::multistage(n, {{"memory", 2}, {"disk", 3, 4, 4}})})
    EXPECT_EQ(reverse_sweep(start, {.schedule = schedule}, forward, seed, backward), plain_gradient(n));
}

TEST(ReverseSweep, EqualsThePlainSweepWhenTheLengthIsUnknown) {
  for (std::int64_t steps : {0, 1, 2, 13, 100}) {
    auto more = [steps](std::int64_t step, const Vector&) { return step < steps; };
    EXPECT_EQ(reverse_sweep_while(start, {.snapshots = 4}, more, forward, seed, backward), plain_gradient(steps));
    EXPECT_EQ(reverse_sweep_while(start, {.schedule = chain::online_two_level(9, 3)}, more, forward, seed, backward),
              plain_gradient(steps));
  }
}

TEST(ReverseSweep, EqualsThePlainSweepUnderMixedSchedules) {
  auto record = [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); };
  for (std::int64_t steps : {0, 1, 2, 30, 77})
    for (std::int64_t capacity : {3, 5, 12, 500}) {
      chain::Schedule schedule = chain::mixed({.steps = steps, .capacity = capacity, .state_size = 3, .data_size = 2});
      EXPECT_EQ(mixed_sweep(start, schedule, forward, record, seed, backward), plain_gradient(steps));
    }
}

TEST(ReverseSweep, TakesFunctionsOfManyForms) {
  auto next = [](double x) { return x * x; };                    // by value, without the step
  auto next_in_place = [](std::int64_t, double& x) { x *= x; };  // in place
  auto next_in_place_alone = [](double& x) { x *= x; };
  auto reverse = [](std::int64_t, double x, double a) { return 2 * x * a; };
  auto reverse_alone = [](double x, double a) { return 2 * x * a; };
  auto reverse_in_place = [](std::int64_t, double x, double& a) { a *= 2 * x; };
  auto one = [](double) { return 1.0; };
  SweepOptions options{.steps = 3, .snapshots = 2};
  double expected = 8 * std::pow(1.5, 7);  // d x^8 / dx
  EXPECT_DOUBLE_EQ(reverse_sweep(1.5, options, next, one, reverse), expected);
  EXPECT_DOUBLE_EQ(reverse_sweep(1.5, options, next_in_place, one, reverse_alone), expected);
  EXPECT_DOUBLE_EQ(reverse_sweep(1.5, options, next_in_place_alone, 1.0, reverse_in_place), expected);
}

// Counts its copies.
struct Counted {
  double value = 0;
  std::int64_t* copies = nullptr;
  Counted(double v, std::int64_t* c) : value(v), copies(c) {}
  Counted(const Counted& other) : value(other.value), copies(other.copies) { ++*copies; }
  Counted(Counted&&) = default;
  Counted& operator=(const Counted& other) { return *this = Counted(other); }
  Counted& operator=(Counted&&) = default;
};

TEST(ReverseSweep, CopiesOnlyWhereASnapshotIsSavedOrStaysSaved) {
  std::int64_t copies = 0, stay = 0;
  chain::Schedule schedule = chain::revolve(50, 4);
  for (chain::Schedule s = schedule; !s.done();) {
    chain::Action action = s.next();
    if (auto* restore = std::get_if<chain::Restore>(&action)) stay += !restore->last;
  }
  auto next = [](const Counted& x) { return Counted(x.value * 1.01, x.copies); };
  auto last = [](const Counted& x) { return x.value; };
  auto reverse = [](const Counted&, double a) { return a * 1.01; };
  reverse_sweep(Counted(1, &copies), {.schedule = schedule}, next, last, reverse);
  EXPECT_EQ(copies, schedule.forecast().stores[0].writes + stay);
}

// Keeps what it needs to rebuild a value that cannot be copied.
struct PointerStore {
  std::map<std::int64_t, double> values;
  void put(std::int64_t slot, const std::unique_ptr<double>& x) { values[slot] = *x; }
  std::unique_ptr<double> get(std::int64_t slot) { return std::make_unique<double>(values.at(slot)); }
  void drop(std::int64_t slot) { values.erase(slot); }
};

TEST(ReverseSweep, TakesStatesThatOnlyMoveWithAStoreThatKnowsThem) {
  PointerStore store;
  auto next = [](std::int64_t, std::unique_ptr<double> x) {
    *x *= *x;
    return x;
  };
  auto reverse = [](const std::unique_ptr<double>& x, double a) { return 2 * *x * a; };
  double gradient =
      reverse_sweep(std::make_unique<double>(1.5), {.steps = 3, .snapshots = 1}, next, 1.0, reverse, store);
  EXPECT_DOUBLE_EQ(gradient, 8 * std::pow(1.5, 7));
  EXPECT_TRUE(store.values.empty());
}

TEST(ReverseSweep, TakesGenericFunctionsThatWorkInPlaceWithASeedThatIsAFunction) {
  auto square = [](auto& x) { x *= x; };
  auto square_at = [](auto, auto& x) { x *= x; };
  auto reverse = [](const auto& x, auto& a) { a *= 2 * x; };
  auto one = [](const auto&) { return 1.0; };
  SweepOptions options{.steps = 3, .snapshots = 2, .check_determinism = true};
  EXPECT_DOUBLE_EQ(reverse_sweep(1.5, options, square, one, reverse), 8 * std::pow(1.5, 7));
  EXPECT_DOUBLE_EQ(reverse_sweep(1.5, options, square_at, one, reverse), 8 * std::pow(1.5, 7));
}

// A state that only moves, and says how it is saved.
struct Buffer {
  std::unique_ptr<double> value;
  friend bool operator==(const Buffer& a, const Buffer& b) { return *a.value == *b.value; }
};

}  // namespace

template <>
struct Serial<Buffer> {
  static std::span<const std::byte> save(const Buffer& b) { return std::as_bytes(std::span(b.value.get(), 1)); }
  static Buffer load(std::span<const std::byte> bytes) {
    return {std::make_unique<double>(Serial<double>::load(bytes))};
  }
};

namespace {

TEST(ReverseSweep, TakesStatesThatOnlyMoveWithASeedThatIsAFunction) {
  auto square = [](Buffer x) {
    *x.value *= *x.value;
    return x;
  };
  auto one = [](const Buffer&) { return 1.0; };
  auto reverse = [](const Buffer& x, double a) { return 2 * *x.value * a; };
  for (bool check : {false, true}) {
    EncodedStore<Buffer> store({.encoding = Encoding::zstd});
    SweepOptions options{.steps = 3, .snapshots = 1, .check_determinism = check};
    double gradient = reverse_sweep(Buffer{std::make_unique<double>(1.5)}, options, square, one, reverse, store);
    EXPECT_DOUBLE_EQ(gradient, 8 * std::pow(1.5, 7));
  }
}

TEST(ReverseSweep, MixedSweepsTakeFunctionsOfAllFormsToo) {
  auto square = [](double& x) { x *= x; };
  auto record = [](std::int64_t, double x) { return std::pair(x * x, x); };
  auto reverse = [](double x, double& a) { a *= 2 * x; };
  chain::Schedule schedule = chain::mixed({.steps = 3, .capacity = 2});
  EXPECT_DOUBLE_EQ(mixed_sweep(1.5, schedule, square, record, 1.0, reverse), 8 * std::pow(1.5, 7));
}

TEST(ReverseSweep, UsesSeveralStoresInTheSchedulesOrder) {
  MemoryStore<Vector> memory;
  DiskStore<Vector> disk({.slots = 20, .slot_bytes = stored_bytes(start)});
  chain::Schedule schedule = chain::disk_revolve(90, 3, 4, 4);
  EXPECT_GT(schedule.forecast().stores[1].writes, 0);
  EXPECT_EQ(reverse_sweep(start, {.schedule = schedule}, forward, seed, backward, memory, disk), plain_gradient(90));
  EXPECT_EQ(memory.bytes_held(), 0);
  EXPECT_EQ(disk.bytes_held(), 0);
}

TEST(ReverseSweep, ExceptionsPassThroughFromEveryPlaceAndLeaveStoresUsable) {
  constexpr std::int64_t steps = 12;
  MemoryStore<Vector> store;
  for (std::int64_t fatal = 0;; ++fatal) {
    std::int64_t calls = 0;
    auto count = [&] {
      if (calls++ == fatal) throw std::domain_error("the user's own");
    };
    auto f = [&](std::int64_t i, const Vector& x) {
      count();
      return forward(i, x);
    };
    auto s = [&](const Vector& x) {
      count();
      return seed(x);
    };
    auto b = [&](std::int64_t i, const Vector& x, const Vector& a) {
      count();
      return backward(i, x, a);
    };
    try {
      Vector gradient = reverse_sweep(start, {.steps = steps, .snapshots = 3}, f, s, b, store);
      EXPECT_EQ(gradient, plain_gradient(steps));
      EXPECT_EQ(fatal, chain::revolve_advances(steps, 3) + 1 + 1 + steps);  // advances, x_n, seed, reversals
      break;
    } catch (const std::domain_error& e) {
      EXPECT_STREQ(e.what(), "the user's own");
      EXPECT_EQ(reverse_sweep(start, {.steps = steps, .snapshots = 3}, forward, seed, backward, store),
                plain_gradient(steps));
    }
  }
}

struct FailingStore : MemoryStore<Vector> {
  int puts = 0;
  void put(std::int64_t slot, const Vector& x) {
    if (++puts == 3) throw StoreFailed("[store] the disk is full", slot);
    MemoryStore<Vector>::put(slot, x);
  }
};

TEST(ReverseSweep, AFailingStoreEndsTheSweepAndTheCallersStateIsUntouched) {
  FailingStore store;
  Vector mine = start;
  EXPECT_THROW(reverse_sweep(mine, {.steps = 30, .snapshots = 4}, forward, seed, backward, store), StoreFailed);
  EXPECT_EQ(mine, start);
}

TEST(Sweep, IsDrivenActionByAction) {
  Sweep sweep(start, chain::revolve(20, 3), forward, seed, backward);
  chain::Schedule expected = chain::revolve(20, 3);
  while (!sweep.done()) EXPECT_EQ(sweep.step(), expected.next());
  EXPECT_EQ(sweep.result(), plain_gradient(20));
}

TEST(Sweep, SaysWhatItWasAskedAtTheWrongMoment) {
  Sweep sweep(start, chain::revolve(2, 1), forward, seed, backward);
  EXPECT_EQ(message([&] { sweep.result(); }),
            "[sweep] result: there is none yet, or it was taken: step until done, then ask once");
  while (!sweep.done()) sweep.step();
  EXPECT_EQ(message([&] { sweep.step(); }), "[sweep] step: the sweep is done: take its result, or make a new one");
  sweep.result();
  EXPECT_THROW(sweep.result(), chain::OutOfTurn);
  auto fails = [](std::int64_t, const Vector&) -> Vector { throw std::domain_error("no"); };
  Sweep broken(start, chain::revolve(2, 1), fails, seed, backward);
  broken.step();
  EXPECT_THROW(broken.step(), std::domain_error);
  EXPECT_EQ(message([&] { broken.step(); }), "[sweep] step: an exception has ended this sweep: make a new one");
}

TEST(ReverseSweep, ReportsEveryStepOnceSoThatABarNeverStandsStillAndEndsFull) {
  std::vector<double> bar;
  SweepOptions options{.schedule = chain::disk_revolve(60, 3, 4, 4),
                       .progress = [&](const SweepProgress& p) { bar.push_back(p.fraction()); }};
  reverse_sweep(start, options, forward, seed, backward);
  EXPECT_EQ(std::ssize(bar), options.schedule->forecast().advances + 60);
  double step = 1.0 / static_cast<double>(bar.size());
  for (std::size_t i = 0; i < bar.size(); ++i) EXPECT_DOUBLE_EQ(bar[i], static_cast<double>(i + 1) * step);
  EXPECT_EQ(bar.back(), 1);
}

TEST(ReverseSweep, ReportsNoShareWhileTheLengthIsUnknownAndAFullOneAtTheEnd) {
  std::vector<SweepProgress> reports;
  SweepOptions options{.snapshots = 3, .progress = [&](const SweepProgress& p) { reports.push_back(p); }};
  auto more = [](std::int64_t step, const Vector&) { return step < 25; };
  reverse_sweep_while(start, options, more, forward, seed, backward);
  for (std::size_t i = 0; i < 25; ++i) EXPECT_EQ(reports[i].fraction(), 0);
  for (std::size_t i = 26; i < reports.size(); ++i) EXPECT_GT(reports[i].fraction(), reports[i - 1].fraction());
  EXPECT_EQ(reports.back().fraction(), 1);
}

TEST(MixedSweep, ReportsEveryStepRunOrReversedUpToTheForecast) {
  auto record = [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); };
  chain::Schedule schedule = chain::mixed({.steps = 40, .capacity = 9, .state_size = 3, .data_size = 2});
  std::vector<SweepProgress> reports;
  SweepOptions options{.schedule = schedule, .progress = [&](const SweepProgress& p) { reports.push_back(p); }};
  EXPECT_EQ(mixed_sweep(start, options, forward, record, seed, backward), plain_gradient(40));
  std::int64_t runs = schedule.forecast().advances + schedule.forecast().records;
  ASSERT_EQ(std::ssize(reports), runs + 40);
  for (std::size_t i = 0; i < reports.size(); ++i)
    EXPECT_EQ(reports[i].advances + reports[i].reversed, static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(reports.back().fraction(), 1);
  EXPECT_LT(reports[reports.size() - 2].fraction(), 1);
}

TEST(MixedSweep, NamesTheFirstStepThatIsNotDeterministic) {
  int calls = 0;
  auto record = [&](std::int64_t step, Vector x) {
    Vector next = forward(step, x);
    if (step == 2) next[0] += ++calls;
    return std::pair(next, x);
  };
  SweepOptions options{.schedule = chain::mixed({.steps = 5, .capacity = 8}), .check_determinism = true};
  try {
    mixed_sweep(start, options, forward, record, seed, backward);
    FAIL();
  } catch (const NotDeterministic& error) {
    EXPECT_EQ(error.index, 2);
  }
  EXPECT_EQ(mixed_sweep(
                start, options, forward, [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); },
                seed, backward),
            plain_gradient(5));
}

TEST(MixedSweep, NeedsAScheduleAmongItsOptions) {
  auto record = [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); };
  EXPECT_EQ(message([&] { mixed_sweep(start, {.steps = 4, .snapshots = 2}, forward, record, seed, backward); }),
            "[mixed_sweep] there is no schedule: give one, .schedule = chain::mixed({...})");
}

TEST(ReverseSweep, ReportsProgressUpToTheForecast) {
  std::vector<SweepProgress> reports;
  SweepOptions options{.steps = 40, .snapshots = 3, .progress = [&](const SweepProgress& p) { reports.push_back(p); }};
  reverse_sweep(start, options, forward, seed, backward);
  for (std::size_t i = 1; i < reports.size(); ++i)
    EXPECT_EQ((reports[i].reversed > reports[i - 1].reversed) + (reports[i].advances > reports[i - 1].advances), 1);
  EXPECT_EQ(reports.back().reversed, 40);
  EXPECT_EQ(reports.back().advances, chain::revolve_advances(40, 3));
  EXPECT_EQ(reports.back().advances, reports.front().advances_total);
}

TEST(ReverseSweep, CheckDeterminismNamesTheFirstStepThatIsNot) {
  int calls = 0;
  auto noisy = [&](std::int64_t step, const Vector& x) {
    Vector y = forward(step, x);
    if (step == 7) y[0] += 1e-15 * ++calls;
    return y;
  };
  SweepOptions options{.steps = 12, .snapshots = 3, .check_determinism = true};
  EXPECT_EQ(reverse_sweep(start, options, forward, seed, backward), plain_gradient(12));
  try {
    reverse_sweep(start, options, noisy, seed, backward);
    ADD_FAILURE() << "the noise went unnoticed";
  } catch (const NotDeterministic& e) {
    EXPECT_EQ(e.index, 7);
  }
}

TEST(ReverseSweep, CheckDeterminismTakesNanForEqualAndRefusesWhatItCannotCompare) {
  SweepOptions options{.steps = 3, .snapshots = 1, .check_determinism = true};
  auto nan = [](double) { return std::nan(""); };
  EXPECT_TRUE(std::isnan(reverse_sweep(1.0, options, nan, 1.0, [](double x, double a) { return x * a; })));
  struct Opaque {
    double x;
  };
  EXPECT_EQ(message([&] {
              reverse_sweep(
                  Opaque{1}, options, [](Opaque o) { return o; }, 1.0, [](Opaque, double a) { return a; });
            }),
            "[reverse_sweep] check_determinism runs steps twice and compares: the state has to be copyable and to have "
            "operator== or reprise::Serial");
}

std::string refusal(const SweepOptions& options) {
  return message([&] { reverse_sweep(start, options, forward, seed, backward); });
}

TEST(ReverseSweep, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(refusal({.steps = 5}),
            "[reverse_sweep] 0 snapshots: the first state needs one: give snapshots, or budget and state_bytes");
  EXPECT_EQ(refusal({.steps = 5, .snapshots = -2}),
            "[reverse_sweep] -2 snapshots of 0 bytes in a budget of 0 bytes: none may be negative");
  EXPECT_EQ(refusal({.steps = 5, .snapshots = 9, .budget = 4096, .state_bytes = 1024}),
            "[reverse_sweep] 9 snapshots of 1.0 KiB are more than the budget of 4.0 KiB holds: ask for at most 4");
  EXPECT_EQ(refusal({.steps = 5, .budget = 4096, .state_bytes = 8192}),
            "[reverse_sweep] one snapshot takes 8.0 KiB and the budget is 4.0 KiB: give a budget for one at least");
  EXPECT_EQ(refusal({.steps = 5, .budget = 4096}),
            "[reverse_sweep] a budget of 4.0 KiB needs the size of a snapshot: give state_bytes too");
  EXPECT_EQ(refusal({.steps = 5, .schedule = chain::revolve(6, 2)}),
            "[reverse_sweep] steps = 5, but the schedule is for 6: leave steps out or make them equal");
  EXPECT_EQ(refusal({.schedule = chain::online(6)}),
            "[reverse_sweep] the schedule is for a run of unknown length: use reverse_sweep_while");
  EXPECT_EQ(refusal({.schedule = chain::mixed({.steps = 3, .capacity = 9})}),
            "[reverse_sweep] the schedule is a mixed one, which keeps data of steps too: use mixed_sweep");
}

TEST(ReverseSweep, RefusesStoresAndRunsThatDoNotMatchTheSchedule) {
  MemoryStore<Vector> store;
  EXPECT_EQ(message([&] {
              reverse_sweep(start, {.schedule = chain::disk_revolve(9, 2, 1, 1)}, forward, seed, backward, store);
            }),
            "[reverse_sweep] the schedule uses 2 stores and 1 were given: give one for each, fastest first");
  auto never = [](const Vector&) { return false; };
  EXPECT_EQ(message([&] { reverse_sweep_while(start, {.steps = 4, .snapshots = 2}, never, forward, seed, backward); }),
            "[reverse_sweep_while] steps = 4 in a run that ends when `more` says so: use reverse_sweep");
  EXPECT_EQ(message([&] { reverse_sweep_while(start, {.schedule = chain::sqrt(4)}, never, forward, seed, backward); }),
            "[reverse_sweep_while] the schedule is for 4 steps: give one such as chain::online");
  auto record = [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); };
  EXPECT_EQ(message([&] { mixed_sweep(start, chain::sqrt(4), forward, record, seed, backward); }),
            "[mixed_sweep] the schedule keeps states alone: make it with chain::mixed, or use reverse_sweep");
}

TEST(ReverseSweep, ABudgetInBytesChoosesTheSnapshots) {
  std::int64_t advances = 0;
  SweepOptions options{.steps = 100, .budget = 1000, .state_bytes = 96, .progress = [&](const SweepProgress& p) {
                         advances = p.advances;
                       }};
  EXPECT_EQ(reverse_sweep(start, options, forward, seed, backward), plain_gradient(100));
  EXPECT_EQ(advances, chain::revolve_advances(100, 10));
}

}  // namespace
}  // namespace reprise
