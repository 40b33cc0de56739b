// SPDX-License-Identifier: Apache-2.0
// A step that would go astray stops before it changes anything.
#include "message.h"
#include "train/outcome.h"

namespace reprise {
namespace {

// Three layers with running statistics between them; `f` is what the last one goes through.
struct Fragile {
  nn::Linear a{6, 6, true, 1}, b{6, 6, true, 2}, c{6, 6, true, 3};
  nn::BatchNorm norm{6};
  nn::Dropout drop{0.2, 4};
  Value operator()(const Value& x) const { return c(drop(tanh(b(norm(a(x)))))); }
  nn::Fields fields() { return reprise::fields("a", a, "b", b, "c", c, "norm", norm, "drop", drop); }
};

TrainStep fragile_step(const StepOptions& options, const optim::Rule& rule = optim::Adam{}.rule()) {
  auto net = std::make_shared<Fragile>();
  // Finite and of value 0 at scale 0, where its slope is not.
  Function loss = [net](const Values& v) -> Values {
    return {mean(square((*net)(v[0]))) + sum(sqrt(v[1] * square(net->a.weight.in(v[0]))))};
  };
  return TrainStep(loss, nn::parameters(*net), rule, options);
}

Tensor rows(double value) { return Tensor::full({DType::f32, {4, 6}}, value); }
Tensor varied() {
  Tensor t = rows(0);
  for (int i = 0; i < 24; ++i) t.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 7) / 3 - 1;
  return t;
}
const Tensor one = Tensor::scalar(1), zero = Tensor::scalar(0);

std::vector<Tensor> state_of(const TrainStep& step) {
  std::vector<Tensor> all;
  for (const nn::Named& s : step.state()) all.push_back(s.parameter.value().clone());
  return all;
}

void expect_unchanged(const TrainStep& step, const std::vector<Tensor>& before) {
  nn::Fields after = step.state();
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(same_bits(after[i].parameter.value(), before[i])) << after[i].name;
}

template <class F>
NotFinite caught(F f) {
  try {
    f();
  } catch (const NotFinite& e) {
    return e;
  }
  ADD_FAILURE() << "no NotFinite";
  return {"", ""};
}

TEST(CheckFinite, WhatAnOpRefusesChangesNothing) {
  for (FiniteCheck check : {FiniteCheck::loss, FiniteCheck::gradients}) {
    auto net = std::make_shared<Fragile>();
    Function loss = [net](const Values& v) -> Values { return {cross_entropy((*net)(v[0]), v[1])}; };
    TrainStep step(loss, nn::parameters(*net), optim::Adam{}.rule(), {.check_finite = check, .measure = false});
    auto labels = [](std::int64_t last) {
      Tensor t = Tensor::full({DType::i64, {4}}, 2);
      t.span<std::int64_t>()[3] = last;
      return t;
    };
    step(varied(), labels(1));
    std::vector<Tensor> before = state_of(step);
    EXPECT_NE(message_of([&] { step(varied(), labels(99)); }).find("label 99"), std::string::npos);
    expect_unchanged(step, before);
    step(varied(), labels(1));
  }
}

TEST(CheckFinite, AGradientThatIsNotFiniteChangesNothingAndIsNamed) {
  for (std::int64_t budget : {std::int64_t{1} << 40, std::int64_t{0}}) {
    StepOptions options{.check_finite = FiniteCheck::gradients, .measure = false};
    if (budget == 0) {
      try {
        options.budget = 1;
        fragile_step(options)(varied(), one);
      } catch (const NoScheduleFits& e) {
        options.budget = e.smallest_budget;
      }
    }
    TrainStep step = fragile_step(options), judge = fragile_step(options);
    EXPECT_EQ(step(varied(), one), judge(varied(), one));
    std::vector<Tensor> before = state_of(step);
    NotFinite e = caught([&] { step(varied(), zero); });
    EXPECT_NE(std::string(e.what()).find("[train_step] step 1 was stopped: "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("nothing was updated"), std::string::npos) << e.what();
    EXPECT_NE(e.node.find("sqrt"), std::string::npos) << e.what();
    expect_unchanged(step, before);
    EXPECT_EQ(step(varied(), one), judge(varied(), one)) << "it can go on as if nothing had been";
    expect_unchanged(step, state_of(judge));
  }
}

TEST(CheckFinite, NamesTheLayerOrTheBatchThatItCameFrom) {
  StepOptions options{.check_finite = FiniteCheck::gradients, .measure = false};
  TrainStep step = fragile_step(options);
  step(varied(), one);
  EXPECT_EQ(caught([&] { step(rows(NAN), one); }).node, "batch.0");
  auto set = [&](const std::string& name, float value) {
    for (const nn::Named& s : step.state())
      if (s.name == name) s.parameter.value().span<float>()[3] = value;
  };
  set("a.weight", 3e38f);
  NotFinite e = caught([&] { step(varied(), one); });
  EXPECT_NE(std::string(e.what()).find("of 'a.weight'"), std::string::npos) << e.what();
  set("b.weight", INFINITY);
  EXPECT_EQ(caught([&] { step(varied(), one); }).node, "b.weight");
}

TEST(CheckFinite, GivesTheSameBitsAsWithoutIt) {
  for (const optim::Rule& rule : {optim::Sgd{}.rule(), optim::Adam{}.rule()}) {
    TrainStep with = fragile_step({.check_finite = FiniteCheck::gradients, .measure = false}, rule);
    TrainStep without = fragile_step({.measure = false}, rule);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(with(varied(), one), without(varied(), one));
    expect_unchanged(with, state_of(without));
  }
}

TEST(CheckFinite, OfTheLossAloneHoldsNoGradients) {
  TrainStep loss = fragile_step({.check_finite = FiniteCheck::loss, .measure = false});
  TrainStep off = fragile_step({.measure = false});
  EXPECT_EQ(loss(varied(), one), off(varied(), one));
  std::vector<Tensor> before = state_of(loss);
  caught([&] { loss(rows(NAN), one); });
  expect_unchanged(loss, before);
  EXPECT_NO_THROW(loss(varied(), zero)) << "a gradient that is not finite passes";
}

TEST(CheckFinite, WorksWithPartsAndClipping) {
  struct Plain {
    nn::Linear a{6, 6, true, 1};
    nn::Fields fields() { return reprise::fields("a", a); }
  };
  auto net = std::make_shared<Plain>();
  Function loss = [net](const Values& v) -> Values { return {mean(log(net->a(v[0]) + 2))}; };
  TrainStep step(
      loss, nn::parameters(*net), optim::Adam{}.rule(),
      {.accumulate = 2, .clip_norm = 1, .clip_value = 0.5, .check_finite = FiniteCheck::gradients, .measure = false});
  step(varied());
  std::vector<Tensor> before = state_of(step);
  NotFinite e = caught([&] { step(rows(-1e4)); });
  EXPECT_NE(e.node.find("log"), std::string::npos) << e.what();
  expect_unchanged(step, before);
}

TEST(TrainStep, GivesBackTheMemoryItNeedsOnlyWhileItRuns) {
  TrainStep step = fragile_step({.measure = false}), judge = fragile_step({.measure = false});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(step(varied(), one), judge(varied(), one));
    step.give_back();
  }
  expect_unchanged(step, state_of(judge));
  EXPECT_LT(step.pinned_bytes(), step.arena_bytes());
}

TEST(NotFinite, ATimelineEndsWithTheLastInstructionThatWasDone) {
  TrainStep step = fragile_step({.check_finite = FiniteCheck::gradients, .measure = false, .timeline = true});
  auto is_in_order = [&] {
    double last = 0;
    for (const Moment& m : step.timeline()) {
      if (m.begin < last || m.end < m.begin) return false;
      last = m.end;
    }
    return true;
  };
  step(varied(), one);
  std::size_t all = step.timeline().size();
  EXPECT_TRUE(is_in_order());
  EXPECT_THROW(step(rows(NAN), one), NotFinite);
  EXPECT_LT(step.timeline().size(), all);
  EXPECT_TRUE(is_in_order());
}

}  // namespace
}  // namespace reprise
