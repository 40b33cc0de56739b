// SPDX-License-Identifier: Apache-2.0
#include "reprise/train.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <thread>

#include "base/random.h"
#include "message.h"
#include "train/outcome.h"

namespace reprise {
namespace {

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  Tensor t = Tensor::empty({DType::f32, shape});
  for (float& x : t.span<float>()) x = static_cast<float>(random.uniform(-1, 1));
  return t;
}

std::vector<Tensor> square_batch(std::int64_t rows, std::int64_t width) {
  return {random_tensor({rows, width}, 1), random_tensor({rows, width}, 2)};
}

nn::Sequential deep_mlp(int layers, std::int64_t width) {
  nn::Sequential model;
  for (int i = 0; i < layers; ++i) {
    model.add(nn::Linear(width, width, true, static_cast<nn::Seed>(10 * i)));
    model.add(reprise::tanh);
  }
  return model;
}

template <class Model>
Subject subject(Model model, const optim::Rule& rule, std::vector<Tensor> batch) {
  auto shared = std::make_shared<Model>(std::move(model));
  Function loss = [shared](const Values& v) -> Values { return {mse((*shared)(v[0]), v[1])}; };
  return {loss, nn::parameters(*shared), rule, std::move(batch)};
}

template <class Optimizer>
void expect_same_bits_with(const Optimizer& optimizer) {
  expect_same_bits_under_budgets([&] { return subject(deep_mlp(6, 24), optimizer.rule(), square_batch(64, 24)); });
}

TEST(TrainStep, GivesTheSameBitsUnderEveryBudgetWithEveryOptimizer) {
  expect_same_bits_with(optim::Sgd{{.lr = 0.1}});
  expect_same_bits_with(optim::Sgd{{.lr = 0.1, .momentum = 0.9, .nesterov = true}});
  expect_same_bits_with(optim::Adam{{.lr = 0.01}});
  expect_same_bits_with(optim::AdamW{});
  expect_same_bits_with(optim::Adagrad{});
  expect_same_bits_with(optim::RmsProp{});
  expect_same_bits_with(optim::RmsProp{{.momentum = 0.5, .centered = true}});
  expect_same_bits_with(optim::RAdam{});
  expect_same_bits_with(optim::Lamb{});
  expect_same_bits_with(optim::Lars{});
  expect_same_bits_with(optim::Lookahead<optim::Adam>{{{.lr = 0.01}}, 2});
}

struct WithDropout {
  nn::Linear a{24, 48, true, 1}, b{48, 48, true, 2}, c{48, 24, true, 3};
  nn::Dropout drop{0.3, 4};
  Value operator()(const Value& x) const { return c(drop(gelu(b(drop(gelu(a(x))))))); }
  nn::Fields fields() { return reprise::fields("a", a, "b", b, "c", c, "drop", drop); }
};

TEST(TrainStep, DropoutMasksComeBackIdentical) {
  expect_same_bits_under_budgets([] { return subject(WithDropout(), optim::Sgd{}.rule(), square_batch(64, 24)); });
}

TEST(TrainStep, DropoutDrawsOtherMasksEveryStepAndEveryUse) {
  nn::Dropout drop(0.5, 1);
  nn::Parameter w(Tensor::full({DType::f32, {256}}, 1));
  auto outputs = std::make_shared<int>(0);
  Compiled f([&](const Values& v) -> Values { return {drop(v[0]), drop(v[0] * 1.0)}; }, {.measure = false});
  Tensor ones = Tensor::full({DType::f32, {256}}, 1);
  std::vector<Tensor> first = f(ones), second = f(ones);
  EXPECT_FALSE(same_bits(first[0], first[1]));
  EXPECT_FALSE(same_bits(first[0], second[0]));
}

struct Tied {
  nn::Linear shared{24, 24, true, 1};
  nn::Parameter scale{Tensor::full({DType::f32, {24}}, 1)};
  Value operator()(const Value& x) const {
    Value h = x;
    for (int i = 0; i < 6; ++i) h = tanh(shared(h)) * scale.in(x);
    return linear(h, shared.weight.in(x));
  }
  nn::Fields fields() { return reprise::fields("shared", shared, "scale", scale); }
};

TEST(TrainStep, TiedWeightsGiveTheSameBits) {
  expect_same_bits_under_budgets([] { return subject(Tied(), optim::Adam{}.rule(), square_batch(64, 24)); });
}

TEST(TrainStep, AnUnusedOutputGivesTheSameBits) {
  expect_same_bits_under_budgets([] {
    Subject s = subject(deep_mlp(6, 24), optim::Sgd{}.rule(), square_batch(64, 24));
    Function inner = s.loss;
    s.loss = [inner](const Values& v) -> Values {
      split(exp(v[0]), 2, 0);  // recorded, never used
      Values halves = split(v[0] * 2.0, 2, 1);
      return {inner(v)[0] + mean(halves[0])};
    };
    return s;
  });
}

TEST(TrainStep, FrozenParametersStayAndGiveTheSameBits) {
  auto make = [] {
    Subject s = subject(deep_mlp(6, 24), optim::Adam{}.rule(), square_batch(64, 24));
    for (std::size_t i = 0; i < 6; ++i) s.parameters[i].parameter.train(false);
    return s;
  };
  expect_same_bits_under_budgets(make);
  Subject before = make();
  Outcome after = train(make(), {.measure = false});
  EXPECT_TRUE(same_bits(before.parameters[0].parameter.value(), after.state[0].parameter.value()));
  EXPECT_FALSE(same_bits(before.parameters[6].parameter.value(), after.state[18].parameter.value()));
}

struct WithBatchNorm {
  nn::Conv a{2, 6, {3, 3}, {.pads = {1}}, false, 1}, b{6, 6, {3, 3}, {.pads = {1}}, false, 2},
      c{6, 2, {3, 3}, {.pads = {1}}, false, 3};
  nn::BatchNorm norm{6}, second{6};
  Value operator()(const Value& x) const { return c(relu(second(b(relu(norm(a(x))))))); }
  nn::Fields fields() { return reprise::fields("a", a, "norm", norm, "b", b, "second", second, "c", c); }
};

TEST(TrainStep, RunningStatisticsChangeOnceAStep) {
  std::vector<Tensor> images = {random_tensor({4, 2, 8, 8}, 1), random_tensor({4, 2, 8, 8}, 2)};
  auto make = [&] { return subject(WithBatchNorm(), optim::Sgd{{.lr = 0}}.rule(), images); };
  expect_same_bits_under_budgets(make);
  // With a rate of 0 every step sees the same batch mean m, so three steps leave m (1 - 0.9^3).
  WithBatchNorm model;
  Compiled first([&](const Values& v) -> Values { return {mean(model.a(v[0]), {0, 2, 3})}; }, {.measure = false});
  std::vector<float> m = first(images[0])[0].to_vector<float>();
  Outcome outcome = train(make(), {.measure = false});
  for (const nn::Named& s : outcome.state) {
    if (s.name != "norm.running_mean") continue;
    std::vector<float> kept = s.parameter.value().to_vector<float>();
    for (std::size_t i = 0; i < m.size(); ++i) EXPECT_NEAR(kept[i], m[i] * (1 - 0.9 * 0.9 * 0.9), 1e-5);
  }
}

TEST(TrainStep, RefusesOneByteLessThanTheSmallestBudget) {
  Subject s = subject(deep_mlp(6, 24), optim::Sgd{}.rule(), square_batch(64, 24));
  std::vector<Type> types = {s.batch[0].type(), s.batch[1].type()};
  std::int64_t smallest = 0;
  try {
    TrainStep(s.loss, s.parameters, s.rule, {.budget = 1000, .measure = false}).compile(types);
    FAIL();
  } catch (const NoScheduleFits& e) {
    EXPECT_EQ(std::string(e.what()).find("no schedule fits 1000 B: the smallest budget is "), 0u) << e.what();
    smallest = e.smallest_budget;
  }
  for (bool measures : {false, true}) {
    TrainStep step(s.loss, s.parameters, s.rule, {.budget = smallest - 1, .measure = measures});
    MemoryScope scope;
    EXPECT_THROW(step.compile(types), NoScheduleFits);
    EXPECT_LT(scope.use().peak_bytes, 1000) << "tensors were allocated";
  }
  TrainStep step(s.loss, s.parameters, s.rule, {.budget = smallest, .measure = false});
  step.run(s.batch);
  EXPECT_LE(step.arena_bytes(), smallest);
}

TEST(TrainStep, RefusesBeforeAnOpOfAnyPartIsTimed) {
  Subject s = subject(deep_mlp(2, 64), optim::Sgd{}.rule(), square_batch(4, 64));
  StepOptions options{.accumulate = 0, .planning = {.iterations = 100}, .measure = false};
  options.budget = smallest_budget_of(s, options) - 1;
  auto taken = [&](bool measures) {
    options.measure = measures;
    TrainStep step(s.loss, s.parameters, s.rule, options);
    MemoryScope scope;
    EXPECT_THROW(step.compile(std::vector{s.batch[0].type(), s.batch[1].type()}), NoScheduleFits);
    return scope.use().peak_bytes;
  };
  EXPECT_EQ(taken(true), taken(false)) << "tensors to time ops with";
}

TEST(TrainStep, TimesOpsInTheMemoryThatTheBudgetLeaves) {
  auto make = [] { return subject(deep_mlp(2, 512), optim::Sgd{}.rule(), square_batch(16, 512)); };
  std::int64_t smallest = smallest_budget_of(make(), {.measure = false});
  Subject s = make();
  auto profile = std::make_shared<Profile>();
  TrainStep step(s.loss, s.parameters, s.rule, {.budget = smallest, .profile = profile});
  MemoryScope scope;
  step.compile(std::vector{s.batch[0].type(), s.batch[1].type()});
  EXPECT_LE(scope.use().peak_bytes, smallest - step.pinned_bytes());
  EXPECT_GT(profile->size(), 0u) << "nothing was timed";
}

TEST(TrainStep, SaysThatItWasMovedAway) {
  Subject s = subject(deep_mlp(1, 4), optim::Sgd{}.rule(), square_batch(2, 4));
  TrainStep step(s.loss, s.parameters, s.rule, {.measure = false});
  TrainStep other = std::move(step);
  EXPECT_GT(other.run(s.batch), 0);
  const std::string words = "[train_step] this step was moved away: use the one it was moved to";
  EXPECT_EQ(message_of([&] { step.plan(); }), words);
  EXPECT_EQ(message_of([&] { step.run(s.batch); }), words);
}

// What fits must not depend on how long a busy machine searched, nor on what it measured.
TEST(TrainStep, FitsTheSmallestBudgetHoweverShortTheTimeToPlan) {
  auto make = [] { return subject(deep_mlp(8, 24), optim::Adam{}.rule(), square_batch(64, 24)); };
  StepOptions hurried{.planning = {.iterations = 200, .time_limit = 1e-9}};
  std::int64_t smallest = smallest_budget_of(make(), hurried);
  EXPECT_EQ(smallest, smallest_budget_of(make(), {.planning = {.iterations = 200}, .measure = false}));
  hurried.budget = smallest;
  Outcome tight = train(make(), hurried);
  EXPECT_LE(tight.arena_bytes, smallest);
  EXPECT_GT(tight.plan.recomputed, 0);
  expect_same_bits(train(make(), {.measure = false}), tight, "smallest budget");
  hurried.budget = smallest - 1;
  EXPECT_THROW(train(make(), hurried), NoScheduleFits);
}

TEST(TrainStep, PartsOfABatchGiveTheGradientOfTheWhole) {
  auto make = [] { return subject(deep_mlp(3, 8), optim::Sgd{{.lr = 0.5}}.rule(), square_batch(16, 8)); };
  Outcome whole = train(make(), {.measure = false}), parts = train(make(), {.accumulate = 4, .measure = false});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(whole.losses[i], parts.losses[i], 1e-5);
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<float> a = whole.state[i].parameter.value().to_vector<float>(),
                       b = parts.state[i].parameter.value().to_vector<float>();
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5);
  }
  EXPECT_LT(parts.arena_bytes, whole.arena_bytes);
}

