// SPDX-License-Identifier: Apache-2.0
// Whatever a budgeted tape takes from its caller or makes itself, the allocator's meter stays within the limit.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "execute/programs.h"

namespace reprise::tape_limit_tests {
namespace {

constexpr std::int64_t vector_bytes = 4000;  // of the vectors below

Tensor vector_of(double value) { return Tensor::full({DType::f32, {1000}}, value); }

// A tape with a budget of so many vectors and some scalars, judged by the allocator and by its own count. Tensors that
// the tests make before are the caller's, until the tape takes them.
class Metered {
 public:
  explicit Metered(std::int64_t vectors) : budget_(vectors * vector_bytes + 200), tape({.budget = budget_}) {
    reset_memory_peak();
  }

  /// `call` makes the tape hold this tensor.
  template <class F>
  auto take(const Tensor& t, F&& call) {
    judge();
    auto result = call(t);
    given_ += t.bytes();
    reset_memory_peak();
    judge();
    return result;
  }
  Var variable(const Tensor& t) {
    return take(t, [&](const Tensor& x) { return tape.variable(x); });
  }
  /// While the tape holds `more` of the caller's bytes for a while.
  void judge_peak(std::int64_t more) const {
    EXPECT_LE(memory_use().peak_bytes - before_ + given_ + more, budget_);
    EXPECT_LE(tape.stats().peak_bytes, budget_);
  }
  void judge() const {
    judge_peak(0);
    EXPECT_NEAR(static_cast<double>(tape.stats().bytes),
                static_cast<double>(memory_use().live_bytes - before_ + given_), 64);
  }

 private:
  std::int64_t budget_, given_ = 0, before_ = memory_use().live_bytes;

