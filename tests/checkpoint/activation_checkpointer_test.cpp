// SPDX-License-Identifier: Apache-2.0
#include "reprise/activation_checkpointer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "checkpoint/messages.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;
using Layers = std::vector<std::int64_t>;

Floats layer(std::int64_t index, const Floats& x) {
  Floats y;
  for (float v : x) y.push_back(v * 1.1f + static_cast<float>(index) * 0.01f);
  return y;
}

Layers first(std::int64_t count) {
  Layers layers(static_cast<std::size_t>(count));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

// Every output of a run that keeps everything.
std::vector<Floats> plain_run(Floats x, const Layers& layers) {
  std::vector<Floats> outputs;
  for (std::int64_t index : layers) outputs.push_back(x = layer(index, x));
  return outputs;
}

const Floats input{1, -2, 0.5f};

TEST(Checkpointer, DefaultsAreFourLayersSixtyFourCheckpointsFullPrecision) {
  CheckpointConfig config = ActivationCheckpointer().config();
  EXPECT_EQ(config.checkpoint_every_n_layers, 4);
  EXPECT_EQ(config.max_checkpoints, 64);
  EXPECT_FALSE(config.use_mixed_precision);
  EXPECT_EQ(config.precision, Precision::f32);
}

TEST(Checkpointer, RefusesConfigurationsThatMakeNoSense) {
  EXPECT_EQ(message([] { ActivationCheckpointer({.checkpoint_every_n_layers = -1}); }),
            "[checkpointer] checkpoint_every_n_layers is -1: it is positive, or 0 for never");
  EXPECT_EQ(message([] { ActivationCheckpointer({.max_checkpoints = 0}); }),
            "[checkpointer] max_checkpoints is 0: it must be at least 1");
  EXPECT_EQ(message([] { ActivationCheckpointer({.int8_block = 0}); }),
            "[checkpointer] int8_block is 0: a block has at least 1 element");
  EXPECT_THROW((ActivationCheckpointer<Floats, MemoryStore<Floats>>({.precision = Precision::f16}, {})), Error);
  EXPECT_EQ(message([] { ActivationCheckpointer({.use_mixed_precision = true, .precision = Precision::bf16}); }),
            "[checkpointer] use_mixed_precision stands for f16, and precision asks for bf16: give one of the two");
  EXPECT_THROW(ActivationCheckpointer({.use_mixed_precision = true, .precision = Precision::int8}), BadRequest);
  EXPECT_NO_THROW(ActivationCheckpointer({.use_mixed_precision = true, .precision = Precision::f16}));
}

TEST(Checkpointer, CheckpointLayersAreTheMultiplesAndZeroMeansNever) {
  ActivationCheckpointer three({.checkpoint_every_n_layers = 3}), never({.checkpoint_every_n_layers = 0});
  for (std::int64_t l = 0; l < 20; ++l) {
    EXPECT_EQ(three.is_checkpoint_layer(l), l % 3 == 0);
    EXPECT_FALSE(never.is_checkpoint_layer(l));
  }
}

TEST(Checkpointer, SavesGetsAndClears) {
  ActivationCheckpointer checkpointer;
  checkpointer.save(4, {1, 2});
  checkpointer.save(0, {3});
  EXPECT_EQ(checkpointer.get(4), (Floats{1, 2}));
  EXPECT_EQ(checkpointer.get(0), Floats{3});
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 12);
  checkpointer.clear();
  EXPECT_EQ(checkpointer.num_checkpoints(), 0);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 0);
  EXPECT_EQ(message([&] { checkpointer.get(4); }),
            "[checkpointer] nothing is stored for 4: save it first, or ask recompute_from_checkpoint for it");
}

TEST(Checkpointer, OverwritingRefreshesTheValueAndTheByteCount) {
  ActivationCheckpointer checkpointer;
  checkpointer.save(0, Floats(10, 1.f));
  checkpointer.save(0, Floats(3, 2.f));
  EXPECT_EQ(checkpointer.get(0), Floats(3, 2.f));
  EXPECT_EQ(checkpointer.num_checkpoints(), 1);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 12);
  EXPECT_EQ(checkpointer.memory_saved_bytes(), 0);
}