TEST(TrainStep, ChoosesAsManyPartsAsTheBudgetNeeds) {
  auto make = [] { return subject(deep_mlp(3, 8), optim::Sgd{}.rule(), square_batch(256, 8)); };
  Subject s = make();
  TrainStep ample(s.loss, s.parameters, s.rule, {.accumulate = 0, .measure = false});
  ample.run(s.batch);
  EXPECT_EQ(ample.parts(), 1);
  TrainStep tight(s.loss, s.parameters, s.rule, {.budget = ample.arena_bytes() / 2, .accumulate = 0, .measure = false});
  tight.run(s.batch);
  EXPECT_GT(tight.parts(), 1);
}

TEST(TrainStep, ChoosesPartsOfABatchThatIsNoPowerOfTwo) {
  auto make = [] { return subject(deep_mlp(3, 8), optim::Sgd{}.rule(), square_batch(81, 8)); };
  StepOptions options{.accumulate = 3, .measure = false};
  std::int64_t least = smallest_budget_of(make(), options);
  Subject s = make();
  TrainStep step(s.loss, s.parameters, s.rule, {.budget = least, .accumulate = 0, .measure = false});
  step.run(s.batch);
  EXPECT_GT(step.parts(), 1);
  EXPECT_LE(step.arena_bytes(), least);
}

