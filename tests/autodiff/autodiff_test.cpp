// SPDX-License-Identifier: Apache-2.0
#include "reprise/autodiff.h"

#include <gtest/gtest.h>

#include "message.h"

namespace reprise {
namespace {

TEST(Grad, OfASumOfSquaresIsTwiceTheInput) {
  auto loss = [](const Value& w) { return sum(square(w)); };
  EXPECT_EQ(grad(loss)(Tensor{1, 2, 3}).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(Grad, ComesWithTheValueWhenAsked) {
  auto [y, dw] = value_and_grad([](const Value& w) { return sum(square(w)); })(Tensor{1, 2, 3});
  EXPECT_EQ(y.item(), 14);
  EXPECT_EQ(dw.to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(Grad, TakesAnySubsetOfTheInputs) {
  auto f = [](const Value& x, const Value& w, const Value& b) { return sum(x * w + b); };
  std::vector<Tensor> g = grad(f, {2, 0})(Tensor{1, 2}, Tensor{3, 4}, Tensor{5, 6});
  ASSERT_EQ(g.size(), 2u);
  EXPECT_EQ(g[0].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(g[1].to_vector<float>(), (std::vector<float>{3, 4}));
}

TEST(Grad, OfAGradientIsTheSecondDerivative) {
  auto cube = [](const Value& x) { return sum(x * x * x); };
  auto slope = [&](const Value& x) { return sum(grad(cube)(x)); };
  auto curvature = [&](const Value& x) { return sum(grad(slope)(x)); };
  EXPECT_EQ(grad(slope)(Tensor{1, 2}).to_vector<float>(), (std::vector<float>{6, 12}));
  EXPECT_EQ(grad(curvature)(Tensor{1, 2}).to_vector<float>(), (std::vector<float>{6, 6}));
}

TEST(Grad, SumsSeveralUsesOfOneValue) {
  EXPECT_EQ(grad([](const Value& x) { return sum(x * x + x + x); })(Tensor{3}).to_vector<float>(),
            std::vector<float>{8});
}

TEST(Grad, IsZeroWhereNothingDependsOnTheInput) {
  auto f = [](const Value&, const Value& y) { return sum(y); };
  EXPECT_EQ(grad(f)(Tensor{1, 2}, Tensor{3}).to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(Grad, DoesNotPassStopGradient) {
  EXPECT_EQ(grad([](const Value& x) { return sum(stop_gradient(x) * x); })(Tensor{3}).to_vector<float>(),
            std::vector<float>{3});
}

TEST(Grad, NeedsAScalar) {
  EXPECT_EQ(message_of([] {
              grad([](const Value& x) { return x; })(Tensor{1, 2});
            }),
            "[grad] the function's value is f32[2], a gradient needs one float: reduce it with sum or mean, or give "
            "seeds to vjp");
}

TEST(Grad, NamesAnInputThatIsNotThere) {
  EXPECT_EQ(message_of([] {
              grad([](const Value& x) { return sum(x); }, {1})(Tensor{1, 2});
            }),
            "[grad] there is no input 1: the function has 1");
}

TEST(Grad, NamesTheOpThatHasNoGradient) {
  static const Op opaque = {
      .name = "opaque", .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; }, .view_of = 0};
  EXPECT_EQ(message_of([] { grad([](const Value& x) { return sum(record(opaque, {x})[0]); })(Tensor{1}); }),
            "[opaque] has no gradient: use stop_gradient before it, or an op that has one");
}

TEST(Grad, OfAUsersOwnOpWorks) {
  static const Op twice = {.name = "twice",
                           .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; },
                           .forward = [](const Signature& s) -> Kernel {
                             return {[n = s.in().elements()](const Buffers& b) {
                               for (std::int64_t i = 0; i < n; ++i) b.out<float>()[i] = 2 * b.in<float>()[i];
                             }};
                           },
                           .gradient = [](const Call&, const Values& dy) -> Values { return {dy[0] * 2}; }};
  EXPECT_EQ(grad([](const Value& x) { return sum(square(record(twice, {x})[0])); })(Tensor{1, 2}).to_vector<float>(),
            (std::vector<float>{8, 16}));
}

TEST(Vjp, MultipliesTheJacobianBySeeds) {
  Function f = [](const Values& v) -> Values { return {v[0] * v[1], v[0] + v[1]}; };
  Vjp r = vjp(f, {Tensor{2, 3}, Tensor{5, 7}}, {Tensor{1, 10}, Tensor{100, 1000}});
  EXPECT_EQ(r.outputs[0].to_vector<float>(), (std::vector<float>{10, 21}));
  EXPECT_EQ(r.gradients[0].to_vector<float>(), (std::vector<float>{105, 1070}));
  EXPECT_EQ(r.gradients[1].to_vector<float>(), (std::vector<float>{102, 1030}));
}

TEST(Grad, OfAnIntegerIsRefusedAndSaysWhatToDo) {
  Tensor x{1, 2}, index = Tensor{1, 0}.to(DType::i64);
  auto f = [](const Value& v, const Value& i) { return sum(gather(v, i, 0)); };
  EXPECT_EQ(message_of([&] {
              grad(f, {0, 1})(x, index);
            }),
            "[grad] i64[2] has no gradient (number 1 of those asked for): leave it out, or cast it to a float first");
  EXPECT_EQ(grad(f)(x, index).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST(Vjp, LeavesTheGradientsOfIntegersEmpty) {
  Function f = [](const Values& v) -> Values { return {gather(v[1], v[0], 0)}; };
  Vjp r = vjp(f, {Tensor{1, 1}.to(DType::i64), Tensor{5, 7}}, {Tensor{1, 10}});
  ASSERT_EQ(r.gradients.size(), 2u);
  EXPECT_EQ(r.gradients[0].elements(), 0);
  EXPECT_EQ(r.gradients[1].to_vector<float>(), (std::vector<float>{0, 11}));
}

TEST(CheckGradient, AcceptsARightOneAndExplainsAWrongOne) {
  static const Op wrong = {.name = "wrong",
                           .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; },
                           .gradient = [](const Call&, const Values& dy) -> Values { return {dy[0] * 1.001}; },
                           .view_of = 0};
  Tensor x{0.5, -1, 2};
  EXPECT_TRUE(check_gradient([](const Values& v) -> Values { return {tanh(v[0])}; }, {x}).ok);
  GradientCheck check = check_gradient([](const Values& v) -> Values { return record(wrong, v); }, {x});
  EXPECT_FALSE(check.ok);
  EXPECT_NE(check.why.find("element 0 of input 0: gradient"), std::string::npos) << check.why;
}

}  // namespace
}  // namespace reprise