TEST(Checkpointer, AHugeIndexAllocatesNothingAndABadOneIsOutOfBounds) {
  ActivationCheckpointer checkpointer;
  checkpointer.save(std::int64_t{1} << 60, {1});
  EXPECT_EQ(checkpointer.get(std::int64_t{1} << 60), Floats{1});
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 4);
  EXPECT_THROW(checkpointer.get(std::int64_t{1} << 61), NothingStored);
  try {
    checkpointer.save(-1, {1});
    FAIL();
  } catch (const IndexOutOfBounds& e) {
    EXPECT_EQ(e.index, -1);
    EXPECT_EQ(e.limit, std::int64_t{1} << 62);
  }
  EXPECT_THROW(checkpointer.save(INT64_MAX, {1}), IndexOutOfBounds);
}

TEST(Checkpointer, CopiesAreIndependent) {
  ActivationCheckpointer a;
  a.save(0, {1});
  ActivationCheckpointer b = a;
  b.save(0, {2});
  EXPECT_EQ(a.get(0), Floats{1});
  EXPECT_EQ(b.get(0), Floats{2});
}

TEST(Checkpointer, WhenFullTheCheckpointWhoseLossCostsLeastGoes) {
  ActivationCheckpointer checkpointer({.max_checkpoints = 4});
  for (std::int64_t l : {0, 10, 12, 20}) checkpointer.save(l, {static_cast<float>(l)});
  checkpointer.save(30, {30});
  // Without 12, eight layers are replayed from 10 instead: 2 · 8 runs more. Without 10: 10 · 2. Without 20: 8 · 10.
  EXPECT_THROW(checkpointer.get(12), NothingStored);
  for (std::int64_t l : {0, 10, 20, 30}) EXPECT_EQ(checkpointer.get(l), Floats{static_cast<float>(l)});
  EXPECT_EQ(checkpointer.num_checkpoints(), 4);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 16);
}

TEST(Checkpointer, EvictionMatchesTheCountOfReplayedLayersOnRandomChains) {
  Random random(50);
  auto replays = [](const Layers& kept, std::int64_t end) {  // to recompute each layer once, from nowhere but `kept`
    std::int64_t total = 0;
    for (std::int64_t l = kept.front(), i = 0; l < end; ++l) {
      while (i + 1 < std::ssize(kept) && kept[static_cast<std::size_t>(i + 1)] <= l) ++i;
      total += l - kept[static_cast<std::size_t>(i)];
    }
    return total;
  };
  for (int round = 0; round < 200; ++round) {
    Layers kept{0};
    for (int i = 0; i < 6; ++i) kept.push_back(kept.back() + random.between(1, 9));
    std::int64_t end = kept.back() + 1, spared = kept[static_cast<std::size_t>(random.below(7))];
    std::int64_t least = INT64_MAX;
    auto without = [&](std::int64_t gone) {
      Layers left = kept;
      std::erase(left, gone);
      return replays(left, end);
    };
    for (std::int64_t gone : kept)
      if (gone != spared && gone != 0) least = std::min(least, without(gone));
    EXPECT_EQ(without(detail::cheapest_to_lose(kept, spared, std::nullopt, end)), least) << round;
  }
}

TEST(Checkpointer, AValueThatCannotBeEncodedEvictsNothing) {
  ActivationCheckpointer checkpointer({.max_checkpoints = 2, .precision = Precision::int8});
  checkpointer.save(0, {1});
  checkpointer.save(1, {2});
  EXPECT_THROW(checkpointer.save(2, {std::numeric_limits<float>::infinity()}), BadRequest);
  EXPECT_THROW(checkpointer.save(1, {std::nanf("")}), BadRequest);
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
  EXPECT_EQ(checkpointer.get(0), Floats{1});
  EXPECT_EQ(checkpointer.get(1), Floats{2});
}

TEST(Checkpointer, AValueLargerThanASlotOrTheBudgetEvictsNothing) {
  using Disk = DiskStore<Floats>;
  ActivationCheckpointer<Floats, Disk> on_disk({.max_checkpoints = 2}, Disk({.slots = 2, .slot_bytes = 8}));
  ActivationCheckpointer in_memory({.max_checkpoints = 2, .budget = CheckpointBudget(8)});
  auto check = [](auto& checkpointer) {
    checkpointer.save(0, {1});
    checkpointer.save(1, {2});
    EXPECT_THROW(checkpointer.save(2, {1, 2, 3}), Error);
    EXPECT_EQ(checkpointer.get(0), Floats{1});
    EXPECT_EQ(checkpointer.get(1), Floats{2});
    EXPECT_EQ(checkpointer.memory_stored_bytes(), 8);
    EXPECT_EQ(checkpointer.config().budget.used_bytes(), 8);
  };
  check(on_disk), check(in_memory);
}