TEST(TrainStep, ChoosesPartsThatEveryTensorOfTheBatchHas) {
  nn::Parameter w(Tensor{1, 2, 3, 4});
  Function loss = [=](const Values& v) -> Values { return {mean(square(w.in(v[0]) * v[0])) + mean(square(v[1]))}; };
  const std::vector<Tensor> batch = {Tensor::full({DType::f32, {12, 4}}, 1), Tensor::full({DType::f32, {8, 4}}, 2)};
  std::int64_t least =
      smallest_budget_of({loss, {{"w", w}}, optim::Sgd{}.rule(), batch}, {.accumulate = 4, .measure = false});
  TrainStep step(loss, {{"w", w}}, optim::Sgd{}.rule(), {.budget = least, .accumulate = 0, .measure = false});
  step.run(batch);
  EXPECT_EQ(step.parts(), 4);
}

TEST(TrainStep, OptimizersHaveNoStateOfWhatIsNeverTrained) {
  Subject s = subject(WithDropout(), optim::Adagrad{{.initial = 0.1}}.rule(), square_batch(64, 24));
  TrainStep step(s.loss, s.parameters, s.rule, {.measure = false});
  step.run(s.batch);
  for (const nn::Named& n : step.state()) {
    bool is_own = n.name.starts_with("optimizer.") && n.name != "optimizer.steps";
    EXPECT_TRUE(!is_own || n.parameter.value().dtype() == DType::f32) << n.name;
  }
}

