// SPDX-License-Identifier: Apache-2.0
// What is special about element-wise ops, reductions and softmax: known figures, ties, zeros, limits, errors.
#include <cmath>

#include "ops/nn_testing.h"
#include "reprise/autodiff.h"

namespace reprise::math_tests {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

std::vector<double> numbers(const Tensor& t) { return t.to_vector<double>(); }

// f of one value, run on x.
template <class F>
std::vector<double> apply(F f, const Tensor& x) {
  return numbers(run([&](const Values& v) -> Values { return {f(v[0])}; }, {x})[0]);
}
template <class F>
std::vector<double> apply(F f, const Tensor& x, const Tensor& y) {
  return numbers(run([&](const Values& v) -> Values { return {f(v[0], v[1])}; }, {x, y})[0]);
}

// The gradients of sum(f(x, y)).
template <class F>
std::pair<std::vector<double>, std::vector<double>> slopes(F f, const Tensor& x, const Tensor& y) {
  auto g = grad([&](const Value& a, const Value& b) { return sum(f(a, b)); }, {0, 1})(x, y);
  return {numbers(g[0]), numbers(g[1])};
}
template <class F>
std::vector<double> slope(F f, const Tensor& x) {
  return numbers(grad([&](const Value& a) { return sum(f(a)); })(x));
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want, double bound = 1e-6) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities
    EXPECT_NEAR(got[i], want[i], bound) << "element " << i;
  }
}

TEST(Integers, WrapAround) {
  Tensor most = Tensor::scalar(2147483647.0, DType::i32), least = Tensor::scalar(-2147483648.0, DType::i32),
         two = Tensor::scalar(2.0, DType::i32), one = Tensor::scalar(1.0, DType::i32);
  EXPECT_EQ(apply([](auto a, auto b) { return a + b; }, most, one), std::vector<double>{-2147483648.0});
  EXPECT_EQ(apply([](auto a, auto b) { return a - b; }, least, one), std::vector<double>{2147483647.0});
  EXPECT_EQ(apply([](auto a, auto b) { return a * b; }, most, two), std::vector<double>{-2.0});
  EXPECT_EQ(apply([](auto a) { return abs(a); }, least), std::vector<double>{-2147483648.0});
}

TEST(Integers, TakeOnlyNumbersThatTheirDTypeHolds) {
  Value x = Tensor{1, 2, 3}.to(DType::i32), wide = Tensor{1, 2, 3}.to(DType::i64),
        yes = Tensor{1, 0}.to(DType::boolean);
  std::string rest =
      " is not among the whole numbers from -2147483648 to 2147483647 that i32 holds: cast to f32 or f64 first, or "
      "give another";
  EXPECT_EQ(error_of([&] { x + 0.5; }), "[add] 0.5" + rest);
  EXPECT_EQ(error_of([&] { 0.5 - x; }), "[subtract] 0.5" + rest);
  EXPECT_EQ(error_of([&] { x * 1e20; }), "[multiply] 1e+20" + rest);
  EXPECT_EQ(error_of([&] { x / 2147483648.0; }), "[divide] 2147483648" + rest);
  EXPECT_EQ(error_of([&] { less(x, 1.5); }), "[less] 1.5" + rest);
  EXPECT_EQ(error_of([&] { greater(x, NAN); }), "[greater] nan" + rest);
  EXPECT_EQ(error_of([&] { equal(yes, 300); }),
            "[equal] 300 is not among the whole numbers from 0 to 1 that bool holds: cast to f32 or f64 first, or give "
            "another");
  EXPECT_EQ(error_of([&] { pad(x, {1}, {1}, 0.5); }), "[pad] 0.5" + rest);
  EXPECT_EQ(error_of([&] { Tensor::full({DType::i32, {2}}, -2147483649.0); }), "[Tensor::full] -2147483649" + rest);
  EXPECT_NE(error_of([&] { wide + 0x1p63; }), "no error");
  EXPECT_EQ(error_of([&] { wide + -0x1p63; }), "no error");
  EXPECT_EQ(error_of([&] { pow(wide, 0.5); }), "[pow] computes in f32 and f64, input 0 is i64[3]: cast it first");
  auto plus_two = [](const Value& v) { return v + 2.0; };
  EXPECT_EQ(apply(plus_two, Tensor{1, 2}.to(DType::i32)), (std::vector<double>{3, 4}));
}