TEST(Checkpointer, CompressedValuesTakeTheirBytesFromTheBudgetAndNotABound) {
  using Store = EncodedStore<Floats>;
  ActivationCheckpointer<Floats, Store> checkpointer({.budget = CheckpointBudget(500)},
                                                     Store({.encoding = Encoding::zstd}));
  for (std::int64_t l = 0; l < 5; ++l) checkpointer.save(l, Floats(1000, 1.f));
  EXPECT_EQ(checkpointer.num_checkpoints(), 5);
  EXPECT_EQ(checkpointer.config().budget.used_bytes(), checkpointer.memory_stored_bytes());
}

TEST(Checkpointer, AValueThatTheRestOfASharedBudgetCannotHoldEvictsNothing) {
  CheckpointBudget shared(100);
  shared.allocate(60);
  ActivationCheckpointer checkpointer({.budget = shared});
  checkpointer.save(0, Floats(5));
  checkpointer.save(4, Floats(5));
  EXPECT_THROW(checkpointer.save(8, Floats(11)), BudgetExceeded);
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
}

// After a pass a checkpoint of something else neither takes the place of a dear one nor makes one look dear.
TEST(Checkpointer, AValueSavedByHandAfterAPassCostsItTheCheapestOne) {
  Layers layers{1, 2, 3, 4, 5, 6, 7, 8};
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 4, .max_checkpoints = 2});
  checkpointer.checkpointed_forward(input, layers, layer);
  checkpointer.save(100, input);
  std::int64_t replayed = 0;
  for (std::int64_t target : layers) {
    checkpointer.recompute_from_checkpoint(target, layers, layer);
    replayed += checkpointer.recomputed_layers();
  }
  EXPECT_EQ(replayed, 16);
}

TEST(Checkpointer, CanBeToldToFailInsteadOfEvicting) {
  ActivationCheckpointer checkpointer({.max_checkpoints = 2, .evict_when_full = false});
  checkpointer.save(0, {1});
  checkpointer.save(1, {2});
  checkpointer.save(1, {3});  // needs no further place
  EXPECT_EQ(message([&] { checkpointer.save(2, {4}); }),
            "[checkpointer] the maximum of 2 is reached: raise it, clear what is kept, or let it evict");
  EXPECT_EQ(checkpointer.get(0), Floats{1});
  EXPECT_EQ(checkpointer.get(1), Floats{3});
  EXPECT_THROW(ActivationCheckpointer({.budget = CheckpointBudget(2), .evict_when_full = false}).save(0, {1}),
               BudgetExceeded);
}

TEST(Checkpointer, ConsultsItsBudgetOfBytes) {
  ActivationCheckpointer checkpointer({.budget = CheckpointBudget(40)});
  for (std::int64_t l = 0; l < 5; ++l) checkpointer.save(l, Floats(3, 1.f));
  EXPECT_EQ(checkpointer.num_checkpoints(), 3);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 36);
  checkpointer.save(2, Floats(10, 1.f));
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 40);
  EXPECT_EQ(checkpointer.num_checkpoints(), 1);
  EXPECT_THROW(checkpointer.save(9, Floats(11, 1.f)), BudgetExceeded);
  EXPECT_EQ(checkpointer.get(2), Floats(10, 1.f));
}

TEST(Checkpointer, SixLayersOfThreeFloatsEveryThreeStore24AndSave48) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
  Floats y = checkpointer.checkpointed_forward(input, first(6), layer);
  EXPECT_EQ(y, plain_run(input, first(6)).back());
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 24);
  EXPECT_EQ(checkpointer.memory_saved_bytes(), 48);
  EXPECT_EQ(checkpointer.input_bytes(), 12);
}

TEST(Checkpointer, EightLayersOfFiveFloatsEveryTwoStore80AndSave80) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 2});
  checkpointer.checkpointed_forward(Floats(5, 1.f), first(8), layer);
  EXPECT_EQ(checkpointer.num_checkpoints(), 4);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 80);
  EXPECT_EQ(checkpointer.memory_saved_bytes(), 80);
}

TEST(Checkpointer, EveryLayerUnderEveryThreeRecomputesToThePlainValue) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
  checkpointer.checkpointed_forward(input, first(6), layer);
  auto plain = plain_run(input, first(6));
  for (std::int64_t l = 0; l < 6; ++l) {
    EXPECT_EQ(checkpointer.recompute_from_checkpoint(l, first(6), layer), plain[static_cast<std::size_t>(l)]) << l;
    EXPECT_EQ(checkpointer.recomputed_layers(), l % 3);  // from the nearest; a checkpoint comes back as it is
  }
}

