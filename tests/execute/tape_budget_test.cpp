// SPDX-License-Identifier: Apache-2.0
// Tapes under a budget and with segments: the same bits, in less memory.
#include <gtest/gtest.h>

#include <cmath>

#include "execute/least_memory.h"
#include "execute/programs.h"
#include "message.h"

namespace reprise {
namespace {

std::vector<Toy> programs() { return {mlp_program(8, 16, 16), resnet_program(4, 2, 4, 6), lstm_program(6, 8, 8)}; }

void expect_same_bits(const TapeRun& a, const TapeRun& b) {
  EXPECT_EQ(a.loss, b.loss);
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (std::size_t i = 0; i < a.gradients.size(); ++i) EXPECT_EQ(a.gradients[i], b.gradients[i]);
}

// Budgets from 1.2 times the least to what an unlimited tape needs; the backward pass runs twice.
void expect_same_bits_from(std::int64_t least, const Toy& p) {
  TapeRun plain = run_on_tape(p, {});
  std::int64_t smallest = least * 6 / 5;
  ASSERT_LT(smallest, plain.peak_bytes);
  for (int i = 0; i <= 8; ++i) {
    std::int64_t budget = smallest + (plain.peak_bytes - smallest) * i / 8;
    SCOPED_TRACE(p.name + " in " + std::to_string(budget) + " of " + std::to_string(plain.peak_bytes) + " B, least " +
                 std::to_string(least));
    TapeRun run = run_on_tape(p, {.budget = budget}, [](Tape& tape, const Var& loss) {
      tape.backward(loss);
      tape.zero_grads();
      tape.backward(loss);
    });
    expect_same_bits(plain, run);
    EXPECT_LE(run.peak_bytes, budget);
  }
}

std::int64_t least_found(const Graph& graph) {
  return solve(problem_of_graph(graph), {.budget = 1, .iterations = 2000}).min_budget;
}

TEST(TapeBudget, GradientsKeepTheirBitsDownToTwelveTenthsOfTheProvedLeastOfAnyOrder) {
  for (const Toy& p : {mlp_program(1, 16, 16), mlp_program(2, 16, 16), mlp_program(3, 16, 16), mlp_program(4, 16, 16),
                       resnet_program(1, 2, 4, 6), lstm_program(1, 16, 16)}) {
    Graph graph = training_graph(p);
    std::int64_t least = LeastMemory(graph).bytes();
    EXPECT_NEAR(static_cast<double>(least_found(graph)), static_cast<double>(least), 16);  // scalars
    expect_same_bits_from(least, p);
  }
}

TEST(TapeBudget, GradientsKeepTheirBitsDownToTwelveTenthsOfTheLeastThePlannerFinds) {
  for (const Toy& p : programs()) expect_same_bits_from(least_found(training_graph(p)), p);
}

TEST(TapeBudget, TheTapesOwnPeakIsTheAllocatorsButForAScalar) {
  for (const Toy& p : programs()) {
    std::int64_t budget = run_on_tape(p, {}).peak_bytes * 7 / 10;
    TapeRun run = run_on_tape(p, {.budget = budget});
    EXPECT_NEAR(static_cast<double>(run.stats.peak_bytes), static_cast<double>(run.peak_bytes), 16) << p.name;
    EXPECT_GT(run.stats.recomputed, 0) << p.name;
  }
}

TEST(TapeBudget, ASecondBackwardGivesTheSameGradients) {
  Toy p = mlp_program(8, 16, 16);
  TapeRun plain = run_on_tape(p, {});
  TapeRun twice = run_on_tape(p, {.budget = plain.peak_bytes * 7 / 10}, [](Tape& tape, const Var& loss) {
    tape.backward(loss);
    tape.zero_grads();
    tape.backward(loss);
  });
  expect_same_bits(plain, twice);
}

TEST(TapeBudget, WhatCannotFitIsAnErrorThatNamesTheOp) {
  Tape tape({.budget = 1000 + 64});
  Var x = tape.variable(Tensor::zeros({DType::f32, {10, 10}}));
  EXPECT_THROW(tape.variable(Tensor::zeros({DType::f32, {200}})), BudgetError);
  Value y = tanh(x);
  EXPECT_EQ(message_of([&] { x + y; }),
            "[tape] 'add' needs 1.2 KiB at once, the budget is 1.0 KiB: nothing more can be dropped");
  EXPECT_EQ(tape.node_count(), 2);
  EXPECT_EQ(tape.value(y).elements(), 100);
}

TEST(TapeBudget, SecondOrderWorksUnderABudget) {
  auto curvature = [](const TapeOptions& options) {
    Tape tape(options);
    Random random(4);
    Var x = tape.variable(random_tensor(random, {64}));
    Value h = x;
    for (int i = 0; i < 6; ++i) h = sin(h);
    Var slope = tape.gradients(sum(h), {x})[0];
    tape.backward(sum(square(slope)));
    return tape.grad(x).to_vector<float>();
  };
  EXPECT_EQ(curvature({}), curvature({.budget = 12 * 256}));
}

// --- segments

TEST(TapeSegments, GiveTheGradientsOfTheKnownExample) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2, 3}), b = tape.variable(Tensor{4, 5, 6}), c = tape.variable(Tensor{.1, .2, .3});
  Value loss = sum(square(a * b + c));
  EXPECT_NEAR(tape.value(loss).item(), 455.74, 1e-3);
  tape.backward_with_checkpoints(loss, {{{3, 4}}});
  auto near = [&](const Var& v, std::vector<double> wanted) {
    auto g = tape.grad(v).to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(g[i], wanted[i], 1e-4);
  };
  near(a, {32.8, 102, 219.6});
  near(b, {8.2, 40.8, 109.8});
  near(c, {8.2, 20.4, 36.6});
  EXPECT_NEAR(tape.value(loss).item(), 455.74, 1e-3);
}