TEST(Var, OfFewerElementsThanTheCorrectionIsInfinite) {
  EXPECT_EQ(apply([](auto v) { return var(v, {0}, false, 5); }, Tensor{1, 2}), std::vector<double>{inf});
}

TEST(Divide, HasTheKnownGradients) {
  auto [da, db] = slopes([](auto a, auto b) { return a / b; }, Tensor{6, 10}, Tensor{2, 5});
  expect_near(da, {0.5, 0.2});
  expect_near(db, {-1.5, -0.4});
}

TEST(Divide, IntegersGoTowardZeroAndDividingByZeroGivesZero) {
  Tensor a = Tensor{7, -7, 7, 5}.to(DType::i64), b = Tensor{2, 2, -2, 0}.to(DType::i64);
  EXPECT_EQ(apply([](auto x, auto y) { return x / y; }, a, b), (std::vector<double>{3, -3, -3, 0}));
  EXPECT_EQ(apply([](auto x, auto y) { return modulo(x, y); }, a, b), (std::vector<double>{1, 1, -1, 0}));
}

TEST(Pow, HasTheKnownGradients) {
  auto [dx, dy] = slopes([](auto a, auto b) { return pow(a, b); }, Tensor{2, 3}, Tensor{3, 2});
  expect_near(dx, {12, 6}, 1e-5);
  expect_near(dy, {8 * std::log(2.0), 9 * std::log(3.0)}, 1e-5);
}

TEST(Pow, GradientsAreFiniteAtZero) {
  auto [dx, dy] = slopes([](auto a, auto b) { return pow(a, b); }, Tensor{0, 0, -2}, Tensor{0, 2, 2});
  expect_near(dx, {0, 0, -4});
  expect_near(dy, {0, 0, 0});
}

TEST(Pow, ByANumberUsesTheCheapOp) {
  for (auto [exponent, op] :
       {std::pair{2.0, "square"}, {0.5, "sqrt"}, {-0.5, "rsqrt"}, {-1.0, "reciprocal"}, {1.5, "pow"}}) {
    const Type type{DType::f32, {2}};
    Graph g = trace([e = exponent](const Values& v) -> Values { return {pow(v[0], e)}; }, std::span(&type, 1));
    EXPECT_EQ(g.node(g.outputs[0].node).op->name, op);
  }
}

TEST(Clamp, PassesTheGradientInsideItsLimits) {
  auto f = [](auto x) { return clamp(x, 0, 2); };
  expect_near(slope(f, Tensor{-1, .5, 1.5, 3}), {0, 1, 1, 0});
  expect_near(slope(f, Tensor{0, 2}), {1, 1});
}