TEST(Checkpointer, TwoForwardsWithAFullStoreLeaveNoStaleValueAndExactCounts) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 1, .max_checkpoints = 3});
  checkpointer.checkpointed_forward(Floats(100, 9.f), first(8), layer);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 3 * 400);
  checkpointer.checkpointed_forward(input, first(6), layer);
  EXPECT_EQ(checkpointer.num_checkpoints(), 3);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 36);
  EXPECT_EQ(checkpointer.memory_saved_bytes(), 36);
  auto plain = plain_run(input, first(6));
  for (std::int64_t l = 0; l < 6; ++l)
    EXPECT_EQ(checkpointer.recompute_from_checkpoint(l, first(6), layer), plain[static_cast<std::size_t>(l)]) << l;
  EXPECT_THROW(checkpointer.recompute_from_checkpoint(7, first(8), layer), Error);
}

TEST(Checkpointer, WithTooFewPlacesItKeepsThoseThatMakeTheLongestReplayShortest) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 2, .max_checkpoints = 3});
  checkpointer.checkpointed_forward(input, first(16), layer);
  std::int64_t longest = 0;
  for (std::int64_t l = 0; l < 16; ++l) {
    checkpointer.recompute_from_checkpoint(l, first(16), layer);
    longest = std::max(longest, checkpointer.recomputed_layers());
  }
  EXPECT_EQ(checkpointer.num_checkpoints(), 3);
  EXPECT_EQ(longest, 4);  // 16 values after the input in 4 stretches
}

TEST(Checkpointer, ChosenPositionsAreOptimalAgainstAllChoices) {
  Random random(51);
  auto longest = [](const Layers& chosen,
                    std::int64_t length) {  // to the value at any position, from the one kept before
    std::int64_t at = -1, most = 0;
    for (std::int64_t p = 0; p < length; ++p) {
      if (std::ranges::binary_search(chosen, p)) at = p;
      most = std::max(most, p - at);
    }
    return most;
  };
  for (int round = 0; round < 1000; ++round) {
    std::int64_t length = random.between(1, 12), most = random.between(1, 5);
    Layers candidates;
    for (std::int64_t p = 0; p < length; ++p)
      if (random.chance(0.6)) candidates.push_back(p);
    std::int64_t best = INT64_MAX;
    for (unsigned bits = 0; bits < 1u << candidates.size(); ++bits) {
      Layers chosen;
      for (std::size_t i = 0; i < candidates.size(); ++i)
        if (bits >> i & 1) chosen.push_back(candidates[i]);
      if (std::ssize(chosen) <= most) best = std::min(best, longest(chosen, length));
    }
    Layers chosen = detail::choose_positions(candidates, length, most);
    EXPECT_EQ(std::ssize(chosen), std::min(most, std::ssize(candidates)));
    EXPECT_TRUE(std::ranges::is_sorted(chosen));
    EXPECT_EQ(longest(chosen, length), best) << round;
  }
}

TEST(Checkpointer, LayersInAnyOrderAndWithRepeatsWorkByPosition) {
  Random random(52);
  for (int round = 0; round < 100; ++round) {
    Layers layers;
    for (std::int64_t i = random.between(1, 20); i > 0; --i) layers.push_back(random.below(7));
    ActivationCheckpointer checkpointer(
        {.checkpoint_every_n_layers = random.between(0, 3), .max_checkpoints = random.between(1, 6)});
    auto plain = plain_run(input, layers);
    EXPECT_EQ(checkpointer.checkpointed_forward(input, layers, layer), plain.back());
    for (std::size_t p = 0; p < layers.size(); ++p) {
      EXPECT_EQ(checkpointer.recompute_at(static_cast<std::int64_t>(p), layers, layer), plain[p]);
      std::size_t last = p;
      for (std::size_t q = p; q < layers.size(); ++q)
        if (layers[q] == layers[p]) last = q;
      EXPECT_EQ(checkpointer.recompute_from_checkpoint(layers[p], layers, layer), plain[last]);
    }
  }
}

