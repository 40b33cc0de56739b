// SPDX-License-Identifier: Apache-2.0
// What sweeps, stores and the judge are given by mistake: each is a typed error with a remedy, and none goes unnoticed.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <limits>

#include "checkpoint/disk_faults.h"
#include "checkpoint/messages.h"
#include "reprise/checkpoint.h"

namespace reprise {
namespace {

using chain::judge;
using Vector = std::vector<double>;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

Vector forward(std::int64_t, const Vector& x) { return Vector(x.size(), x[0] * 1.5); }
Vector backward(std::int64_t, const Vector&, const Vector& a) { return Vector(a.size(), a[0] * 1.5); }
const Vector start{1}, seed{1};

template <class... Stores>
std::string sweep_with(const SweepOptions& options, Stores&... stores) {
  return message([&] { reverse_sweep(start, options, forward, seed, backward, stores...); });
}

TEST(SweepMisuse, OptionsThatAScheduleWouldIgnoreAreRefused) {
  EXPECT_THROW(reverse_sweep(start, {.snapshots = 3, .schedule = chain::revolve(9, 2)}, forward, seed, backward),
               chain::BadRequest);
  EXPECT_EQ(sweep_with({.snapshots = 3, .schedule = chain::revolve(9, 2)}),
            "[reverse_sweep] snapshots = 3 beside a schedule, which has its own: leave out one of the two");
  EXPECT_EQ(sweep_with({.budget = 64, .state_bytes = 8, .schedule = chain::revolve(9, 2)}),
            "[reverse_sweep] budget = 64 beside a schedule, which has its own: leave out one of the two");
  auto never = [](const Vector&) { return false; };
  EXPECT_THROW(
      reverse_sweep_while(start, {.snapshots = 3, .schedule = chain::online(2)}, never, forward, seed, backward),
      chain::BadRequest);
}

TEST(SweepMisuse, AScheduleThatHasBeenReadFromIsRefused) {
  chain::Schedule schedule = chain::revolve(9, 2);
  schedule.next();
  EXPECT_EQ(sweep_with({.schedule = schedule}),
            "[sweep] the schedule has been read from: give a new one, or a copy made before its first action");
  EXPECT_THROW(Sweep(start, schedule, forward, seed, backward), chain::OutOfTurn);
  while (!schedule.done()) schedule.next();
  EXPECT_THROW(Sweep(start, schedule, forward, seed, backward), chain::OutOfTurn);
  chain::Schedule ended = chain::online(2);
  ended.finish();
  EXPECT_THROW(Sweep(start, ended, forward, seed, backward), chain::OutOfTurn);
  chain::Schedule mixed = chain::mixed({.steps = 4, .capacity = 3});
  mixed.next();
  auto record = [](std::int64_t step, Vector x) { return std::pair(forward(step, x), x); };
  auto last = [](const Vector& x) { return x; };
  EXPECT_THROW(mixed_sweep(start, mixed, forward, record, last, backward), chain::OutOfTurn);
}

TEST(SweepMisuse, MoreStoresThanTheScheduleHasAreRefused) {
  MemoryStore<Vector> first, second;
  EXPECT_EQ(sweep_with({.steps = 9, .snapshots = 2}, first, second),
            "[reverse_sweep] the schedule uses 1 stores and 2 were given: give one for each, fastest first");
}

TEST(SweepMisuse, OneStoreInTwoPlacesIsRefused) {
  MemoryStore<Vector> store;
  EXPECT_EQ(sweep_with({.schedule = chain::disk_revolve(9, 2, 1, 1)}, store, store),
            "[reverse_sweep] stores 0 and 1 are the same object, and their slots would mix: give two");
}

TEST(SweepMisuse, AMixedScheduleIsRefusedBeforeAnyStepRuns) {
  bool has_run = false;
  auto watched = [&](std::int64_t step, const Vector& x) { return has_run = true, forward(step, x); };
  SweepOptions options{.schedule = chain::mixed({.steps = 30, .capacity = 3})};
  EXPECT_THROW(reverse_sweep(start, options, watched, seed, backward), chain::BadRequest);
  EXPECT_FALSE(has_run);
}

TEST(SweepMisuse, ASweepThatAnExceptionEndedCannotBeFinishedOrGoOn) {
  auto fails = [](std::int64_t, const Vector&) -> Vector { throw std::domain_error("no"); };
  Sweep sweep(start, chain::online(2), fails, seed, backward);
  sweep.step();
  EXPECT_THROW(sweep.step(), std::domain_error);
  EXPECT_EQ(message([&] { sweep.finish(); }), "[sweep] finish: an exception has ended this sweep: make a new one");
  EXPECT_EQ(message([&] { sweep.result(); }), "[sweep] result: an exception has ended this sweep: make a new one");
}

TEST(SweepMisuse, ASeedThatThrowsEndsTheSweep) {
  auto no_seed = [](const Vector&) -> Vector { throw std::domain_error("no"); };
  Sweep sweep(start, chain::online(2), forward, no_seed, backward);
  while (!std::holds_alternative<chain::Advance>(sweep.step())) continue;
  EXPECT_THROW(sweep.finish(), std::domain_error);
  EXPECT_THROW(sweep.step(), chain::OutOfTurn);
  EXPECT_THROW(sweep.finish(), chain::OutOfTurn);
}

TEST(SweepMisuse, AFinishAtTheWrongMomentIsRefusedAndTheSweepGoesOn) {
  Sweep sweep(start, chain::online(2), forward, seed, backward);
  sweep.step();
  EXPECT_THROW(sweep.finish(), chain::OutOfTurn);  // saved, and about to advance
  sweep.step();
  sweep.finish();
  EXPECT_THROW(sweep.finish(), chain::OutOfTurn);
  while (!sweep.done()) sweep.step();
  EXPECT_EQ(sweep.result(), Vector{1.5});
}

TEST(SweepMisuse, CheckDeterminismSeesTheStepThatFormsTheSeed) {
  int calls = 0;
  auto noisy = [&](std::int64_t step, const Vector& x) {
    Vector y = forward(step, x);
    if (step == 8) y[0] += ++calls;
    return y;
  };
  auto last = [](const Vector& x) { return x; };
  SweepOptions options{.steps = 9, .snapshots = 3, .check_determinism = true};
  EXPECT_EQ(message([&] { reverse_sweep(start, options, noisy, last, backward); }).substr(0, 45),
            "[reverse_sweep] step 8 is not deterministic: ");
}

TEST(StoreMisuse, OptionsThatMakeNoSenseAreABadRequest) {
  EXPECT_THROW(DiskStore<Vector>({.slots = 0, .slot_bytes = 8}), chain::BadRequest);
  EXPECT_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = -8}), chain::BadRequest);
  EXPECT_EQ(message([] { DiskStore<Vector>({.slots = 1}); }),
            "[disk store] slot_bytes is 0: give stored_bytes() of the largest state");
  EXPECT_EQ(message([] { DiskStore<Vector>({.slots = 1, .slot_bytes = 8, .write_behind = 0}); }),
            "[disk store] write_behind is 0: it must be at least 1");
  EXPECT_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = 8, .write_behind = 0}), chain::BadRequest);
  EXPECT_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = 8, .read_ahead = -1}), chain::BadRequest);
  EXPECT_NO_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = 8, .read_ahead = most}).put(0, start));
}