TEST(TrainStep, TakesTheWholeBatchWhereItCannotBeParted) {
  nn::Parameter w(Tensor{1, 2, 3, 4});
  Function loss = [=](const Values& v) -> Values { return {mean(square(w.in(v[0]) * v[0] - v[1]))}; };
  TrainStep step(loss, {{"w", w}}, optim::Sgd{}.rule(), {.accumulate = 0, .measure = false});
  step(Tensor::full({DType::f32, {8, 4}}, 1), Tensor::scalar(2));
  EXPECT_EQ(step.parts(), 1);
  TrainStep tight(loss, {{"w", w}}, optim::Sgd{}.rule(), {.budget = 100, .accumulate = 0, .measure = false});
  std::string why = message_of([&] { tight(Tensor::full({DType::f32, {8, 4}}, 1), Tensor::scalar(2)); });
  EXPECT_NE(why.find("It cannot be had by smaller parts of the batch: [train_step] a batch of f32[] cannot be worked "
                     "through in 2 equal parts"),
            std::string::npos)
      << why;
}

TEST(TrainStep, TellsTheLossBeforeTheUpdateThoughItIsTheParameter) {
  for (Shape shape : {Shape{}, Shape{1}}) {
    nn::Parameter w(Tensor::full({DType::f32, shape}, 3));
    Function loss = [=](const Values& v) -> Values { return {reshape(w.in(v[0]), {})}; };
    TrainStep step(loss, {{"w", w}}, optim::Sgd{{.lr = 0.5}}.rule(), {.measure = false});
    EXPECT_EQ(step(Tensor{1}), 3);
    EXPECT_EQ(step(Tensor{1}), 2.5);
  }
}

