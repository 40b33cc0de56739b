// SPDX-License-Identifier: Apache-2.0
#include "kernels/math.h"

#include "kernels/elementwise.h"
#include "kernels/random_data.h"

namespace reprise::kernels::math_tests {
namespace {

using testing::RandomData;

// Runs f as kernels run it, in vectors, and compares with the C library's f64, in units in the last place.
template <class F, class G>
void expect_within_ulps(double low, double high, double ulps, F f, G exact) {
  std::vector<float> x = RandomData(11).array<float>(20'001, low, high), y(x.size());
  run_elements(static_cast<std::int64_t>(x.size()), element_loop<float, float>(f), x.data(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    double want = exact(static_cast<double>(x[i]));
    double ulp = std::max(std::ldexp(1.0, std::ilogb(want == 0 ? 1e-45 : want) - 23), 0x1p-149);
    ASSERT_NEAR(static_cast<double>(y[i]), want, ulps * ulp) << "at " << x[i];
  }
}

TEST(Math, ExpIsWithinThreeUlpsDownToSubnormals) {
  expect_within_ulps(
      -87, 88, 3, [](float x) { return exp(x); }, [](double x) { return std::exp(x); });
  expect_within_ulps(
      -103, -87, 3, [](float x) { return exp(x); }, [](double x) { return std::exp(x); });
}

TEST(Math, Expm1IsWithinFourUlps) {
  auto fast = [](float x) { return expm1(x); };
  auto exact = [](double x) { return std::expm1(x); };
  expect_within_ulps(-1, 1, 4, fast, exact);
  expect_within_ulps(-1e-4, 1e-4, 4, fast, exact);
  expect_within_ulps(-30, 88, 4, fast, exact);
}

TEST(Math, LogIsWithinThreeUlps) {
  auto fast = [](float x) { return log(x); };
  auto exact = [](double x) { return std::log(x); };
  expect_within_ulps(0.5, 2, 3, fast, exact);
  expect_within_ulps(1e-40, 1e-37, 3, fast, exact);
  expect_within_ulps(1, 1e30, 3, fast, exact);
}

TEST(Math, Log1pIsWithinFiveUlps) {
  auto fast = [](float x) { return log1p(x); };
  auto exact = [](double x) { return std::log1p(x); };
  expect_within_ulps(-0.9, 5, 5, fast, exact);
  expect_within_ulps(-1e-4, 1e-4, 5, fast, exact);
}

TEST(Math, TanhIsWithinFiveUlps) {
  auto fast = [](float x) { return tanh(x); };
  auto exact = [](double x) { return std::tanh(x); };
  expect_within_ulps(-0.1, 0.1, 5, fast, exact);
  expect_within_ulps(-15, 15, 5, fast, exact);
}

TEST(Math, ErfIsWithinSevenUlpsAndNeverPassesOne) {
  auto fast = [](float x) { return erf(x); };
  auto exact = [](double x) { return std::erf(x); };
  expect_within_ulps(-1, 1, 5, fast, exact);
  expect_within_ulps(-6, 6, 7, fast, exact);
  std::vector<float> x = RandomData(12).array<float>(100'000, 2.5, 5), y(x.size());
  run_elements(100'000, element_loop<float, float>(fast), x.data(), y.data());
  EXPECT_LE(*std::ranges::max_element(y), 1.0f);
}

TEST(Math, SigmoidIsWithinFiveUlps) {
  expect_within_ulps(
      -87, 30, 5, [](float x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); });
}

// Against the definitions in f64, within 1e-6 of the size of x: far below zero the functions themselves vanish.
TEST(Math, SmoothActivationsAndTheirSlopesAgreeWithTheirDefinitions) {
  constexpr double c = 0.79788456080286536;  // sqrt(2 / pi)
  auto tanh_part = [](double v) { return std::tanh(c * (v + 0.044715 * v * v * v)); };
  auto mish_part = [](double v) { return std::tanh(std::log1p(std::exp(v))); };
  auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  auto cdf = [](double v) { return 0.5 * std::erfc(-v * std::sqrt(0.5)); };
  auto close = [](auto fast, auto exact) {
    std::vector<float> x = RandomData(13).array<float>(20'001, -30, 30), y(x.size());
    run_elements(static_cast<std::int64_t>(x.size()), element_loop<float, float>(fast), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(y[i], exact(static_cast<double>(x[i])), 1e-6 * (1 + std::abs(x[i]))) << "at " << x[i];
  };
  close([](float v) { return gelu(v); }, [&](double v) { return v * cdf(v); });
  close([](float v) { return gelu_slope(v); },
        [&](double v) { return cdf(v) + v * std::exp(-v * v / 2) * 0.39894228040143268; });
  close([](float v) { return gelu_tanh(v); }, [&](double v) { return v / 2 * (1 + tanh_part(v)); });
  close([](float v) { return gelu_tanh_slope(v); },
        [&](double v) {
          double t = tanh_part(v);
          return (1 + t + v * (1 - t * t) * c * (1 + 3 * 0.044715 * v * v)) / 2;
        });
  close([](float v) { return mish(v); }, [&](double v) { return v * mish_part(v); });
  close([](float v) { return mish_slope(v); },
        [&](double v) { return mish_part(v) + v * logistic(v) * (1 - mish_part(v) * mish_part(v)); });
  close([](float v) { return softplus(v); },
        [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); });
}

TEST(Math, InfinitiesAndNanGoWhereTheLibrarySendsThem) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x{inf, -inf, nan, 0.0f, -0.0f, -1.0f, 100.0f, -100.0f, 1e-40f, 3e38f};
  auto agree = [&](auto fast, auto exact) {
    std::vector<float> y(x.size());
    run_elements(static_cast<std::int64_t>(x.size()), element_loop<float, float>(fast), x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      float want = exact(x[i]);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(y[i])) << "at " << x[i];
      else if (std::isinf(want) || want == 0)
        EXPECT_EQ(y[i], want) << "at " << x[i];
      else
        EXPECT_NEAR(y[i] / want, 1, 1e-6) << "at " << x[i];
    }
  };
  agree([](float v) { return exp(v); }, [](float v) { return std::exp(v); });
  agree([](float v) { return expm1(v); }, [](float v) { return std::expm1(v); });
  agree([](float v) { return log(v); }, [](float v) { return std::log(v); });
  agree([](float v) { return log1p(v); }, [](float v) { return std::log1p(v); });
  agree([](float v) { return tanh(v); }, [](float v) { return std::tanh(v); });
  agree([](float v) { return erf(v); }, [](float v) { return std::erf(v); });
  agree([](float v) { return sigmoid(v); }, [](float v) { return 1 / (1 + std::exp(-v)); });
  agree([](float v) { return softplus(v); },
        [](float v) { return v > 80 ? v : static_cast<float>(std::log1p(std::exp(double(v)))); });
}

}  // namespace
}  // namespace reprise::kernels::math_tests
