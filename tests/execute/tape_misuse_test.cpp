// SPDX-License-Identifier: Apache-2.0
// What a tape or executor refuses, by which type, and that it is as it was afterwards.
#include <gtest/gtest.h>

#include <cmath>

#include "message.h"
#include "reprise/tape.h"

namespace reprise::tape_misuse_tests {
namespace {

using Floats = std::vector<float>;

TEST(TapeMisuse, ValuesOfTwoTapesInOneOpAreNodeNotFound) {
  Tape tape, other;
  Var a = tape.variable(Tensor{1, 2}), b = other.variable(Tensor{3, 4});
  EXPECT_THROW(a + b, NodeNotFound);
  EXPECT_THROW(b - a, NodeNotFound);
  auto graph = std::make_shared<Graph>();
  Value plain(graph, graph->add_input({DType::f32, {2}}));
  EXPECT_THROW(a * plain, NodeNotFound);
  EXPECT_THROW(plain * a, NodeNotFound);
  EXPECT_EQ(tape.node_count(), 1);
  EXPECT_EQ(other.node_count(), 1);
  Value old = square(a);
  tape.truncate(1);
  EXPECT_THROW(old + a, NodeNotFound);
}

TEST(TapeMisuse, RefusedOpsLeaveNoConstantsBehind) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  EXPECT_THROW(x + Value(Tensor{1, 2, 3}), BroadcastError);
  EXPECT_THROW(x * tanh(Value(Tensor{1, 2, 3})), BroadcastError);
  Tensor indices = Tensor::from<std::int64_t>(std::vector<std::int64_t>{7}, {1});
  EXPECT_THROW(gather(x, Value(indices)), Error);
  EXPECT_EQ(tape.node_count(), 1);
  EXPECT_EQ(tape.stats().bytes, 8);
  tape.backward(sum(x * Value(Tensor{3, 4})));
  EXPECT_EQ(tape.grad(x).to_vector<float>(), (Floats{3, 4}));
}

TEST(TapeMisuse, GradientsThatDoNotExistLeaveTheTapeAsItWas) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Value y = sum(cast(argmax(x * x, 0), DType::f32) * square(x));
  std::int64_t count = tape.node_count();
  Var i = tape.constant(Tensor::zeros({DType::i64, {1}}));
  EXPECT_THROW(tape.gradients(y, {i}), TapeError);
  EXPECT_EQ(tape.node_count(), count + 1);
}

TEST(TapeMisuse, GradientsStopAtWhatWasRecordedUnderNoGrad) {
  Tape tape;
  Var x = tape.variable(Tensor{3}), c = tape.constant(Tensor{5});
  Value inside, of_constant;
  {
    auto guard = tape.no_grad();
    inside = square(x);
    of_constant = square(c);
  }
  Value y = sum(inside * x + of_constant);
  tape.backward(y);
  auto g = tape.gradients(y, {x, c, inside});
  EXPECT_EQ(tape.value(g[0]).item(), 9);
  EXPECT_EQ(tape.value(g[0]).item(), tape.grad(x).item());
  EXPECT_EQ(tape.value(g[1]).item(), 0);
  EXPECT_EQ(tape.value(g[2]).item(), 3);
}

TEST(TapeMisuse, OnlyValuesWithAGradientCanRetainOrHookIt) {
  Tape tape;
  Var x = tape.variable(Tensor{1}), c = tape.constant(Tensor{2});
  auto same = [](const Tensor& g) { return g; };
  Var detached;
  {
    auto guard = tape.no_grad();
    detached = square(x);
  }
  for (const Var& v : {c, Var(c * c), detached}) {
    EXPECT_THROW(tape.retain_grad(v), TapeError);
    EXPECT_THROW(tape.add_hook(v, same), TapeError);
  }
  EXPECT_EQ(
      message_of([&] { tape.retain_grad(c); }),
      "[tape] retain_grad: this value has no gradient: it depends on no variable, or was recorded under no_grad()");
  EXPECT_EQ(message_of([&] { tape.add_hook(x, nullptr); }), "[tape] add_hook: the hook is empty");
}