TEST(StoreMisuse, EncodingsThatDoNotExistAreRefused) {
  EXPECT_EQ(message([] { EncodedStore<Vector>({.encoding = static_cast<Encoding>(9)}); }),
            "[store] there is no encoding number 9: give one of plain, f16, bf16, int8 and zstd");
  EXPECT_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = 8, .encoding = {.encoding = static_cast<Encoding>(-1)}}),
               chain::BadRequest);
  EXPECT_THROW(ActivationCheckpointer({.precision = static_cast<Precision>(9)}), chain::BadRequest);
}

TEST(StoreMisuse, ZstdLevelsBeyondOneToNineteenAreRefused) {
  for (int level : {-131072, -1, 0, 20, 22, 99})
    EXPECT_EQ(message([&] { EncodedStore<Vector>({.encoding = Encoding::zstd, .zstd_level = level}); }),
              "[store] zstd_level is " + std::to_string(level) + ": it must be in 1 to 19");
  for (int level : {1, 19}) EncodedStore<Vector>({.encoding = Encoding::zstd, .zstd_level = level}).put(0, start);
}

TEST(StoreMisuse, SizesThatNoFileHasAreRefusedInEveryEncoding) {
  for (Encoding encoding : {Encoding::plain, Encoding::f16, Encoding::int8, Encoding::zstd})
    for (std::int64_t bytes : {most, most - 8, most / 2})
      for (std::int64_t slots : {std::int64_t{1}, std::int64_t{3}, most}) {
        EncodingOptions options{.encoding = encoding, .int8_block = 1};
        std::string text =
            message([&] { DiskStore<Vector>({.slots = slots, .slot_bytes = bytes, .encoding = options}); });
        EXPECT_NE(text, "(no error)");
        EXPECT_EQ(text.find(" -"), std::string::npos) << text;
      }
  EXPECT_EQ(detail::encoded_bound(80, Element::f64, {.encoding = Encoding::int8, .int8_block = most}), 10 + 8);
}