 public:
  Tape tape;
};

// A chain of values that fills the budget.
Value fill(const Var& x, int length) {
  Value h = x;
  for (int i = 0; i < length; ++i) h = sin(h);
  return h;
}

TEST(TapeLimit, HoldsForVariablesAndConstants) {
  Tensor a = vector_of(0.5), b = vector_of(0.25), c = vector_of(2);
  Metered m(6);
  fill(m.variable(a), 9);
  m.variable(b);
  m.take(c, [&](const Tensor& t) { return m.tape.constant(t); });
  EXPECT_GT(m.tape.stats().evictions, 5);
}

TEST(TapeLimit, HoldsForTensorsUsedAsOperands) {
  Tensor a = vector_of(0.5), b = vector_of(0.25), c = vector_of(2);
  Metered m(6);
  Value h = fill(m.variable(a), 9);
  Value y = m.take(b, [&](const Tensor& t) { return h * Value(t); });
  y = m.take(c, [&](const Tensor& t) { return y + Value(t); });
  EXPECT_EQ(m.tape.value(y).elements(), 1000);
  m.judge();
}

// A hook on the target runs while the tape holds the seed.
TEST(TapeLimit, HoldsForSeeds) {
  Tensor a = vector_of(0.5), seed = vector_of(0.25);
  Metered m(7);
  Var x = m.variable(a);
  Var h = fill(x, 12);
  m.tape.add_hook(h, [&](const Tensor& g) {
    EXPECT_EQ(g.data(), seed.data());
    reset_memory_peak();
    m.judge_peak(seed.bytes());
    return g;
  });
  m.tape.backward(h, seed);
  m.judge();
  EXPECT_GT(m.tape.stats().recomputed, 0);
}

TEST(TapeLimit, HoldsForWhatHooksReturn) {
  Tensor a = vector_of(0.5);
  Tape plain;
  Var z = plain.variable(a);
  plain.backward(sum(fill(z, 12)));
  Metered m(7);
  Var x = m.variable(a);
  Values h{x};
  for (int i = 0; i < 12; ++i) {
    h.push_back(sin(h.back()));
    m.tape.add_hook(h.back(), [](const Tensor& g) {
      Tensor twice = Tensor::empty(g.type());
      for (std::size_t k = 0; k < 1000; ++k) twice.span<float>()[k] = 2 * g.span<float>()[k];
      return twice;
    });
  }
  m.tape.backward(sum(h.back()));
  m.judge();
  EXPECT_EQ(m.tape.grad(x).span<float>()[7], 4096 * plain.grad(z).span<float>()[7]);
}

TEST(TapeLimit, AnAssignedValueTakesThePlaceOfTheOldOne) {
  Tensor a = vector_of(0.5), b = vector_of(0.25);
  Metered m(2);
  Var x = m.tape.variable(a);
  tanh(x);
  m.tape.truncate(1);
  m.tape.assign(x, b);
  EXPECT_EQ(m.tape.stats().peak_bytes, 2 * vector_bytes);
  EXPECT_EQ(m.tape.stats().bytes, vector_bytes);
  m.tape.assign(x, m.tape.value(x));
  EXPECT_EQ(m.tape.value(x).span<float>()[0], 0.25f);
}

// Two variables of one tensor: an assigned one needs room of its own.
TEST(TapeLimit, HoldsForAssignedValuesWhoseOldMemoryStays) {
  Tensor a = vector_of(0.5), b = vector_of(0.25);
  Metered m(3);
  Var x = m.variable(a), y = m.tape.variable(a);
  EXPECT_EQ(m.tape.stats().bytes, vector_bytes);
  fill(x, 2);
  m.take(b, [&](const Tensor& t) {
    m.tape.assign(y, t);
    return 0;
  });
  EXPECT_EQ(m.tape.stats().evictions, 1);
}

TEST(TapeLimit, HoldsForClipping) {
  Tensor a = vector_of(0.5);
  Metered m(4);
  Var x = m.variable(a);
  m.tape.backward(sum(square(x)));
  EXPECT_NEAR(m.tape.clip_grad_norm(1), std::sqrt(1000.0), 1e-3);
  m.tape.clip_grad_value(0.01);
  EXPECT_EQ(m.tape.grad(x).span<float>()[0], 0.01f);
  m.judge();
}

TEST(TapeLimit, ClippingLeavesAGradientInTheCallersHandsAsItWas) {
  Tensor a = vector_of(0.5);
  Metered m(4);
  Var x = m.variable(a);
  m.tape.backward(sum(square(x)));
  Tensor before = m.tape.grad(x);
  m.tape.clip_grad_value(0.25);
  EXPECT_EQ(before.span<float>()[0], 1);
  EXPECT_EQ(m.tape.grad(x).span<float>()[0], 0.25f);
  EXPECT_LE(m.tape.stats().peak_bytes, 4 * vector_bytes + 200);
}

TEST(TapeLimit, HoldsForSecondOrderAndAccumulation) {
  Random random(4);
  Tensor start = random_tensor(random, {1000});
  Metered m(12);
  Var x = m.variable(start);
  Var slope = m.tape.gradients(sum(fill(x, 6)), {x})[0];
  Value loss = sum(square(slope));
  m.tape.backward(loss);
  m.tape.backward(loss);
  m.judge();
}

// Values so small that the scalars of gradient rules matter.
TEST(TapeLimit, HoldsWhileGradientRulesAreCompiled) {
  Random random(5);
  Tensor start = random_tensor(random, {8, 8});
  int fits = 0;
  for (std::int64_t budget = 1000; budget < 5000; budget += 24) {
    MemoryScope scope;
    try {
      Tape tape({.budget = budget});
      Var x = tape.variable(start.clone());
      auto [out, mean, variance] = batch_norm(gelu(x), sum(x, {0}), max(x, {1}));
      tape.backward(sum(log_softmax(out) * mish(x)) + sum(prod(x, {0})));
      EXPECT_TRUE(tape.has_grad(x));
      ++fits;
    } catch (const BudgetError&) {
    }
    EXPECT_LE(scope.use().peak_bytes, budget);
  }
  EXPECT_GT(fits, 20);
}

// The budget that an error names is enough, and a byte less is not.
void expect_exact_need(std::int64_t budget, const std::function<void(Tape&)>& program) {
  auto needed_in = [&](std::int64_t bytes) -> std::int64_t {
    Tape tape({.budget = bytes});
    try {
      program(tape);
    } catch (const BudgetError& e) {
      EXPECT_EQ(e.budget_bytes, bytes);
      return e.needed_bytes;
    }
    return 0;
  };
  std::int64_t needed = needed_in(budget);
  EXPECT_GT(needed, budget);
  EXPECT_EQ(needed_in(needed), 0);
  EXPECT_EQ(needed_in(needed - 1), needed);
}

TEST(TapeLimit, AnErrorNamesTheWholeNeedOfAnOp) {
  expect_exact_need(3 * vector_bytes, [](Tape& tape) {
    Var x = tape.variable(vector_of(0.5));
    Value a = sin(x), b = cos(x);
    a* b;
  });
}

TEST(TapeLimit, AnErrorNamesTheWholeNeedOfAGradient) {
  expect_exact_need(4 * vector_bytes + 200, [](Tape& tape) {
    Var x = tape.variable(vector_of(0.5));
    Value a = sin(x), y = a * x;
    tape.backward(sum(y * a));
  });
}

TEST(TapeLimit, AnErrorNamesTheWholeNeedOfASeedAndOfAValue) {
  Tape tape({.budget = 3 * vector_bytes});
  Var x = tape.variable(vector_of(0.5)), y = tape.variable(vector_of(0.5));
  try {
    tape.backward(x, vector_of(1));
    FAIL();
  } catch (const BudgetError& e) {
    EXPECT_EQ(e.needed_bytes, 3 * vector_bytes + 64);
  }
  EXPECT_FALSE(tape.has_grad(x));
  EXPECT_EQ(tape.stats().bytes, 2 * vector_bytes);
}

TEST(TapeLimit, AnUnbudgetedTapeKnowsItsPeakAndItsSeconds) {
  for (const Toy& p : {mlp_program(8, 16, 16), resnet_program(4, 2, 4, 6), lstm_program(6, 8, 8)}) {
    TapeRun run = run_on_tape(p, {});
    EXPECT_NEAR(static_cast<double>(run.stats.peak_bytes), static_cast<double>(run.peak_bytes), 16) << p.name;
    EXPECT_GT(run.stats.seconds, 0);
    EXPECT_EQ(run.stats.recompute_seconds, 0);
    TapeRun segmented = run_on_tape(p, {}, [&](Tape& tape, const Var& loss) {
      tape.backward_with_checkpoints(loss, tape::CheckpointConfig::uniform(tape.node_count(), 3));
    });
    EXPECT_NEAR(static_cast<double>(segmented.stats.peak_bytes), static_cast<double>(segmented.peak_bytes), 16);
    EXPECT_GT(segmented.stats.recompute_seconds, 0);
    EXPECT_GT(segmented.stats.seconds, segmented.stats.recompute_seconds);
  }
}

TEST(TapeLimit, AnUnbudgetedTapesBytesComeBackToWhatTheyWere) {
  Tape tape;
  Var x = tape.variable(vector_of(0.5));
  Tensor kept;
  std::vector<Tensor> seen;
  for (int step = 0; step < 3; ++step) {
    Var h = sin(x);
    tape.add_hook(h, [&](const Tensor& g) {
      seen.push_back(g);
      return g;
    });
    tape.backward(sum(h * h));
    EXPECT_EQ(tape.stats().bytes, 4 * vector_bytes + 4);
    tape.clip_grad_norm(1e-3);
    kept = tape.grad(x);
    tape.zero_grads();
    tape.truncate(1);
    EXPECT_EQ(tape.stats().bytes, vector_bytes);
  }
}

}  // namespace
}  // namespace reprise::tape_limit_tests
