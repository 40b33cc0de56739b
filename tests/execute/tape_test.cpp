// SPDX-License-Identifier: Apache-2.0
#include "reprise/tape.h"

#include <gtest/gtest.h>

#include <cmath>

#include "message.h"
#include "reprise/autodiff.h"

namespace reprise::tape_tests {
namespace {

using Floats = std::vector<float>;

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

TEST(Tape, RunsOperationsAtOnce) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2, 3});
  Value b = a * a + a;
  EXPECT_EQ(tape.stats().executed, 2);
  EXPECT_EQ(floats(tape.value(b)), (Floats{2, 6, 12}));
  EXPECT_EQ(tape.stats().executed, 2);
}

TEST(Tape, GivesTheGradientsOfAMatrixProduct) {
  Tape tape;
  Var a = tape.variable(Tensor{{1, 2}, {3, 4}}), b = tape.variable(Tensor{{5, 6}, {7, 8}});
  tape.backward(sum(matmul(a, b)));
  EXPECT_EQ(floats(tape.grad(a)), (Floats{11, 15, 11, 15}));
  EXPECT_EQ(floats(tape.grad(b)), (Floats{4, 4, 6, 6}));
}

TEST(Tape, GivesTheGradientsOfDivisionPowerAndClamp) {
  Tape tape;
  Var a = tape.variable(Tensor{6, 10}), b = tape.variable(Tensor{2, 5});
  tape.backward(sum(a / b));
  EXPECT_EQ(floats(tape.grad(a)), (Floats{.5f, .2f}));
  EXPECT_EQ(floats(tape.grad(b)), (Floats{-1.5f, -.4f}));
  Var x = tape.variable(Tensor{2, 3}), y = tape.constant(Tensor{3, 2});
  tape.backward(sum(pow(x, y)));
  EXPECT_EQ(floats(tape.grad(x)), (Floats{12, 6}));
  Var c = tape.variable(Tensor{-1, .5, 1.5, 3});
  tape.backward(sum(clamp(c, 0, 2)));
  EXPECT_EQ(floats(tape.grad(c)), (Floats{0, 1, 1, 0}));
}

TEST(Tape, AddsUpTheGradientsOfSeveralBackwardPasses) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2});
  Value loss = sum(square(a));
  tape.backward(loss);
  tape.backward(loss);
  EXPECT_EQ(floats(tape.grad(a)), (Floats{4, 8}));
  tape.zero_grads();
  EXPECT_FALSE(tape.has_grad(a));
  tape.backward(loss);
  EXPECT_EQ(floats(tape.grad(a)), (Floats{2, 4}));
}

TEST(Tape, TakesASeedForATargetOfAnyShape) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2, 3});
  tape.backward(square(a), Tensor{1, 0, 10});
  EXPECT_EQ(floats(tape.grad(a)), (Floats{2, 0, 60}));
}

TEST(Tape, DifferentiatesGradientsAgain) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Var slope = tape.gradients(sum(x * x * x), {x})[0];
  EXPECT_EQ(floats(tape.value(slope)), (Floats{3, 12}));
  Var curvature = tape.gradients(sum(slope), {x})[0];
  EXPECT_EQ(floats(tape.value(curvature)), (Floats{6, 12}));
  tape.backward(sum(curvature));
  EXPECT_EQ(floats(tape.grad(x)), (Floats{6, 6}));
}

TEST(Tape, RecordsNoGradientsInsideNoGrad) {
  Tape tape;
  Var x = tape.variable(Tensor{3});
  Value inside;
  {
    auto guard = tape.no_grad();
    inside = square(x);
  }
  tape.backward(sum(inside * x));
  EXPECT_EQ(floats(tape.grad(x)), (Floats{9}));
}

TEST(Tape, KeepsTheGradientsOfIntermediateValuesThatAreRetained) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Var h = square(x), other = exp(x);
  tape.retain_grad(h);
  tape.backward(sum(h * h) + sum(other));
  EXPECT_EQ(floats(tape.grad(h)), (Floats{2, 8}));
  EXPECT_FALSE(tape.has_grad(other));
  EXPECT_THROW(tape.grad(other), NoGradient);
}

