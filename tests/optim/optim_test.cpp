// SPDX-License-Identifier: Apache-2.0
// The fused updates against the papers' formulas written out for one number, over several steps.
#include "reprise/optim.h"

#include <gtest/gtest.h>

#include <cmath>

#include "message.h"
#include "reprise/ops.h"

namespace reprise::optim {
namespace {

// Runs a rule on one f64 parameter with these gradients; gives the parameter after each step.
std::vector<double> run(const Rule& rule, double start, const std::vector<double>& gradients) {
  Tensor p = Tensor::scalar(start, DType::f64).reshape({1});
  std::vector<Tensor> states;
  for (const nn::Parameter& s : rule.start(nn::Parameter(p))) states.push_back(s.value());
  std::vector<double> path;
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    std::vector<Tensor> inputs = {p};
    inputs.insert(inputs.end(), states.begin(), states.end());
    auto step = static_cast<std::int64_t>(t);
    inputs.push_back(Tensor::full({DType::f64, {1}}, gradients[t]));
    inputs.push_back(Tensor::scalar(rule.rate_at(step)));
    inputs.push_back(Tensor::scalar(static_cast<double>(step), DType::i64));
    std::vector<Type> types;
    for (const Tensor& x : inputs) types.push_back(x.type());
    std::size_t n = states.size();
    Graph graph = trace(
        [&](const Values& v) {
          return rule.apply(v[0], Values(v.begin() + 1, v.begin() + 1 + static_cast<std::ptrdiff_t>(n)), v[n + 1],
                            v[n + 2], v[n + 3]);
        },
        types);
    std::vector<Tensor> next = evaluate(graph, inputs);
    p = next[0];
    states.assign(next.begin() + 1, next.end());
    path.push_back(p.item());
  }
  return path;
}

const std::vector<double> slopes = {0.5, -0.25, 1.0, 0.75};
constexpr double rate = 0.125;  // exact in f32, the dtype of the rate

void expect_path(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << "step " << i;
}

TEST(Optimizers, SgdFollowsTheGradient) {
  std::vector<double> expected;
  double p = 2;
  for (double g : slopes) expected.push_back(p -= rate * (g + 0.1 * p));
  expect_path(run(Sgd{{.lr = rate, .weight_decay = 0.1}}.rule(), 2, slopes), expected);
}

TEST(Optimizers, MomentumStartsWithTheFirstGradientAndThenDampens) {
  for (bool nesterov : {false, true}) {
    std::vector<double> expected;
    double p = 2, m = 0, damp = nesterov ? 0 : 0.25;
    for (std::size_t t = 0; t < slopes.size(); ++t) {
      double g = slopes[t] + 0.1 * p;
      m = t == 0 ? g : 0.9 * m + (1 - damp) * g;
      expected.push_back(p -= rate * (nesterov ? g + 0.9 * m : m));
    }
    expect_path(
        run(Sgd{{.lr = rate, .momentum = 0.9, .dampening = damp, .weight_decay = 0.1, .nesterov = nesterov}}.rule(), 2,
            slopes),
        expected);
  }
}

std::vector<double> adam_path(bool decoupled) {
  std::vector<double> expected;
  double p = 2, m = 0, v = 0;
  for (std::size_t t = 1; t <= slopes.size(); ++t) {
    double g = slopes[t - 1];
    if (decoupled)
      p -= rate * 0.1 * p;
    else
      g += 0.1 * p;
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    double mh = m / (1 - std::pow(0.9, t)), vh = v / (1 - std::pow(0.999, t));
    expected.push_back(p -= rate * mh / (std::sqrt(vh) + 1e-8));
  }
  return expected;
}

TEST(Optimizers, AdamAndAdamWDifferInWhereTheDecayGoes) {
  expect_path(run(Adam{{.lr = rate, .weight_decay = 0.1}}.rule(), 2, slopes), adam_path(false));
  expect_path(run(AdamW{{.lr = rate, .weight_decay = 0.1}}.rule(), 2, slopes), adam_path(true));
}

TEST(Optimizers, AdagradSumsSquares) {
  std::vector<double> expected;
  double p = 2, q = 0.5;
  for (std::size_t t = 0; t < slopes.size(); ++t) {
    q += slopes[t] * slopes[t];
    expected.push_back(p -= rate / (1 + 0.01 * static_cast<double>(t)) * slopes[t] / (std::sqrt(q) + 1e-10));
  }
  expect_path(run(Adagrad{{.lr = rate, .lr_decay = 0.01, .initial = 0.5}}.rule(), 2, slopes), expected);
}

TEST(Optimizers, RmsPropMayBeCentredAndHaveMomentum) {
  std::vector<double> expected;
  double p = 2, q = 0, mean = 0, m = 0;
  for (double g : slopes) {
    q = 0.9 * q + 0.1 * g * g;
    mean = 0.9 * mean + 0.1 * g;
    m = 0.5 * m + g / (std::sqrt(q - mean * mean) + 1e-8);
    expected.push_back(p -= rate * m);
  }
  expect_path(run(RmsProp{{.lr = rate, .alpha = 0.9, .momentum = 0.5, .centered = true}}.rule(), 2, slopes), expected);
}

TEST(Optimizers, PlainRmsPropKeepsOneState) {
  const Rule plain = RmsProp{{.lr = rate, .alpha = 0.9, .weight_decay = 0.1}}.rule();
  EXPECT_EQ(plain.state_count, 1);
  std::vector<double> expected;
  double p = 2, q = 0;
  for (double g : slopes) {
    double d = g + 0.1 * p;
    q = 0.9 * q + 0.1 * d * d;
    expected.push_back(p -= rate * d / (std::sqrt(q) + 1e-8));
  }
  expect_path(run(plain, 2, slopes), expected);
}

TEST(Optimizers, RAdamRectifiesOnceTheVarianceIsKnown) {
  std::vector<double> expected, many(12, 0.5);
  double p = 2, m = 0, v = 0, longest = 2 / (1 - 0.999) - 1;
  for (int t = 1; t <= 12; ++t) {
    m = 0.9 * m + 0.1 * 0.5;
    v = 0.999 * v + 0.001 * 0.25;
    double mh = m / (1 - std::pow(0.9, t)), length = longest - 2 * t * std::pow(0.999, t) / (1 - std::pow(0.999, t));
    double r = std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    double scale = length > 5 ? r * std::sqrt(1 - std::pow(0.999, t)) / (std::sqrt(v) + 1e-8) : 1;
    expected.push_back(p -= rate * mh * scale);
  }
  expect_path(run(RAdam{{.lr = rate}}.rule(), 2, many), expected);
}

TEST(Optimizers, LambAndLarsScaleByTheSizeOfTheParameter) {
  std::vector<double> lamb, lars;
  double p = 2, m = 0, v = 0;
  for (std::size_t t = 1; t <= slopes.size(); ++t) {
    double g = slopes[t - 1];
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    double r = m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-6) + 0.1 * p;
    lamb.push_back(p -= rate * std::abs(p) / std::abs(r) * r);
  }
  expect_path(run(Lamb{{.lr = rate, .weight_decay = 0.1}}.rule(), 2, slopes), lamb);
  p = 2, m = 0;
  for (double g : slopes) {
    double local = 1e-3 * std::abs(p) / (std::abs(g) + 1e-4 * std::abs(p) + 1e-8);
    m = 0.9 * m + rate * local * (g + 1e-4 * p);
    lars.push_back(p -= m);
  }
  expect_path(run(Lars{{.lr = rate}}.rule(), 2, slopes), lars);
}