// Dropout's key is another one after the forward pass; a batch norm updates itself in it.
TEST(TrainStep, RecomputesFunctionsWithDropoutAndNormsInEveryPart) {
  auto make = [](bool is_hinted, bool has_norm) {
    auto a = std::make_shared<nn::Linear>(8, 32, true, 1), b = std::make_shared<nn::Linear>(32, 4, true, 2);
    auto drop = std::make_shared<nn::Dropout>(0.4, 3);
    auto norm = std::make_shared<nn::BatchNorm>(32);
    auto block = [=](const Value& x) {
      return gelu(drop->operator()(gelu(has_norm ? (*norm)((*a)(x)) : (*a)(x))) * 2.0);
    };
    Function loss = [=](const Values& v) -> Values {
      return {mse((*b)(is_hinted ? recompute(block)(v[0]) : block(v[0])), v[1])};
    };
    nn::Fields all = fields("a", *a, "b", *b, "drop", *drop, "norm", *norm);
    return Subject{loss, all, optim::Adam{}.rule(), square_batch(16, 8)};
  };
  for (int parts : {1, 2, 4}) {
    for (bool has_norm : {false, true}) {
      if (has_norm && parts > 1) continue;
      StepOptions options{.accumulate = parts, .measure = false, .poison = true, .verify_recompute = true};
      Subject plain = make(false, has_norm), hinted = make(true, has_norm);
      plain.batch[1] = hinted.batch[1] = Tensor::full({DType::f32, {16, 4}}, 1);
      Outcome kept = train(plain, options), again = train(hinted, options);
      expect_same_bits(kept, again, std::to_string(parts) + " parts");
      EXPECT_GE(again.plan.recomputed, 3 * parts);
    }
  }
}

TEST(TrainStep, PartsOfABatchDropOutOnTheirOwn) {
  nn::Parameter w(Tensor{1});
  nn::Dropout drop(0.5, 3);
  Function loss = [=](const Values& v) -> Values { return {mean(drop(v[0]) * w.in(v[0]))}; };
  Tensor ones = Tensor::full({DType::f32, {2, 64}}, 1);
  TrainStep step(loss, {{"w", w}, {"key", drop.key}}, optim::Sgd{{.lr = 1e-9}}.rule(),
                 {.accumulate = 2, .measure = false});
  std::set<double> losses;
  for (int i = 0; i < 8; ++i) losses.insert(step(ones));
  EXPECT_GT(losses.size(), 3U) << "each step has masks of its own";
  bool has_odd_count = std::ranges::any_of(losses, [](double kept) { return std::lround(kept * 64) % 2 == 1; });
  EXPECT_TRUE(has_odd_count) << "one mask for both parts would keep an even number of elements";
}