// Nodes of the mlp: 2 data and 12 parameters come first, then a product and a tanh a layer.
tape::CheckpointConfig mlp_segments(int layers) {
  tape::CheckpointConfig config;
  for (int first = 2 + layers; first + 6 <= 2 + 3 * layers; first += 6) config.segments.push_back({first, first + 5});
  return config;
}

TEST(TapeSegments, AreDroppedOnTheWayForwardAndRecomputedOnTheWayBack) {
  constexpr int layers = 12;
  Toy p = mlp_program(layers, 32, 16);
  TapeRun plain = run_on_tape(p, {});
  auto config = mlp_segments(layers);
  std::int64_t held_before = 0, run_before = 0;
  TapeRun segmented = run_on_tape(p, {.checkpoints = config}, [&](Tape& tape, const Var& loss) {
    held_before = tape.stats().bytes;
    run_before = tape.stats().executed;
    EXPECT_EQ(tape.stats().recomputed, 0);
    tape.backward_with_checkpoints(loss, config);
  });
  expect_same_bits(plain, segmented);
  EXPECT_LT(held_before, plain.peak_bytes * 6 / 10);
  EXPECT_LT(segmented.peak_bytes, plain.peak_bytes * 8 / 10);
  // Each dropped value comes back once.
  EXPECT_EQ(segmented.stats.recomputed, segmented.stats.executed - run_before);
  EXPECT_LE(segmented.stats.recomputed, 2 * layers);
  EXPECT_GE(segmented.stats.recomputed, layers);
}

TEST(TapeSegments, ChosenAfterwardsGiveTheSameBits) {
  for (const Toy& p : programs()) {
    TapeRun plain = run_on_tape(p, {});
    for (std::int64_t count : {1, 2, 3, 7}) {
      TapeRun run = run_on_tape(p, {}, [&](Tape& tape, const Var& loss) {
        auto config = tape::CheckpointConfig::uniform(tape.node_count(), count);
        tape.backward_with_checkpoints(loss, config);
        tape.zero_grads();
        tape.backward_with_checkpoints(loss, config);
      });
      expect_same_bits(plain, run);
      EXPECT_GT(run.stats.recomputed, 0) << p.name << " in " << count;
    }
  }
}

TEST(TapeSegments, LiveWithABudget) {
  Toy p = mlp_program(12, 32, 16);
  TapeRun plain = run_on_tape(p, {});
  TapeRun run = run_on_tape(p, {.budget = plain.peak_bytes * 8 / 10, .checkpoints = mlp_segments(12)});
  expect_same_bits(plain, run);
  EXPECT_LE(run.peak_bytes, plain.peak_bytes * 8 / 10);
}

TEST(TapeSegments, MustBeOnTheTapeAndNotBackwards) {
  Tape tape;
  Var x = tape.variable(Tensor{1});
  Value y = square(x);
  EXPECT_THROW(tape.backward_with_checkpoints(y, {{{1, 5}}}), TapeError);
  EXPECT_THROW(tape.backward_with_checkpoints(y, {{{1, 0}}}), TapeError);
  EXPECT_THROW(tape.backward_with_checkpoints(y, {{{0, 1}, {1, 1}}}), TapeError);
}

TEST(TapeSegments, ASkipFromASegmentIsKeptOrComesBack) {
  for (int late = 0; late < 6; ++late) {
    auto gradient = [&](const TapeOptions& options) {
      Tape tape(options);
      Var x = tape.variable(Tensor{.3, .6});
      Values h{x};
      for (int i = 0; i < 6; ++i) h.push_back(sin(h.back()));
      Value skip = h.back() * h[static_cast<std::size_t>(late)] + h[1];
      tape.backward(sum(skip));
      return tape.grad(x).to_vector<float>();
    };
    EXPECT_EQ(gradient({}), gradient({.checkpoints = {{{1, 3}, {4, 5}}}}));
  }
}

}  // namespace
}  // namespace reprise