TEST(Tape, PassesGradientsThroughHooks) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Var h = square(x);
  Floats seen;
  auto id = tape.add_hook(h, [&](const Tensor& g) {
    seen = floats(g);
    return Tensor{10, 20};
  });
  Value loss = sum(h) + sum(h);
  tape.backward(loss);
  EXPECT_EQ(seen, (Floats{2, 2}));  // complete: both uses
  EXPECT_EQ(floats(tape.grad(x)), (Floats{20, 80}));
  tape.remove_hook(id);
  tape.zero_grads();
  tape.backward(loss);
  EXPECT_EQ(floats(tape.grad(x)), (Floats{4, 8}));
  tape.add_hook(h, [](const Tensor&) { return Tensor{1}; });
  EXPECT_THROW(tape.backward(loss), GradientShapeError);
}

TEST(Tape, ClipsByTheNormOfAllGradients) {
  Tape tape;
  Var a = tape.variable(Tensor{3}), b = tape.variable(Tensor{4});
  tape.backward(sum(square(a)) + sum(square(b)));
  EXPECT_DOUBLE_EQ(tape.clip_grad_norm(5), 10);
  EXPECT_EQ(floats(tape.grad(a)), (Floats{3}));
  EXPECT_EQ(floats(tape.grad(b)), (Floats{4}));
  EXPECT_DOUBLE_EQ(tape.clip_grad_norm(100), 5);
  EXPECT_EQ(floats(tape.grad(b)), (Floats{4}));
}

TEST(Tape, ClipsByValueAndCountsNaNs) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2, 3});
  float nan = NAN, inf = INFINITY;
  tape.backward(a * a, Tensor{10, nan, -inf});
  EXPECT_TRUE(std::isnan(tape.clip_grad_norm(1)));  // nothing is scaled
  EXPECT_EQ(floats(tape.grad(a))[0], 20);
  EXPECT_EQ(tape.clip_grad_value(5), 1);
  Floats g = floats(tape.grad(a));
  EXPECT_EQ(g[0], 5);
  EXPECT_TRUE(std::isnan(g[1]));
  EXPECT_EQ(g[2], -5);
}

TEST(Tape, NamesWhatIsWrongByType) {
  Tape tape, other;
  Var a = tape.variable(Tensor{1, 2}), b = other.variable(Tensor{1});
  EXPECT_THROW(tape.value(b), NodeNotFound);
  EXPECT_THROW(tape.grad(b), NodeNotFound);
  EXPECT_THROW(tape.value(Value(Tensor{1})), NodeNotFound);
  EXPECT_THROW(tape.backward(a), NonScalarTarget);
  EXPECT_THROW(tape.backward(a, Tensor{1}), GradientShapeError);
  EXPECT_THROW(a + tape.variable(Tensor{1, 2, 3}), BroadcastError);
  EXPECT_THROW(attention(a, a, a), RankError);
  EXPECT_THROW(tape.truncate(100), TruncateError);
  EXPECT_THROW(tape.truncate(-1), TruncateError);
  EXPECT_THROW(tape.variable(Tensor::zeros({DType::i64, {2}})), Error);
}

TEST(Tape, TruncatedNodesAreErrorsNeverOtherNodes) {
  Tape tape;
  Var w = tape.variable(Tensor{2});
  std::int64_t mark = tape.node_count();
  Value raw = w * w;
  Var gone = raw;
  tape.truncate(mark);
  Var fresh = exp(w);
  EXPECT_EQ(fresh.id(), gone.id());
  EXPECT_THROW(tape.value(gone), NodeNotFound);
  EXPECT_THROW(tape.value(raw), NodeNotFound);
  EXPECT_THROW(raw + raw, Error);
  EXPECT_THROW(raw + w, Error);
  EXPECT_EQ(tape.value(w).item(), 2);
  tape.backward(fresh);
  EXPECT_FLOAT_EQ(static_cast<float>(tape.grad(w).item()), std::exp(2.f));
}