TEST(TrainStep, SaysWhyBatchNormCannotBeTrainedInParts) {
  Subject s =
      subject(WithBatchNorm(), optim::Sgd{}.rule(), {random_tensor({4, 2, 8, 8}, 1), random_tensor({4, 2, 8, 8}, 2)});
  std::string why = message_of([&] { train(s, {.accumulate = 2, .measure = false}); });
  EXPECT_NE(why.find("batch norm"), std::string::npos) << why;
}

TEST(TrainStep, ClippingByNormLimitsTheStep) {
  auto moved = [](double clip) {
    nn::Parameter w(Tensor{0, 0, 0});
    Function loss = [w](const Values& v) -> Values { return {sum(w.in(v[0]) * v[0])}; };
    TrainStep step(loss, {{"w", w}}, optim::Sgd{{.lr = 1}}.rule(), {.clip_norm = clip, .measure = false});
    step(Tensor{3, 0, 4});
    return w.value().to_vector<double>();
  };
  EXPECT_EQ(moved(0), (std::vector<double>{-3, 0, -4}));
  std::vector<double> clipped = moved(1);
  EXPECT_NEAR(clipped[0], -0.6, 1e-5);
  EXPECT_NEAR(clipped[2], -0.8, 1e-5);
}

TEST(TrainStep, LearningRatesAreDoubles) {
  nn::Parameter w(Tensor::scalar(1, DType::f64));
  TrainStep step([w](const Values& v) -> Values { return {w.in(v[0]) * v[0]}; }, {{"w", w}},
                 optim::Sgd{{.lr = 0.1}}.rule(), {.measure = false});
  step(Tensor::scalar(1, DType::f64));
  EXPECT_EQ(w.value().item(), 1 - 0.1);
}

TEST(TrainStep, TakesABatchThatLiesInOtherPlacesOfItself) {
  nn::Parameter w(Tensor{0, 0});
  auto loss = [w](const Values& v) -> Values { return {sum((w.in(v[0]) + v[0]) * v[1] / v[2])}; };
  TrainStep step(loss, {{"w", w}}, optim::Sgd{{.lr = 0}}.rule(), {.measure = false});
  Tensor a{1, 2}, b{3, 5}, c{7, 11};
  double turned = step(c, a, b), same = step(b, b, b);
  auto fill = [&] { step(a, b, c); };
  fill();
  EXPECT_EQ(step(step.batch(2), step.batch(0), step.batch(1)), turned);
  fill();
  EXPECT_EQ(step(step.batch(1), step.batch(1), step.batch(1)), same);
  fill();
  EXPECT_EQ(step(c, a, step.batch(1)), turned);
}

TEST(TrainStep, AnErrorInAStepLeavesItUsable) {
  nn::Embedding table(4, 3, 1);
  TrainStep step =
      train_step(table, optim::Sgd{}, {.measure = false}, [&](const Value& i) { return sum(square(table(i))); });
  auto indices = [](std::int64_t i) { return Tensor::from(std::vector<std::int64_t>{0, i}, {2}); };
  double before = step(indices(1));
  EXPECT_THROW(step(indices(9)), Error);
  EXPECT_EQ(step.steps(), 1);
  EXPECT_LT(step(indices(1)), before);
}

TEST(TrainStep, OtherBatchTypesAreCompiledOnceAndShareTheParameters) {
  nn::Sequential model = deep_mlp(2, 8);
  TrainStep step = train_step(model, optim::Sgd{{.lr = 0.1}}, {.measure = false},
                              [&](const Value& x) { return mean(square(model(x))); });
  double first = step(random_tensor({16, 8}, 1));
  step(random_tensor({4, 8}, 2));
  EXPECT_EQ(step.steps(), 2);
  EXPECT_LT(step(random_tensor({16, 8}, 1)), first);
}