TEST(MinimumMaximum, GiveTheFirstOperandTheGradientOfATie) {
  Tensor a{1, 2, 3}, b{2, 2, 2};
  auto low = slopes([](auto x, auto y) { return minimum(x, y); }, a, b);
  EXPECT_EQ(low.first, (std::vector<double>{1, 1, 0}));
  EXPECT_EQ(low.second, (std::vector<double>{0, 0, 1}));
  auto high = slopes([](auto x, auto y) { return maximum(x, y); }, a, b);
  EXPECT_EQ(high.first, (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(high.second, (std::vector<double>{1, 0, 0}));
}

TEST(MinimumMaximum, LetNanWin) {
  Tensor a{NAN, 1}, b{1, NAN};
  for (double v : apply([](auto x, auto y) { return minimum(x, y); }, a, b)) EXPECT_TRUE(std::isnan(v));
  for (double v : apply([](auto x, auto y) { return maximum(x, y); }, a, b)) EXPECT_TRUE(std::isnan(v));
}

TEST(MaxMin, GiveTheFirstOfEqualsTheGradient) {
  Tensor x{{1, 3, 3}, {2, 2, 0}};
  EXPECT_EQ(slope([](auto v) { return max(v, {1}); }, x), (std::vector<double>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(slope([](auto v) { return min(v, {0}); }, x), (std::vector<double>{1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(slope([](auto v) { return max(v); }, x), (std::vector<double>{0, 1, 0, 0, 0, 0}));
}

TEST(Prod, GradientIsRightWithZeros) {
  auto f = [](auto v) { return prod(v); };
  expect_near(slope(f, Tensor{2, 3, 4}), {12, 8, 6});
  expect_near(slope(f, Tensor{2, 0, 4}), {0, 8, 0});
  expect_near(slope(f, Tensor{0, 0, 4}), {0, 0, 0});
}

TEST(Prod, OverSeveralAxesIsTheProductOfAll) {
  Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  EXPECT_EQ(apply([](auto v) { return prod(v, {2, 0}); }, x), (std::vector<double>{1 * 2 * 5 * 6, 3 * 4 * 7 * 8}));
}

TEST(Reductions, TakeAxesInAnyOrderAndNoAxesAsIdentity) {
  Tensor x{{1, 2}, {3, 4}};
  EXPECT_EQ(apply([](auto v) { return sum(v, {1, 0}); }, x), (std::vector<double>{10}));
  EXPECT_EQ(apply([](auto v) { return mean(v, {-1}); }, x), (std::vector<double>{1.5, 3.5}));
  EXPECT_EQ(apply([](auto v) { return max(v, Axes{}); }, x), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(apply([](auto v) { return var(v); }, x), (std::vector<double>{1.25}));
  expect_near(apply([](auto v) { return var(v, {0}, false, 1); }, x), {2, 2});
}

TEST(Reductions, RefuseBadRepeatedAndEmptyAxes) {
  Value x = Tensor{{1, 2}, {3, 4}};
  EXPECT_EQ(error_of([&] { sum(x, {2}); }), "[sum] axis 2 does not exist in 2 dimensions: axes go from -2 to 1");
  EXPECT_EQ(error_of([&] { mean(x, {0, -2}); }), "[mean] axis 0 is twice in [0,-2]: name each axis once");
  EXPECT_EQ(error_of([&] { prod(x, {0, 0}); }), "[prod] axis 0 is twice in [0,0]: name each axis once");
  EXPECT_EQ(error_of([&] { argmax(x, 5); }), "[argmax] axis 5 does not exist in 2 dimensions: axes go from -2 to 1");
  Value empty = Tensor::zeros({DType::f32, {2, 0}});
  EXPECT_EQ(error_of([&] { logsumexp(empty, {1}); }),
            "[logsumexp] axis 1 of f32[2,0] is empty, there is no element to choose: give it one or more");
  EXPECT_EQ(error_of([&] { var(x, {1, -1}); }), "[var] axis 1 is twice in [1,-1]: name each axis once");
  EXPECT_EQ(error_of([&] { max(empty, {1}); }),
            "[max] axis 1 of f32[2,0] is empty, there is no element to choose: give it one or more");
  EXPECT_EQ(error_of([&] { argmin(empty, 1); }),
            "[argmin] axis 1 of f32[2,0] is empty, there is no element to choose: give it one or more");
}

TEST(ArgMax, GivesTheFirstOfEqualsAndFindsNan) {
  EXPECT_EQ(apply([](auto v) { return argmax(v, 1); }, Tensor{{1, 3, 3}, {2, NAN, 5}}), (std::vector<double>{1, 1}));
  EXPECT_EQ(apply([](auto v) { return argmin(v, 0); }, Tensor{{1, 3, 3}, {1, 2, 5}}), (std::vector<double>{0, 1, 0}));
}

TEST(LogSumExp, SurvivesHugeAndInfiniteNumbers) {
  auto f = [](auto v) { return logsumexp(v, {1}); };
  expect_near(apply(f, Tensor{{1000, 1000}, {-inf, -inf}, {inf, 0}, {-inf, 3}}), {1000 + std::log(2.0), -inf, inf, 3},
              1e-4);
  expect_near(slope([](auto v) { return logsumexp(v); }, Tensor{0, 0}), {0.5, 0.5});
}

TEST(LogSoftmax, IsStable) {
  EXPECT_EQ(apply([](auto v) { return log_softmax(v); }, Tensor{0, 100}), (std::vector<double>{-100, 0}));
}

TEST(Round, TakesAHalfToTheEvenNumber) {
  EXPECT_EQ(apply([](auto v) { return round(v); }, Tensor{0.5, 1.5, 2.5, -0.5, -1.5}),
            (std::vector<double>{0, 2, 2, 0, -2}));
}

TEST(Activations, HaveKnownValues) {
  Tensor x{-2, 0, 3};
  expect_near(apply([](auto v) { return gelu(v); }, x), {-0.04550026, 0, 2.99595031});
  expect_near(apply([](auto v) { return gelu_tanh(v); }, x), {-0.04540231, 0, 2.99636284});
  expect_near(apply([](auto v) { return silu(v); }, x), {-0.23840584, 0, 2.85772238});
  expect_near(apply([](auto v) { return mish(v); }, x), {-0.25250146, 0, 2.98653513}, 1e-5);
  expect_near(apply([](auto v) { return selu(v); }, x), {-1.52016652, 0, 3.15210295});
  expect_near(apply([](auto v) { return softplus(v); }, Tensor{-200, 0, 200}), {0, 0.69314718, 200});
}

TEST(Prelu, LearnsItsSlope) {
  auto [dx, dslope] = slopes([](auto x, auto s) { return prelu(x, s); }, Tensor{-2, 0, 3}, Tensor{0.5});
  expect_near(dx, {0.5, 0.5, 1});
  expect_near(dslope, {-2});
}

TEST(Equal, HoldsWithinItsTolerance) {
  Tensor a = Tensor{1, 2, inf}.to(DType::f64), b = Tensor{1, 2.5, inf}.to(DType::f64);
  EXPECT_EQ(apply([](auto x, auto y) { return equal(x, y); }, a, b), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(apply([](auto x, auto y) { return equal(x, y, 0.5); }, a, b), (std::vector<double>{1, 1, 1}));
}

TEST(Fuzzy, LogicFollowsItsFormulas) {
  Tensor a{0, 1, 0.25}, b{1, 1, 0.5};
  EXPECT_EQ(apply(fuzzy::or_max, a, b), (std::vector<double>{1, 1, 0.5}));
  EXPECT_EQ(apply(fuzzy::or_prob_sum, a, b), (std::vector<double>{1, 1, 0.625}));
  EXPECT_EQ(apply(fuzzy::nand, a, b), (std::vector<double>{1, 0, 0.875}));
  EXPECT_EQ(apply(fuzzy::nor, a, b), (std::vector<double>{0, 0, 0.5}));
  EXPECT_EQ(apply(fuzzy::exclusive_or, a, b), (std::vector<double>{1, 0, 0.5}));
  EXPECT_EQ(apply(fuzzy::lt, a, b), (std::vector<double>{1, 0, 1}));
  EXPECT_EQ(apply(fuzzy::gte, a, b), (std::vector<double>{0, 1, 0}));
  Tensor x = Tensor{1, 1}.to(DType::f64), y = Tensor::from(std::vector<double>{1 + 1e-11, 1 + 1e-9}, {2});
  EXPECT_EQ(apply(fuzzy::eq, x, y), (std::vector<double>{1, 0}));
}

TEST(Elementwise, ErrorsNameTheOpTheValuesAndTheRemedy) {
  Value a = Tensor{1, 2}, b = Tensor{1, 2, 3}, whole = Tensor{1, 2}.to(DType::i64);
  EXPECT_EQ(error_of([&] { a* b; }),
            "[multiply] shapes [2] and [3] do not broadcast: sizes must be equal or 1, counted from the right");
  EXPECT_EQ(error_of([&] { a + whole; }), "[add] the dtypes of f32[2] and i64[2] differ: cast one of them");
  EXPECT_EQ(error_of([&] { exp(whole); }), "[exp] computes in f32 and f64, input 0 is i64[2]: cast it first");
  EXPECT_EQ(error_of([&] { clamp(a, 2, 1); }), "[clamp] min is 2, max is 1: min must not be greater");
  EXPECT_EQ(error_of([&] { elu(a, -1); }), "[elu] alpha is -1: it must not be negative");
  EXPECT_EQ(error_of([&] { where(a, a, a); }), "[where] input 0 must be bool, it is f32[2]: cast it first");
  EXPECT_EQ(error_of([&] { logical_and(a, a); }), "[logical_and] input 0 must be bool, it is f32[2]: cast it first");
}

TEST(GradientOfExpression, CountsAValueThatIsUsedTwiceOnce) {
  Tensor y = Tensor{0.3}.to(DType::f64);
  auto f = [](const Values& v) -> Values { return {record("sigmoid_grad", {v[0], v[0]})}; };
  EXPECT_TRUE(check_gradient(f, {y}).ok);
}

}  // namespace
}  // namespace reprise::math_tests
