// SPDX-License-Identifier: Apache-2.0
// What three training steps leave behind, to compare bit for bit.
#pragma once

#include <gtest/gtest.h>

#include "reprise/train.h"

namespace reprise {

/// A model to train: made anew for every run, so that each starts from the same weights.
struct Subject {
  Function loss;
  nn::Fields parameters;
  optim::Rule rule;
  std::vector<Tensor> batch;
};

struct Outcome {
  std::vector<double> losses;
  std::vector<nn::Named> state;  // parameters, running statistics, optimizer state
  PlanResult plan;
  std::int64_t arena_bytes = 0;
};

inline Outcome train(const Subject& subject, const StepOptions& options) {
  Outcome outcome;
  TrainStep step(subject.loss, subject.parameters, subject.rule, options);
  for (int i = 0; i < 3; ++i) outcome.losses.push_back(step.run(subject.batch));
  for (const nn::Named& s : step.state()) outcome.state.push_back({s.name, nn::Parameter(s.parameter.value().clone())});
  outcome.plan = step.plan();
  outcome.arena_bytes = step.arena_bytes();
  return outcome;
}

/// What a budget of one byte is refused with.
inline std::int64_t smallest_budget_of(const Subject& subject, StepOptions options) {
  options.budget = 1;
  try {
    train(subject, options);
  } catch (const NoScheduleFits& e) {
    return e.smallest_budget;
  }
  ADD_FAILURE() << "one byte cannot be enough";
  return 0;
}

inline void expect_same_bits(const Outcome& a, const Outcome& b, const std::string& where) {
  EXPECT_EQ(a.losses, b.losses) << where;
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i)
    EXPECT_TRUE(same_bits(a.state[i].parameter.value(), b.state[i].parameter.value()))
        << where << ": " << a.state[i].name;
}

/// Trains without a limit, then within shares of what that took and within the smallest budget there is: with every
/// debugging aid on, the bits must be the same.
template <class Make>
void expect_same_bits_under_budgets(const Make& make) {
  StepOptions options{.planning = {.iterations = 100}, .measure = false};
  Outcome free = train(make(), options);
  options.poison = options.verify_recompute = true;
  std::int64_t smallest = smallest_budget_of(make(), options);
  int within = 0;
  for (double share : {1.0, 0.75, 0.5, 0.35, 0.25, 0.0}) {
    options.budget = std::max(smallest, static_cast<std::int64_t>(share * static_cast<double>(free.arena_bytes)));
    Outcome tight = train(make(), options);
    within += tight.plan.recomputed > 0;
    EXPECT_LE(tight.arena_bytes, options.budget);
    EXPECT_EQ(tight.arena_bytes, tight.plan.layout_bytes);
    expect_same_bits(free, tight, "budget " + format_bytes(options.budget) + " of " + format_bytes(free.arena_bytes));
    if (options.budget == smallest) break;
  }
  EXPECT_GT(within, 0) << "no budget made anything be recomputed";
}

}  // namespace reprise