// They are in the arena as long as their program runs, and beside it they would be past the budget.
TEST(TrainStep, LiteralsAreHeldOnceAndComeBackWithTheirBatchTypes) {
  std::int64_t before = memory_use().live_bytes;
  nn::Sequential model = deep_mlp(2, 8);
  Tensor large = random_tensor({16, 8}, 1), small = random_tensor({4, 8}, 2);
  auto scaled = [&](const Value& x) { return mean(square(model(x)) * Value(Tensor{1.f, 2, 3, 4, 5, 6, 7, 8})); };
  double first = 0, other = 0;
  {
    TrainStep step = train_step(model, optim::Sgd{{.lr = 1e-30}}, {.measure = false}, scaled);
    first = step(large);
    EXPECT_EQ(memory_use().live_bytes - before, large.bytes() + small.bytes());  // and nothing else
    other = step(small);
    EXPECT_EQ(step(large), first);
    EXPECT_EQ(step(small), other);
    EXPECT_NE(first, other);
  }
  EXPECT_EQ(train_step(model, optim::Sgd{{.lr = 1e-30}}, {.measure = false}, scaled)(large), first);
}

TEST(TrainStep, ParametersOutliveTheStepAndItsArena) {
  nn::Linear layer(3, 2, true, 1);
  {
    TrainStep step =
        train_step(layer, optim::Sgd{}, {.measure = false}, [&](const Value& x) { return sum(square(layer(x))); });
    step(random_tensor({5, 3}, 1));
  }
  EXPECT_EQ(layer.weight.value().to_vector<float>().size(), 6u);
}

// A copy would stand beside the arena, past the budget, just when everything is done.
TEST(TrainStep, ParametersStayWhereTheyAreWhenTheStepEnds) {
  nn::Linear layer(8, 8, true, 3);
  std::vector<Tensor> batch = square_batch(4, 8);
  std::optional<TrainStep> step(
      std::in_place, [&](const Values& v) -> Values { return {mse(layer(v[0]), v[1])}; }, nn::parameters(layer),
      optim::Sgd{}.rule(), StepOptions{.measure = false});
  step->run(batch);
  Tensor before = layer.weight.value().clone();
  const void* place = layer.weight.value().data();
  step.reset();
  EXPECT_EQ(layer.weight.value().data(), place);
  EXPECT_TRUE(same_bits(layer.weight.value(), before));
}

TEST(TrainStep, ThreadsWithTheirOwnStepsDoNotInteract) {
  auto work = [](Outcome& outcome) {
    outcome = train(subject(deep_mlp(4, 16), optim::Adam{}.rule(), square_batch(32, 16)), {.measure = false});
  };
  Outcome alone, a, b;
  work(alone);
  std::thread first(work, std::ref(a)), second(work, std::ref(b));
  first.join();
  second.join();
  expect_same_bits(alone, a, "first thread");
  expect_same_bits(alone, b, "second thread");
}

TEST(TrainStep, RefusesAnEmptyBatchAndARateThatTrainsNothing) {
  nn::Linear layer(3, 2, true, 1);
  auto loss = [&](const Value& x) { return mean(layer(x)); };
  TrainStep step = train_step(layer, optim::Sgd{}, {.measure = false}, loss);
  EXPECT_EQ(message_of([&] {
              step(Tensor::zeros({DType::f32, {0, 3}}));
            }),
            "[train_step] tensor 0 of the batch, f32[0,3], has no elements: leave empty batches out");
  EXPECT_EQ(message_of([&] { train_step(layer, optim::Sgd{{.lr = -1}}, {}, loss); }),
            "[optimizer] the learning rate is -1: it must be a number that is not negative");
}

TEST(TrainStep, RefusesALossThatIsNotAScalar) {
  nn::Linear layer(3, 2, true, 1);
  TrainStep step = train_step(layer, optim::Sgd{}, {.measure = false}, [&](const Value& x) { return layer(x); });
  EXPECT_EQ(message_of([&] {
              step(random_tensor({5, 3}, 1));
            }),
            "[train_step] the loss must be one float scalar: it is f32[5,2], take its mean or sum");
}

}  // namespace
}  // namespace reprise
