// SPDX-License-Identifier: Apache-2.0
// Normalisation and losses: known values, stability, gradients of the compositions, errors.
#include <cmath>

#include "base/random.h"
#include "ops/nn_testing.h"
#include "reprise/autodiff.h"

namespace reprise::loss_tests {
namespace {

std::vector<double> numbers(const Tensor& t) { return t.to_vector<double>(); }

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  Tensor t = Tensor::empty({DType::f64, shape});
  Random random(seed);
  for (double& v : t.span<double>()) v = random.uniform(low, high);
  return t;
}

template <class F>
void expect_gradient(F f, const std::vector<Tensor>& inputs) {
  GradientCheck check = check_gradient([&](const Values& v) -> Values { return {f(v)}; }, inputs);
  EXPECT_TRUE(check.ok) << check.why;
}

template <class F>
double value(F f, const std::vector<Tensor>& inputs) {
  return run([&](const Values& v) -> Values { return {f(v)}; }, inputs)[0].item();
}

Tensor labels(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST(Loss, ElementwiseLossesHaveKnownValues) {
  std::vector<Tensor> in{Tensor{1, 2, 5}, Tensor{1, 1, 1}};
  EXPECT_FLOAT_EQ(value([](auto& v) { return mse(v[0], v[1]); }, in), 17.0 / 3);
  EXPECT_FLOAT_EQ(value([](auto& v) { return mae(v[0], v[1]); }, in), 5.0 / 3);
  EXPECT_FLOAT_EQ(value([](auto& v) { return huber(v[0], v[1], 2); }, in), (0.5 + 6) / 3);
  EXPECT_FLOAT_EQ(value([](auto& v) { return smooth_l1(v[0], v[1], 2, Reduction::sum); }, in), (0.5 + 6) / 2);
  EXPECT_FLOAT_EQ(value([](auto& v) { return hinge(v[0], v[1], Reduction::sum); }, in), 0);
  EXPECT_FLOAT_EQ(value([](auto& v) { return hinge(-v[0], v[1], Reduction::sum); }, in), 11);
}

TEST(Loss, BinaryCrossEntropyAgreesInBothFormsAndSurvivesTheLimits) {
  std::vector<Tensor> in{Tensor{-1, 2}, Tensor{0, 1}};
  double logits = value([](auto& v) { return bce_with_logits(v[0], v[1]); }, in);
  EXPECT_NEAR(value([](auto& v) { return bce(sigmoid(v[0]), v[1]); }, in), logits, 1e-6);
  std::vector<Tensor> sure{Tensor{-500, 500}, Tensor{1, 1}};
  EXPECT_FLOAT_EQ(value([](auto& v) { return bce_with_logits(v[0], v[1], Reduction::sum); }, sure), 500);
  std::vector<Tensor> certain{Tensor{0, 1}, Tensor{1, 1}};
  EXPECT_TRUE(std::isfinite(value([](auto& v) { return bce(v[0], v[1]); }, certain)));
}

TEST(Loss, CrossEntropyIsNllOfLogSoftmax) {
  std::vector<Tensor> in{random_tensor({3, 4}, 1), labels({0, 3, 1})};
  double fused = value([](auto& v) { return cross_entropy(v[0], v[1]); }, in);
  EXPECT_NEAR(value([](auto& v) { return nll(log_softmax(v[0]), v[1]); }, in), fused, 1e-12);
  EXPECT_NEAR(value([](auto& v) { return label_smoothing(v[0], v[1], 0.0); }, in), fused, 1e-12);
}

TEST(Loss, CrossEntropyLeavesOutIgnoredLabels) {
  std::vector<Tensor> all{random_tensor({3, 4}, 2), labels({0, -100, 1})};
  Tensor x = all[0];
  Tensor two = Tensor::empty({DType::f64, {2, 4}});
  for (std::size_t i = 0; i < 4; ++i)
    two.span<double>()[i] = x.span<double>()[i], two.span<double>()[i + 4] = x.span<double>()[i + 8];
  double ignored = value([](auto& v) { return cross_entropy(v[0], v[1], {.ignore_label = -100}); }, all);
  EXPECT_NEAR(ignored, value([](auto& v) { return cross_entropy(v[0], v[1]); }, {two, labels({0, 1})}), 1e-12);
}

TEST(Loss, CrossEntropyNamesALabelThatIsNoClass) {
  std::vector<Tensor> in{random_tensor({2, 3}, 3), labels({0, 3})};
  EXPECT_EQ(error_of([&] { value([](auto& v) { return cross_entropy(v[0], v[1]); }, in); }),
            "[cross_entropy] label 3 at position 1 is not a class: there are 3");
  Value x = in[0], wrong = labels({0});
  EXPECT_EQ(error_of([&] { cross_entropy(x, wrong); }),
            "[cross_entropy] labels do not fit: logits f64[2,3] with classes along axis 1 need labels of shape [2], "
            "not i64[1]");
}

TEST(Loss, GradientsOfAllAgreeWithFiniteDifferences) {
  Tensor x = random_tensor({3, 4}, 4), y = random_tensor({3, 4}, 5), z = random_tensor({3, 4}, 6);
  Tensor p = random_tensor({3, 4}, 7, 0.1, 0.9), t = random_tensor({3, 4}, 8, 0.1, 0.9),
         same = random_tensor({3}, 9, 0, 1);
  expect_gradient([](const Values& v) { return huber(v[0], v[1], 0.5); }, {x, y});
  expect_gradient([](const Values& v) { return bce(v[0], v[1]); }, {p, t});
  expect_gradient([](const Values& v) { return bce_with_logits(v[0], v[1]); }, {x, t});
  expect_gradient([](const Values& v) { return focal(v[0], v[1], 0.25, 1.5); }, {x, t});
  expect_gradient([](const Values& v) { return dice(v[0], v[1]); }, {p, t});
  expect_gradient([](const Values& v) { return triplet(v[0], v[1], v[2]); }, {x, y, z});
  expect_gradient([](const Values& v) { return contrastive(v[0], v[1], v[2], 2); }, {x, y, same});
  expect_gradient([](const Values& v) { return cosine_embedding(v[0], v[1], 1 + 0 * sum(v[0], {-1})); }, {x, y});
  expect_gradient([](const Values& v) { return kl_div(log_softmax(v[0]), v[1]); }, {x, t});
  expect_gradient([](const Values& v) { return nll(v[0], v[1]); }, {x, labels({0, 1, 3})});
}

TEST(Loss, KlDivergenceIsZeroForEqualDistributionsAndTakesZeros) {
  std::vector<Tensor> in{Tensor{{0.5, 0.5}, {1, 0}}};
  EXPECT_NEAR(value([](auto& v) { return kl_div(log(v[0] + 1e-30), v[0]); }, in), 0, 1e-6);
}

TEST(Loss, CosineEmbeddingPullsAndPushes) {
  std::vector<Tensor> in{Tensor{{1, 0}, {1, 0}}, Tensor{{1, 0}, {1, 0}}, Tensor{1, -1}};
  EXPECT_NEAR(value([](auto& v) { return cosine_embedding(v[0], v[1], v[2], 0, Reduction::sum); }, in), 1, 1e-6);
}

// All ways to spell "1" in three steps of two classes: 1__ 11_ 111 _1_ _11 __1.
TEST(Ctc, SumsOverAllAlignments) {
  Tensor logs = Tensor::from(
      std::vector<double>{std::log(.6), std::log(.4), std::log(.7), std::log(.3), std::log(.2), std::log(.8)},
      {3, 1, 2});
  double p = .4 * .7 * .2 + .4 * .3 * .2 + .4 * .3 * .8 + .6 * .3 * .2 + .6 * .3 * .8 + .6 * .7 * .8;
  std::vector<Tensor> in{logs, labels({1}).reshape({1, 1}), labels({3}), labels({1})};
  EXPECT_NEAR(value([](auto& v) { return ctc(v[0], v[1], v[2], v[3]); }, in), -std::log(p), 1e-12);
}

TEST(Ctc, CannotSpellARepeatWithoutABlankBetween) {
  std::vector<Tensor> in{random_tensor({2, 1, 3}, 10, -2, -1), Tensor{{1, 1}}.to(DType::i64), labels({2}), labels({2})};
  EXPECT_TRUE(std::isinf(value([](auto& v) { return ctc(v[0], v[1], v[2], v[3]); }, in)));
}

TEST(Ctc, NamesWrongLabelsAndRefusesSecondOrder) {
  std::vector<Tensor> in{random_tensor({2, 1, 3}, 11), labels({0}).reshape({1, 1}), labels({2}), labels({1})};
  EXPECT_EQ(error_of([&] { value([](auto& v) { return ctc(v[0], v[1], v[2], v[3]); }, in); }),
            "[ctc] label 0 of sequence 0 is 0: it must be a class other than the blank, 0");
  Tensor fine = labels({1}).reshape({1, 1});
  auto first = [&](const Value& x) {
    return grad([&](const Value& v) { return ctc(v, fine, labels({2}), labels({1})); })(x);
  };
  std::string why = error_of([&] { grad([&](const Value& x) { return sum(first(x)); })(in[0]); });
  EXPECT_EQ(why.substr(0, 30), "[ctc_grad] has no gradient: us");
}

TEST(Norm, LayerNormHasMeanZeroAndVarianceOne) {
  Tensor x = random_tensor({2, 50}, 12, 3, 9);
  Tensor y = run([](const Values& v) -> Values { return {layer_norm(v[0])}; }, {x})[0];
  std::vector<double> values = numbers(y);
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < 50; ++i) mean += values[i] / 50, square += values[i] * values[i] / 50;
  EXPECT_NEAR(mean, 0, 1e-12);
  EXPECT_NEAR(square, 1, 1e-4);
}

TEST(Norm, InferenceByTheBatchsStatisticsIsTraining) {
  std::vector<Tensor> in{random_tensor({4, 3, 5}, 13), random_tensor({3}, 14), random_tensor({3}, 15)};
  auto out = run(
      [](const Values& v) -> Values {
        auto [y, mean, variance] = batch_norm(v[0], v[1], v[2]);
        return {y, batch_norm_inference(v[0], v[1], v[2], mean, variance)};
      },
      in);
  std::vector<double> training = numbers(out[0]), inference = numbers(out[1]);
  for (std::size_t i = 0; i < training.size(); ++i) EXPECT_NEAR(training[i], inference[i], 1e-12);
}

TEST(Norm, ErrorsNameTheShapeThatWouldFit) {
  Value x = Tensor::zeros({DType::f32, {2, 4, 3}}), w = Tensor::zeros({DType::f32, {5}});
  EXPECT_EQ(error_of([&] { layer_norm(x, w, w); }),
            "[layer_norm] the weight of f32[2,4,3] does not fit: it must have shape [3], not [5]");
  EXPECT_EQ(error_of([&] { group_norm(x, 3, w, w); }),
            "[group_norm] 3 groups do not divide the channels of f32[2,4,3]: take a divisor of their number");
  EXPECT_EQ(error_of([&] { batch_norm(x, w, w); }),
            "[batch_norm] input 1 does not fit: it must have one element a channel of f32[2,4,3], it is f32[5]");
  EXPECT_EQ(error_of([&] { mse(x, w); }),
            "[mse] f32[2,4,3] and f32[5] must be of one type: cast or reshape one of them");
}

}  // namespace
}  // namespace reprise::loss_tests