TEST(StoreMisuse, APlaceForTemporaryFilesThatIsNotThereIsAStoreFailure) {
  std::string before = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
  setenv("TMPDIR", "/no/such/place", 1);
  EXPECT_THROW(DiskStore<Vector>({.slots = 1, .slot_bytes = 8}), StoreFailed);
  before.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before.c_str(), 1);
}

TEST(StoreMisuse, AFailureOfASlotThatWasDroppedIsForgotten) {
  DiskStore<Vector> store({.slots = 4, .slot_bytes = 8, .write_behind = 4, .read_ahead = 0});
  {
    FileSizeLimit limit(0);
    store.put(0, start);
    store.put(1, start);
    EXPECT_THROW(store.flush(), StoreFailed);
    while (store.holds(0) || store.holds(1)) continue;
  }
  store.drop(0);
  store.drop(1);
  EXPECT_NO_THROW(store.put(2, start));
  EXPECT_NO_THROW(store.flush());
}

struct Labelled : Vector {
  int label = 0;
};

TEST(StoreMisuse, AContainerThatMayHoldMoreThanItsElementsIsRefusedAtCompileTime) {
  static_assert(!Storable<Labelled> && Storable<Vector>);
  struct Text : std::string {
    int language = 0;
  };
  static_assert(!Storable<Text> && Storable<std::string>);
}

TEST(JudgeMisuse, NothingToReadIsRefused) {
  chain::Chain chain{.steps = 3, .stores = {{"memory", 1}}};
  EXPECT_THROW(judge(chain, {}), chain::BadRequest);
  EXPECT_EQ(message([&] { judge(chain, {}); }), "[chain] judge: there is no function to read actions from: give one");
}

TEST(JudgeMisuse, ChainsThatContradictThemselvesAreRefused) {
  auto next = [] { return chain::Action(chain::Reverse{0}); };
  EXPECT_EQ(message([&] {
              judge({.steps = 3, .stores = {{"memory", 1}}, .step_costs = {1, 1}}, next);
            }),
            "[chain] judge: 3 steps and 2 step costs: give one for each step, or none");
  EXPECT_EQ(message([&] {
              judge({.steps = 3, .stores = {{"memory", 1}}, .sizes = {1, 1, 1, 1}}, next);
            }),
            "[chain] judge: 3 steps and 4 sizes: give one for each step, or none");
}

TEST(JudgeMisuse, ASlotFarAwayOrAStateBeyondTheLastIsAVerdict) {
  auto judged = [](const chain::Chain& chain, std::vector<chain::Action> actions) {
    std::size_t i = 0;
    return judge(chain, [&] { return actions.at(i++); }).why;
  };
  chain::Chain chain{.steps = 2, .stores = {{"memory", 3}}, .sizes = {1, 1}};
  EXPECT_EQ(
      judged(chain, {chain::Save{0, most, 0, chain::Content::state}}),
      "action 1 (save x_0 in slot 9223372036854775807 of store 0): slot 9223372036854775807 is used while 1 slots "
      "are enough");
  EXPECT_EQ(judged(chain, {chain::Drop{0, most, 0}}),
            "action 1 (drop x_0 from slot 9223372036854775807 of store 0): slot 9223372036854775807 is empty");
  EXPECT_EQ(judged(chain, {chain::Advance{0, 2}, chain::Save{2, 0, 0, chain::Content::state}}),
            "action 2 (save x_2 in slot 0 of store 0): no step needs x_2: it is the last state");
}

TEST(JudgeMisuse, SchedulesItCannotJudgeAreRefusedWithARemedy) {
  EXPECT_EQ(message([] { judge(chain::online(2)); }),
            "[chain] judge: the number of steps is not known: say after how many it ends, judge(schedule, steps)");
  EXPECT_EQ(message([] { judge(chain::revolve(9, 2), 9); }),
            "[chain] judge: this schedule was made for 9 steps and ends by itself: use judge(schedule)");
  EXPECT_EQ(message([] { judge(chain::online(2), -1); }),
            "[chain] judge: -1 steps: give a number of steps that is not negative");
  chain::Schedule begun = chain::revolve(9, 2);
  begun.next();
  EXPECT_THROW(judge(begun), chain::OutOfTurn);
  EXPECT_EQ(message([&] { judge(begun); }),
            "[chain] judge: the schedule has been read from: give a new one, or a copy made before its first action");
}