TEST(Checkpointer, AnUnknownTargetOrAnotherListIsAnError) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
  checkpointer.checkpointed_forward(input, first(6), layer);
  EXPECT_EQ(message([&] { checkpointer.recompute_from_checkpoint(6, first(6), layer); }),
            "[checkpointer] layer 6 is not in the list of layers: give the list of the pass it ran in");
  EXPECT_EQ(message([&] { checkpointer.recompute_at(6, first(6), layer); }),
            "[checkpointer] index 6 is out of bounds: it must be at least 0 and below 6");
  EXPECT_EQ(message([&] {
              checkpointer.recompute_from_checkpoint(3, {0, 2, 1, 3}, layer);
            }),
            "[checkpointer] the layers differ from those of the forward pass at position 1: give the same list");
  EXPECT_THROW(checkpointer.checkpointed_forward(input, {0, -1}, layer), IndexOutOfBounds);
}

TEST(Checkpointer, WhatWasSavedByHandIsReplayedFromTheNearestAtOrBefore) {
  ActivationCheckpointer checkpointer;
  auto plain = plain_run(input, first(6));
  checkpointer.save(1, plain[1]);
  checkpointer.save(4, plain[4]);
  for (std::size_t l = 1; l < 6; ++l)
    EXPECT_EQ(checkpointer.recompute_from_checkpoint(static_cast<std::int64_t>(l), first(6), layer), plain[l]);
  EXPECT_EQ(
      message([&] { checkpointer.recompute_from_checkpoint(0, first(6), layer); }),
      "[checkpointer] nothing is stored for 0: save it or a layer before it first, or run a checkpointed_forward");
}

TEST(Checkpointer, AFunctionThatThrowsLeavesNothingKept) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 1});
  checkpointer.save(0, {1});
  auto bad = [](std::int64_t index, const Floats& x) { return index == 3 ? throw std::domain_error("bad") : x; };
  EXPECT_THROW(checkpointer.checkpointed_forward(input, first(6), bad), std::domain_error);
  EXPECT_EQ(checkpointer.num_checkpoints(), 0);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 0);
  EXPECT_EQ(checkpointer.input_bytes(), 0);
}

TEST(Checkpointer, MixedPrecisionHalvesWhatIsStored) {
  for (CheckpointConfig config :
       {CheckpointConfig{.use_mixed_precision = true}, CheckpointConfig{.precision = Precision::f16},
        CheckpointConfig{.precision = Precision::bf16}}) {
    config.checkpoint_every_n_layers = 3;
    ActivationCheckpointer checkpointer(config);
    checkpointer.checkpointed_forward(input, first(6), layer);
    EXPECT_EQ(checkpointer.memory_stored_bytes(), 12);
    EXPECT_EQ(checkpointer.memory_saved_bytes(), 60);
    EXPECT_GT(checkpointer.largest_error(), 0);
    auto plain = plain_run(input, first(6));
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(checkpointer.recompute_from_checkpoint(5, first(6), layer)[i], plain[5][i],
                  1.3 * checkpointer.largest_error());
  }
}

TEST(Checkpointer, Int8ByBlockTakesAByteAnElementAndAScaleABlock) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3, .precision = Precision::int8, .int8_block = 2});
  checkpointer.checkpointed_forward(input, first(6), layer);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 2 * (3 + 2 * 4));
  EXPECT_LE(checkpointer.largest_error(), 3. / 127);
}

TEST(Checkpointer, OneTenThousandthInfinityNanAndSubnormalsSurviveMixedPrecision) {
  float infinity = std::numeric_limits<float>::infinity();
  ActivationCheckpointer checkpointer({.use_mixed_precision = true});
  checkpointer.save(0, {1e-4f, infinity, -infinity, std::nanf(""), 0x1p-24f, 1 + 0x1p-11f, 1 + 3 * 0x1p-11f});
  Floats back = checkpointer.get(0);
  EXPECT_NEAR(back[0], 1e-4f, 3e-8);
  EXPECT_EQ(back[1], infinity);
  EXPECT_EQ(back[2], -infinity);
  EXPECT_TRUE(std::isnan(back[3]));
  EXPECT_EQ(back[4], 0x1p-24f);
  EXPECT_EQ(back[5], 1);                 // ties go to the even neighbour: down here,
  EXPECT_EQ(back[6], 1 + 4 * 0x1p-11f);  // up there
}

// A layer whose gradient needs its input: y = sin(x) + index/10.
Floats sine(std::int64_t index, const Floats& x) {
  Floats y;
  for (float v : x) y.push_back(std::sin(v) + 0.1f * static_cast<float>(index));
  return y;
}
Floats sine_vjp(std::int64_t, const Floats& x, const Floats& dy) {
  Floats dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(std::cos(x[i]) * dy[i]);
  return dx;
}

