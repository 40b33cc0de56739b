// SPDX-License-Identifier: Apache-2.0
#include "reprise/compile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "compile/build.h"
#include "compile/updates.h"
#include "message.h"
#include "reprise/nn.h"
#include "temporary.h"

namespace reprise {
namespace {

Tensor ramp(const Shape& shape) {
  Tensor t = Tensor::empty({DType::f32, shape});
  float x = -0.5f;
  for (float& e : t.span<float>()) e = x += 0.01f;
  return t;
}

const CompileOptions quick{.measure = false};

// Sixteen layers of tanh: what is read again in the backward pass is every layer's result.
Value deep(Value x) {
  for (int i = 0; i < 16; ++i) x = tanh(x * 1.1);
  return sum(x);
}

TEST(Compile, GivesWhatEvaluatingGives) {
  auto f = [](const Value& a, const Value& b) { return Values{a * b + exp(a), sum(a, {0})}; };
  Tensor a = ramp({3, 4}), b = ramp({3, 4});
  std::vector<Tensor> got = compile(f, quick)(a, b);
  Type types[] = {a.type(), b.type()};
  const Tensor inputs[] = {a, b};
  std::vector<Tensor> expected = evaluate(trace([&](const Values& v) { return f(v[0], v[1]); }, types), inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got[i], expected[i]));
}

TEST(Compile, TakesAFunctionAndItsGradientWithinABudget) {
  Tensor x = ramp({1000});
  Compiled free = compile(value_and_grad(deep), quick);
  std::vector<Tensor> expected = free(x);
  CompileOptions options = quick;
  options.budget = free.arena_bytes() / 2;
  options.poison = options.verify_recompute = true;
  Compiled tight = compile(value_and_grad(deep), options);
  std::vector<Tensor> got = tight(x);
  EXPECT_LE(tight.arena_bytes(), options.budget);
  EXPECT_GT(tight.plan().recomputed, 0);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got[i], expected[i]));
}

TEST(Compile, TakesFunctionsOfTwoValuesWithTheirGradients) {
  auto loss = [](const Value& a, const Value& b) { return sum(a * b); };
  std::vector<Tensor> got = compile(value_and_grad(loss, {0, 1}), quick)(Tensor{1, 2}, Tensor{3, 4});
  EXPECT_EQ(got[1].to_vector<int>(), (std::vector<int>{3, 4}));
  EXPECT_EQ(got[2].to_vector<int>(), (std::vector<int>{1, 2}));
}