TEST(Optimizers, RefuseRatesAndLookaheadsThatTrainNothing) {
  EXPECT_THROW((Adam{{.lr = -1}}.rule().check()), Error);
  EXPECT_THROW((Sgd{{.lr = NAN}}.rule().check()), Error);
  EXPECT_THROW((Lookahead<Sgd>{{}, 0}.rule().check()), Error);
  EXPECT_THROW((Lookahead<Sgd>{{}, 5, 2}.rule().check()), Error);
  EXPECT_NO_THROW((Lookahead<Sgd>{{{.lr = 0}}, 1, 1}.rule().check()));
}

TEST(Optimizers, LookaheadReturnsToTheSlowWeightsEveryKSteps) {
  std::vector<double> expected;
  double p = 2, slow = 2;
  for (std::size_t t = 1; t <= slopes.size(); ++t) {
    p -= rate * slopes[t - 1];
    if (t % 2 == 0) p = slow += 0.5 * (p - slow);
    expected.push_back(p);
  }
  expect_path(run(Lookahead<Sgd>{{{.lr = rate}}, 2, 0.5}.rule(), 2, slopes), expected);
}

TEST(Optimizers, RefuseWhatMakesNoSense) {
  EXPECT_EQ(message_of([] { Sgd{{.nesterov = true}}.rule(); }),
            "[Sgd] Nesterov's form needs momentum and no dampening");
  EXPECT_EQ(message_of([] { Adam{{.beta1 = 1}}.rule(); }), "[Adam] the betas must be in [0, 1)");
  EXPECT_EQ(message_of([] { RAdam{{.beta2 = 1.5}}.rule(); }), "[RAdam] the betas must be in [0, 1)");
  EXPECT_EQ(message_of([] { RmsProp{{.alpha = 1}}.rule(); }), "[RmsProp] alpha must be in [0, 1)");
  EXPECT_EQ(message_of([] { Sgd{{.dampening = INFINITY}}.rule(); }), "[Sgd] the dampening must be a number");
}