Floats plain_backward(const Layers& layers, Floats gradient) {
  std::vector<Floats> inputs{input};
  for (std::int64_t l : layers) inputs.push_back(sine(l, inputs.back()));
  for (std::size_t i = layers.size(); i-- > 0;) gradient = sine_vjp(layers[i], inputs[i], gradient);
  return gradient;
}

template <class Checkpointer>
void expect_plain_backward(Checkpointer checkpointer, const Layers& layers) {
  const Floats seed{1, 2, 3};
  Floats plain = plain_backward(layers, seed);
  checkpointer.checkpointed_forward(input, layers, sine);
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(checkpointer.checkpointed_backward(seed, layers, sine, sine_vjp), plain);
    EXPECT_LE(checkpointer.recomputed_layers(), std::ssize(layers));
  }
}

TEST(CheckpointedBackward, IsBitEqualToPlainForEveryIntervalLimitAndLosslessStore) {
  for (const Layers& layers : {first(1), first(6), first(17), Layers{3, 0, 3, 1, 1, 0, 9, 3}, Layers{}})
    for (std::int64_t every : {0, 1, 2, 3, 5})
      for (std::int64_t most : {1, 3, 64}) {
        CheckpointConfig config{.checkpoint_every_n_layers = every, .max_checkpoints = most};
        expect_plain_backward(ActivationCheckpointer(config), layers);
        expect_plain_backward(ActivationCheckpointer<Floats, MemoryStore<Floats>>(config, {}), layers);
        using Encoded = EncodedStore<Floats>;
        expect_plain_backward(ActivationCheckpointer<Floats, Encoded>(config, Encoded({.encoding = Encoding::zstd})),
                              layers);
        using Disk = DiskStore<Floats>;
        expect_plain_backward(ActivationCheckpointer<Floats, Disk>(config, Disk({.slots = most, .slot_bytes = 12})),
                              layers);
      }
}

TEST(CheckpointedBackward, RunsEachDroppedLayerOnceMore) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 3});
  std::vector<int> runs(9);
  auto counted = [&](std::int64_t l, const Floats& x) { return ++runs[static_cast<std::size_t>(l)], sine(l, x); };
  checkpointer.checkpointed_forward(input, first(9), counted);
  runs.assign(9, 0);
  checkpointer.checkpointed_backward(input, first(9), counted, sine_vjp);
  EXPECT_EQ(runs, (std::vector<int>{0, 1, 1, 0, 1, 1, 0, 1, 0}));  // 0, 3, 6 are kept; nobody needs the last output
}

TEST(CheckpointedBackward, InHalfPrecisionIsCloseToPlain) {
  ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = 2, .precision = Precision::bf16});
  checkpointer.checkpointed_forward(input, first(10), sine);
  Floats plain = plain_backward(first(10), {1, 1, 1});
  Floats close = checkpointer.checkpointed_backward(Floats{1, 1, 1}, first(10), sine, sine_vjp);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(close[i], plain[i], 0.02);
}

TEST(CheckpointedBackward, NeedsAForwardOverTheSameLayers) {
  ActivationCheckpointer checkpointer;
  EXPECT_EQ(message([&] { checkpointer.checkpointed_backward(input, first(2), sine, sine_vjp); }),
            "[checkpointer] backward needs a checkpointed_forward before it");
  checkpointer.checkpointed_forward(input, first(4), sine);
  EXPECT_THROW(checkpointer.checkpointed_backward(input, first(3), sine, sine_vjp), DimensionMismatch);
  EXPECT_EQ(message([&] { checkpointer.checkpointed_backward(input, first(3), sine, sine_vjp); }),
            "[checkpointer] the forward pass ran 4 layers and the backward was given 3: give it the same list");
  EXPECT_EQ(message([&] {
              checkpointer.checkpointed_backward(input, {0, 1, 3, 2}, sine, sine_vjp);
            }),
            "[checkpointer] the layers differ from those of the forward pass at position 2: give the same list");
}

TEST(Checkpointer, TakesADiskThatFailsForAnErrorAndKeepsNothing) {
  using Disk = DiskStore<Floats>;
  ActivationCheckpointer<Floats, Disk> checkpointer({.checkpoint_every_n_layers = 1},
                                                    Disk({.slots = 2, .slot_bytes = 12}));
  EXPECT_THROW(checkpointer.checkpointed_forward(input, first(6), layer), MaximumReached);
  EXPECT_EQ(checkpointer.num_checkpoints(), 0);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 0);
}

}  // namespace
}  // namespace reprise