TEST(Compile, ReturnsViewsInputsAndConstants) {
  auto f = [](const Value& a) { return Values{reshape(a, {2, 3}), a, Value(Tensor{7, 8}), reshape(a * 2.0, {3, 2})}; };
  std::vector<Tensor> got = compile(f, quick)(Tensor{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(to_string(got[0].type()), "f32[2,3]");
  EXPECT_EQ(got[1].to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(got[2].to_vector<int>(), (std::vector<int>{7, 8}));
  EXPECT_EQ(got[3].to_vector<int>(), (std::vector<int>{2, 4, 6, 8, 10, 12}));
}

TEST(Compile, PlansAGraphWithoutRunningIt) {
  Type types[] = {{DType::f32, {1 << 20}}};
  Graph graph = gradient(trace([](const Values& v) -> Values { return {deep(v[0])}; }, types), std::vector<int>{0});
  MemoryScope scope;
  PlanResult r = plan(graph, {.budget = 1'000'000, .measure = false});
  EXPECT_FALSE(r);
  EXPECT_EQ(r.why().find("no schedule fits 976.6 KiB: the smallest budget is "), 0u) << r.why();
  EXPECT_LT(scope.use().peak_bytes, 100'000);
}

int runs_of(const Graph& graph, const PlanResult& r, std::string_view op) {
  int count = 0;
  for (Step step : r.schedule.steps) count += step.kind == Step::Kind::run && graph.node(step.id).op->name == op;
  return count;
}

// Bytes of values that are in memory while the loss is summed.
std::int64_t live_at_loss(const Prepared& prepared, const PlanResult& r) {
  std::vector<char> is_live(static_cast<std::size_t>(prepared.problem.value_count()), 0);
  for (Step step : r.schedule.steps) {
    if (step.kind == Step::Kind::drop) is_live[static_cast<std::size_t>(step.id)] = 0;
    if (step.kind != Step::Kind::run) continue;
    if (prepared.graph.node(step.id).op->name == "sum") break;
    const Problem::Node& node = prepared.problem.node(step.id);
    for (int k = 0; k < node.value_count; ++k) is_live[static_cast<std::size_t>(node.first_value + k)] = 1;
  }
  std::int64_t bytes = 0;
  for (int v = 0; v < prepared.problem.value_count(); ++v)
    if (is_live[static_cast<std::size_t>(v)] != 0) bytes += prepared.problem.value(v).bytes;
  return bytes;
}

Prepared gradient_of(const Function& f, std::int64_t size) {
  Type types[] = {{DType::f32, {size}}};
  return prepare(gradient(trace(f, types), std::vector<int>{0}), quick);
}

TEST(Hints, WhatAFunctionRecomputesIsNotKeptForTheBackwardPass) {
  auto block = [](const Value& v) { return tanh(exp(tanh(v))); };
  Prepared plain = gradient_of([&](const Values& v) -> Values { return {sum(square(block(v[0])))}; }, 100);
  Prepared hinted = gradient_of([&](const Values& v) -> Values { return {sum(square(recompute(block)(v[0])))}; }, 100);
  EXPECT_EQ(runs_of(plain.graph, plan(plain, quick), "exp"), 1);
  EXPECT_EQ(runs_of(hinted.graph, plan(hinted, quick), "exp"), 2);
}

// The backward pass reads what exp and tanh give, not the products that these are made from.
TEST(Hints, WhatIsOnlyNeededToRecomputeIsNotKeptEither) {
  auto block = [](const Value& v) { return tanh(exp(tanh(exp(v) * 0.5) * 0.1) * 0.1); };
  auto loss = [&](bool is_hinted) {
    return [=](const Values& v) -> Values { return {sum(square(is_hinted ? recompute(block)(v[0]) : block(v[0])))}; };
  };
  Prepared plain = gradient_of(loss(false), 100'000), hinted = gradient_of(loss(true), 100'000);
  PlanResult r = plan(hinted, quick);
  ASSERT_TRUE(r) << r.why();
  EXPECT_EQ(runs_of(hinted.graph, r, "exp"), 4);
  EXPECT_LT(live_at_loss(hinted, r), live_at_loss(plain, plan(plain, quick)) - 2 * 400'000);
}

// The first op of the backward pass that reads what is inside, twice the input of the square, reads no gradient.
TEST(Hints, AreHonouredWhereTheBackwardPassBeginsWithoutAGradient) {
  auto block = recompute([](const Value& v) { return exp(square(tanh(v))); });
  Prepared hinted = gradient_of([&](const Values& v) -> Values { return {sum(block(v[0]))}; }, 100);
  EXPECT_EQ(runs_of(hinted.graph, plan(hinted, quick), "tanh"), 2);
}

TEST(Hints, AreHonouredWhereverTheLossIs) {
  auto f = [](const Values& v) -> Values {
    return {sum(square(recompute([](const Value& x) { return tanh(exp(tanh(x))); })(v[0])))};
  };
  Type types[] = {{DType::f32, {100}}};
  Graph graph = gradient(trace(f, types), std::vector<int>{0});
  std::reverse(graph.outputs.begin(), graph.outputs.end());
  Prepared turned = prepare(graph, quick);
  EXPECT_EQ(runs_of(turned.graph, plan(turned, quick), "exp"), 2);
  EXPECT_EQ(to_string(parse_graph(to_string(turned.graph))), to_string(turned.graph));
  Prepared read = prepare(parse_graph(to_string(graph)), quick);
  EXPECT_EQ(runs_of(read.graph, plan(read, quick), "exp"), 2) << "after it was written and read";
}

TEST(Hints, AKeptValueIsNotRecomputedHoweverTight) {
  auto f = [](bool keeps) {
    return [keeps](const Values& v) -> Values {
      Value x = v[0];
      for (int i = 0; i < 12; ++i) {
        x = tanh(x * 1.1);
        if (keeps && i == 3) x = keep(named(x, "kept"));
      }
      return {sum(x)};
    };
  };
  Prepared kept = gradient_of(f(true), 1000);
  CompileOptions tight = quick;
  tight.budget = 1;
  tight.budget = plan(kept, tight).min_budget;
  PlanResult r = plan(kept, tight);
  ASSERT_TRUE(r) << r.why();
  int runs = 0;
  for (Step step : r.schedule.steps) runs += step.kind == Step::Kind::run && kept.graph.node(step.id).name == "kept";
  EXPECT_EQ(runs, 1);
  EXPECT_GT(r.recomputed, 0);
}

TEST(Hints, KeepingWhatIsToBeRecomputedIsAnError) {
  auto contradiction = recompute([](const Value& v) { return exp(keep(tanh(v))); });
  Type types[] = {{DType::f32, {4}}};
  EXPECT_EQ(message_of([&] { trace([&](const Values& v) -> Values { return {contradiction(v[0])}; }, types); }),
            "[recompute] the result of 'tanh' is to be kept and to be recomputed: decide for one");
  EXPECT_EQ(
      message_of([&] { trace([&](const Values& v) -> Values { return {keep(recompute_value(tanh(v[0])))}; }, types); }),
      "[hint] the result of 'tanh' is to be kept and to be recomputed: decide for one");
}

TEST(Hints, FollowTheArgumentThatIsNoConstant) {
  Value two(Tensor::scalar(2));
  auto block = [](const Value& a, const Value& b) { return tanh(exp(tanh(a * b))); };
  Prepared hinted =
      gradient_of([&](const Values& v) -> Values { return {sum(square(recompute(block)(two, v[0])))}; }, 100);
  EXPECT_EQ(runs_of(hinted.graph, plan(hinted, quick), "exp"), 2);
}

TEST(Hints, AreRefusedWhereEveryArgumentIsAConstant) {
  Type types[] = {{DType::f32, {4}}};
  auto f = [](const Values& v) -> Values {
    return {sum(recompute([&](const Value& c) { return tanh(exp(v[0] * c)); })(Value(Tensor::scalar(2))))};
  };
  EXPECT_EQ(
      message_of([&] { trace(f, types); }),
      "[recompute] the arguments are constants, but the result is computed from other values: hand one of these in");
}

TEST(Hints, OfAViewAreForWhatItShows) {
  auto f = [](Hint hint) {
    return [hint](const Values& v) -> Values {
      Value shown = reshape(exp(tanh(v[0])), {50, 2});
      if (hint == Hint::keep) keep(shown);
      if (hint == Hint::recompute) recompute_value(shown);
      return {sum(square(tanh(shown)))};
    };
  };
  Prepared plain = gradient_of(f(Hint::none), 100), hinted = gradient_of(f(Hint::recompute), 100);
  EXPECT_EQ(runs_of(plain.graph, plan(plain, quick), "exp"), 1);
  EXPECT_EQ(runs_of(hinted.graph, plan(hinted, quick), "exp"), 2);
  Prepared kept = gradient_of(f(Hint::keep), 100);
  auto is_exp = [&](const Problem::Value& v) { return kept.graph.node(v.node).op->name == "exp"; };
  auto made = std::ranges::find_if(kept.problem.values(), is_exp);
  ASSERT_NE(made, kept.problem.values().end());
  EXPECT_TRUE(made->keep);
}

TEST(Hints, ThatContradictThroughAViewAreAnError) {
  Type types[] = {{DType::f32, {4}}};
  auto directly = [](const Values& v) -> Values { return {keep(reshape(recompute_value(tanh(v[0])), {2, 2}))}; };
  EXPECT_EQ(message_of([&] { trace(directly, types); }),
            "[hint] the result of 'tanh' is to be kept and to be recomputed: decide for one");
  auto inside = recompute([](const Value& v) { return exp(keep(reshape(tanh(v), {2, 2}))); });
  EXPECT_EQ(message_of([&] { trace([&](const Values& v) -> Values { return {inside(v[0])}; }, types); }),
            "[recompute] the result of 'tanh' is to be kept and to be recomputed: decide for one");
}

std::int32_t position(const Graph& graph, std::string_view op) {
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (graph.node(i).op->name == op) return i;
  return -1;
}

TEST(Updates, ComeRightAfterTheLastReaderOfTheOldValue) {
  nn::Parameter p(Tensor{1, 2});
  Type types[] = {{DType::f32, {2}}};
  Graph graph = with_updates_in_place(trace(
      [&](const Values& v) -> Values {
        p.update(p.in(v[0]) * 2.0);
        Value last = exp(p.in(v[0]));
        return {tanh(sin(last))};
      },
      types));
  verify(graph);
  EXPECT_EQ(position(graph, "assign"), position(graph, "exp") + 1);
}

TEST(Updates, WaitForReadersThroughViews) {
  nn::Parameter p(Tensor{1, 2});
  Compiled f(
      [&](const Values& v) -> Values {
        Value view = reshape(p.in(v[0]), {2, 1});
        p.update(p.in(v[0]) + v[0]);
        return {sum(exp(view) * 1.0)};
      },
      quick);
  double before = f(Tensor{1, 1})[0].item();
  EXPECT_NEAR(before, std::exp(1) + std::exp(2), 1e-4);
  EXPECT_EQ(p.value().to_vector<int>(), (std::vector<int>{2, 3}));
}

TEST(Updates, ThatExchangeTwoParametersAreRefused) {
  nn::Parameter a(Tensor{1}), b(Tensor{2});
  Compiled f(
      [&](const Values& v) -> Values {
        a.update(b.in(v[0]));
        b.update(a.in(v[0]));
        return {sum(v[0])};
      },
      quick);
  EXPECT_NE(message_of([&] { f(Tensor{1}); }).find("take over each other's old values"), std::string::npos);
}

TEST(Profile, MeasuresEachOpAndTypesOnceAndSavesThem) {
  auto profile = std::make_shared<Profile>();
  Compiled f = compile([](const Value& x) { return tanh(tanh(tanh(x))) + x; }, {.profile = profile});
  f(ramp({100}));
  EXPECT_EQ(profile->size(), 2u);
  TemporaryFolder folder;
  std::string path = folder.path() + "/profile";
  profile->save(path);
  Profile loaded = Profile::load(path);
  EXPECT_EQ(loaded.size(), 2u);
  EXPECT_NEAR(*loaded.find("tanh f32[100]"), *profile->find("tanh f32[100]"), 1e-12);
}

TEST(Profile, RefusesAFileThatIsNone) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/profile";
  std::ofstream(path) << "something else\n";
  EXPECT_NE(message_of([&] { Profile::load(path); }).find("is not a profile"), std::string::npos);
  EXPECT_EQ(message_of([] { Profile::load("no-such-file"); }),
            "[profile] cannot read 'no-such-file': save one there first, or measure anew");
  std::ofstream(path) << "reprise profile 1\nfast tanh\n";
  EXPECT_NE(message_of([&] { Profile::load(path); }).find("has a line"), std::string::npos);
  EXPECT_THROW(Profile::load(folder.path() + "/none"), Error);
}

}  // namespace
}  // namespace reprise