TEST(Optimizers, RefuseNumbersThatWouldTrainToNaN) {
  const std::string rest = ": it must be a number that is not negative";
  EXPECT_EQ(message_of([] { Sgd{{.momentum = NAN}}.rule(); }), "[Sgd] momentum is nan" + rest);
  EXPECT_EQ(message_of([] { AdamW{{.weight_decay = -INFINITY}}.rule(); }), "[AdamW] weight_decay is -inf" + rest);
  EXPECT_EQ(message_of([] { Adam{{.eps = -1}}.rule(); }), "[Adam] eps is -1" + rest);
  EXPECT_EQ(message_of([] { Adagrad{{.initial = -1}}.rule(); }), "[Adagrad] initial is -1" + rest);
  EXPECT_EQ(message_of([] { Lamb{{.eps = NAN}}.rule(); }), "[Lamb] eps is nan" + rest);
  EXPECT_EQ(message_of([] { Lars{{.trust = NAN}}.rule(); }), "[Lars] trust is nan" + rest);
}

TEST(Schedules, ThatGiveNoNumberAreRefusedBeforeTheStep) {
  const Rule rule = Sgd{{.schedule = [](std::int64_t step) { return step == 3 ? NAN : 1; }}}.rule();
  EXPECT_EQ(rule.rate_at(2), 0.01);
  EXPECT_EQ(message_of([&] { (void)rule.rate_at(3); }),
            "[optimizer] the schedule gives nan for step 3: it must give a number");
}