TEST(JudgeMisuse, SizesThatAreNegativeOrSumToMoreThanAnIntegerAreNoticed) {
  chain::Save first{0, 0, 0, chain::Content::state}, second{1, 1, 0, chain::Content::state};
  std::vector<chain::Action> actions{first, chain::Advance{0, 1}, second};
  std::size_t i = 0;
  auto next = [&] { return actions.at(i++); };
  EXPECT_EQ(judge({.steps = 3, .stores = {{"memory", most}}, .sizes = {most, most, 1}}, next).why,
            "action 3 (save x_1 in slot 1 of store 0): store 0 holds 9223372036854775807 already, and the sum is more "
            "than an integer holds");
  EXPECT_EQ(message([&] {
              judge({.steps = 3, .stores = {{"memory", most}}, .sizes = {1, -1, 1}}, next);
            }),
            "[chain] judge: a size of -1: sizes are not negative");
}

TEST(ChainLimits, WhatWouldNotFitInMemoryIsRefused) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  EXPECT_THROW(chain::disk_revolve(many, 3, 1, 1), chain::BadRequest);
  EXPECT_THROW(chain::hierarchical(many, {{"memory", 3}}), chain::BadRequest);
  EXPECT_THROW(chain::multistage(many, {{"memory", many}}), chain::BadRequest);
  EXPECT_EQ(chain::every(10, most).forecast().advances, 9);
  EXPECT_THROW(chain::mixed({.steps = 3, .capacity = most, .state_size = most, .data_size = 1}), chain::BadRequest);
}

TEST(ChainLimits, SlotsAndPeriodsWithoutEndAreTakenAsTheyAre) {
  EXPECT_EQ(judge(chain::revolve(100, most)).why, "");
  EXPECT_EQ(judge(chain::periodic({.steps = 100, .slots = most, .period = most})).why, "");
  EXPECT_EQ(judge(chain::online_two_level(most, most), 50).why, "");
}

TEST(DriverMisuse, ASegmentThatIsNotThereIsRefused) {
  using Segment = std::shared_ptr<const LinearSegment>;
  Segment one = std::make_shared<const LinearSegment>(LinearSegment::random_init(2, 2, 1));
  EXPECT_EQ(message([&] {
              CheckpointedNetwork<LinearSegment>(std::vector<Segment>{one, nullptr});
            }),
            "[network] segment 1 is null: give one");
  EXPECT_EQ(message([] {
              Checkpoint<LinearSegment>(Segment(), {1, 2});
            }),
            "[checkpoint] the segment is null: give one");
}

TEST(DriverMisuse, EveryMistakeHasAType) {
  ActivationCheckpointer checkpointer;
  auto layer = [](std::int64_t, const std::vector<float>& x) { return x; };
  auto vjp = [](std::int64_t, const std::vector<float>&, const std::vector<float>& dy) { return dy; };
  EXPECT_THROW(checkpointer.checkpointed_backward(std::vector<float>{1}, {0}, layer, vjp), chain::OutOfTurn);
  checkpointer.checkpointed_forward({1}, {0, 1}, layer);
  EXPECT_THROW(checkpointer.recompute_from_checkpoint(7, {0, 1}, layer), chain::BadRequest);
  EXPECT_THROW(checkpointer.recompute_from_checkpoint(1, {1, 1}, layer), chain::BadRequest);
  EXPECT_THROW(ActivationCheckpointer({.max_checkpoints = 0}), chain::BadRequest);
  EXPECT_THROW(CheckpointBudget(-1), chain::BadRequest);
  EXPECT_THROW(CheckpointStrategy::every_nth(-1), chain::BadRequest);
  EXPECT_THROW(tape::CheckpointConfig::uniform(-1, 1), chain::BadRequest);
  EXPECT_THROW(CheckpointedScan<float>({.a = {1}, .b = {1}, .segments = 0}), chain::BadRequest);
  EXPECT_THROW(CheckpointedScan<float>({.a = {1}, .b = {1}}).backward({}, {}), chain::OutOfTurn);
  CheckpointedNetwork<LinearSegment> network(std::vector{LinearSegment::random_init(2, 2, 1)});
  EXPECT_THROW(network.backward({1, 1}), chain::OutOfTurn);
}

}  // namespace
}  // namespace reprise