TEST(TapeMisuse, AHookThatThrowsLeavesAUsableTape) {
  for (std::int64_t budget : {std::int64_t{4096}, TapeOptions{}.budget}) {
    Tape tape({.budget = budget});
    Var x = tape.variable(Tensor{1, 2}), late = tape.variable(Tensor{1, 1});
    Var h = square(x);
    auto id = tape.add_hook(h, [](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
    Value loss = sum(h + late);
    std::int64_t held = tape.stats().bytes;
    EXPECT_THROW(tape.backward(loss), std::runtime_error);
    EXPECT_FALSE(tape.has_grad(x));  // the pass came no farther than h
    tape.zero_grads();
    EXPECT_EQ(tape.stats().bytes, held) << budget;
    tape.remove_hook(id);
    tape.backward(loss);
    EXPECT_EQ(tape.grad(x).to_vector<float>(), (Floats{2, 4}));
    EXPECT_EQ(tape.grad(late).to_vector<float>(), (Floats{1, 1}));
  }
}

TEST(TapeMisuse, AMovedFromTapeIsATapeError) {
  Tape tape;
  Var x = tape.variable(Tensor{1});
  Tape next = std::move(tape);
  EXPECT_EQ(next.value(x).item(), 1);
  EXPECT_EQ(message_of([&] { tape.value(x); }), "[tape] this tape was moved from: use the one it was moved to");
  EXPECT_THROW(tape.variable(Tensor{1}), TapeError);
  EXPECT_THROW(tape.backward(x), TapeError);
  EXPECT_THROW(tape.node_count(), TapeError);
  EXPECT_THROW(tape.zero_grads(), TapeError);
  EXPECT_THROW(tape.stats(), TapeError);
  EXPECT_THROW((void)tape.no_grad(), TapeError);
  EXPECT_THROW(tape.truncate(0), TapeError);
  tape = Tape();
  EXPECT_EQ(tape.node_count(), 0);
}

TEST(TapeMisuse, HalvesUsedTwiceSumTheirGradientsInF32) {
  for (DType half : {DType::f16, DType::bf16}) {
    Tape tape;
    Var x = tape.variable(Tensor{1, 2}.to(half));
    Value y = sum(cast(x, DType::f32) * Value(Tensor{3, 4}) + square(cast(x, DType::f32)));
    tape.backward(y);
    EXPECT_EQ(tape.grad(x).to_vector<float>(), (Floats{5, 8}));
    tape.backward(y);
    EXPECT_EQ(tape.grad(x).to_vector<float>(), (Floats{10, 16}));
    EXPECT_EQ(tape.value(tape.gradients(y, {x})[0]).to_vector<float>(), (Floats{5, 8}));
    EXPECT_EQ(tape.clip_grad_norm(1), std::sqrt(356.0));
  }
}

TEST(TapeMisuse, ANormIsFiniteWhereItsSquaresAreNot) {
  for (double scale : {1e200, 1e-200}) {
    Tape tape;
    Tensor start = Tensor::empty({DType::f64, {2}});
    start.span<double>()[0] = 3 * scale, start.span<double>()[1] = -4 * scale;
    Var x = tape.variable(Tensor::full({DType::f64, {2}}, 1));
    tape.backward(x, start);
    EXPECT_DOUBLE_EQ(tape.clip_grad_norm(scale), 5 * scale);
    EXPECT_DOUBLE_EQ(tape.grad(x).span<double>()[1], -0.8 * scale);
  }
}

TEST(LazyMisuse, AMovedFromExecutorAndANullGraphAreErrors) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{1});
  LazyExecutor next = std::move(lazy);
  EXPECT_EQ(next.evaluate(square(x)).item(), 1);
  EXPECT_EQ(message_of([&] { lazy.evaluate(x); }), "[lazy] this executor was moved from: use the one it was moved to");
  EXPECT_THROW(lazy.input(Tensor{1}), Error);
  EXPECT_THROW(lazy.stats(), Error);
  EXPECT_THROW(lazy.elem_op("relu", Tensor{1}), Error);
  EXPECT_THROW(lazy.invalidate_cache(), Error);
  EXPECT_THROW(lazy.timeline(), Error);
  EXPECT_EQ(message_of([&] { next.forward(nullptr); }), "[forward] there is no graph: the pointer is null");
  EXPECT_THROW(next.forward(nullptr, {}), Error);
  EXPECT_THROW(next.backward(nullptr, Tensor{1}), Error);
  EXPECT_THROW(next.memory_estimate_for(nullptr), Error);
}

}  // namespace
}  // namespace reprise::tape_misuse_tests