TEST(Schedules, GoWhereTheyShould) {
  EXPECT_DOUBLE_EQ(step_decay(10, 0.5)(25), 0.25);
  EXPECT_DOUBLE_EQ(multistep({5, 8}, 0.1)(7), 0.1);
  EXPECT_DOUBLE_EQ(exponential(0.5)(3), 0.125);
  EXPECT_NEAR(cosine(10, 0.1)(5), 0.55, 1e-15);
  EXPECT_DOUBLE_EQ(cosine(10, 0.1)(99), 0.1);
  EXPECT_DOUBLE_EQ(cosine_restarts(4, 2)(4), 1);
  EXPECT_NEAR(cosine_restarts(4, 2)(8), 0.5, 1e-15);
  EXPECT_DOUBLE_EQ(warm_up(4, constant())(1), 0.25);
  EXPECT_DOUBLE_EQ(warm_up(4, step_decay(2))(6), 0.1);
  EXPECT_NEAR(one_cycle(100)(0), 1.0 / 25, 1e-12);
  EXPECT_DOUBLE_EQ(one_cycle(100)(30), 1);
  EXPECT_NEAR(one_cycle(100)(100), 1e-4 / 25, 1e-15);
  EXPECT_DOUBLE_EQ(polynomial(10, 2)(5), 0.25);
  EXPECT_DOUBLE_EQ(cyclic(0.2, 4, 4)(4), 1);
  EXPECT_NEAR(cyclic(0.2, 4, 4)(6), 0.6, 1e-15);
}

TEST(Schedules, PlateauLowersTheRateWhenPatienceEnds) {
  Plateau plateau({.factor = 0.5, .patience = 2});
  for (double measure : {1.0, 0.9, 0.95, 0.9}) EXPECT_EQ(plateau.observe(measure), 1);
  EXPECT_EQ(plateau.observe(0.9), 0.5);
  EXPECT_EQ(plateau.observe(0.1), 0.5);
}

TEST(Clipping, ByNormScalesAllGradientsTogether) {
  Type types[] = {{DType::f32, {2}}, {DType::f32, {1}}};
  Graph graph = trace([](const Values& v) { return clip_by_norm(v, 1); }, types);
  auto clipped = evaluate(graph, std::vector{Tensor{2, 4}, Tensor{4}});  // norm 6
  EXPECT_NEAR(clipped[0].to_vector<float>()[1], 4.0 / 6, 1e-6);
  EXPECT_NEAR(clipped[1].to_vector<float>()[0], 4.0 / 6, 1e-6);
  auto small = evaluate(graph, std::vector{Tensor{0.1, 0.2}, Tensor{0.1}});
  EXPECT_EQ(small[0].to_vector<float>()[1], 0.2f);
}

TEST(Clipping, ByNormScalesGradientsWhoseSquaresOverflowOrVanish) {
  Type types[] = {{DType::f32, {2}}, {DType::f32, {0}}};
  Graph graph = trace([](const Values& v) { return clip_by_norm(v, 5); }, types);
  auto large = evaluate(graph, std::vector{Tensor{3e30, 4e30}, Tensor::zeros({DType::f32, {0}})})[0].to_vector<float>();
  EXPECT_NEAR(large[0], 3, 1e-5);
  EXPECT_NEAR(large[1], 4, 1e-5);
  auto small = evaluate(graph, std::vector{Tensor{3e-25, 0}, Tensor::zeros({DType::f32, {0}})})[0].to_vector<float>();
  EXPECT_EQ(small[0], 3e-25f);
}

TEST(Clipping, ByNormLeavesGradientsAloneWhenTheNormIsNotFinite) {
  Type types[] = {{DType::f32, {2}}};
  Graph graph = trace([](const Values& v) { return clip_by_norm(v, 1); }, types);
  auto clipped = evaluate(graph, std::vector{Tensor{NAN, 4}})[0].to_vector<float>();
  EXPECT_TRUE(std::isnan(clipped[0]));
  EXPECT_EQ(clipped[1], 4);
}

TEST(Clipping, ByValueBoundsEveryElementAndKeepsNaN) {
  Type types[] = {{DType::f32, {3}}};
  Graph graph = trace([](const Values& v) { return clip_by_value(v, 1); }, types);
  auto clipped = evaluate(graph, std::vector{Tensor{-3, 0.5, NAN}})[0].to_vector<float>();
  EXPECT_EQ(clipped[0], -1);
  EXPECT_EQ(clipped[1], 0.5f);
  EXPECT_TRUE(std::isnan(clipped[2]));
}

}  // namespace
}  // namespace reprise::optim