TEST(Tape, ALoopOfStepsDoesNotGrow) {
  Tape tape;
  Var w = tape.variable(Tensor{2});
  std::int64_t mark = tape.node_count();
  for (int step = 0; step < 50; ++step) {
    tape.backward(sum(square(w)));
    float value = static_cast<float>(tape.value(w).item() - 0.1 * tape.grad(w).item());
    tape.zero_grads();
    tape.truncate(mark);
    tape.assign(w, Tensor{value});
  }
  EXPECT_EQ(tape.node_count(), mark);
  EXPECT_LT(tape.value(w).item(), 1e-4);
}

TEST(Tape, RefusesToChangeWhatWasUsed) {
  Tape tape;
  Var w = tape.variable(Tensor{2});
  Value y = square(w);
  EXPECT_EQ(message_of([&] { tape.assign(w, Tensor{3}); }),
            "[tape] assign: node 1 was computed from it: truncate(1) first");
}

TEST(Tape, FailedOperationsLeaveNothingBehind) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  auto count = tape.node_count();
  EXPECT_THROW(gather(x, tape.constant(Tensor::from<std::int64_t>(std::vector<std::int64_t>{7}, {1}))), Error);
  EXPECT_EQ(tape.node_count(), count + 1);  // the constant
  tape.backward(sum(x));
  EXPECT_EQ(floats(tape.grad(x)), (Floats{1, 1}));
}

TEST(Tape, IsGoneForTheVarsThatOutliveIt) {
  Var left;
  {
    Tape tape;
    left = tape.variable(Tensor{1});
  }
  EXPECT_THROW(square(left), NodeNotFound);
}

TEST(Tape, AGradientIsNobodyElsesMemory) {
  Tape tape;
  Var a = tape.variable(Tensor{1, 2}), b = tape.variable(Tensor{3, 4});
  Tensor seed{1, 1};
  tape.backward(a + b, seed);
  Tensor of_a = tape.grad(a);
  seed.span<float>()[0] = 7;
  of_a.span<float>()[1] = 9;
  EXPECT_EQ(tape.grad(a).to_vector<float>(), (std::vector<float>{1, 9}));
  EXPECT_EQ(tape.grad(b).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Tape, AHookMayRemoveItselfAndRecordButNotTruncate) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Value y = tanh(x);
  std::int64_t id = 0;
  int calls = 0;
  id = tape.add_hook(Var(y), [&](const Tensor& g) {
    ++calls;
    tape.remove_hook(id);
    for (int i = 0; i < 200; ++i) tanh(x);
    return g;
  });
  tape.backward(sum(y));
  tape.backward(sum(y));
  EXPECT_EQ(calls, 1);
  tape.add_hook(Var(y), [&](const Tensor& g) {
    tape.truncate(1);
    return g;
  });
  EXPECT_THROW(tape.backward(sum(y)), TapeError);
}

TEST(Tape, RefusedSegmentsLeaveTheTapeAsItWas) {
  Tape tape;
  Var x = tape.variable(Tensor{1, 2});
  Value loss = sum(tanh(x));
  EXPECT_THROW(tape.backward_with_checkpoints(loss, {{{-5'000'000, 1}}}), TapeError);
  tape.backward(sum(tanh(x)));
  EXPECT_GT(tape.grad(x).to_vector<float>()[0], 0);
}

// What a refused backward pass held is free again.
TEST(Tape, ABackwardThatDoesNotFitLeavesNothingBehind) {
  Tape tape({.budget = 8200});
  Var x = tape.variable(Tensor::full({DType::f32, {1000}}, 1));
  Value loss = sum(x + x);
  EXPECT_THROW(tape.backward(loss), BudgetError);
  tape.truncate(1);
  EXPECT_EQ(tape.stats().bytes, 4000);
  EXPECT_EQ(tape.value(tanh(x)).elements(), 1000);
}

}  // namespace
}  // namespace reprise::tape_tests
