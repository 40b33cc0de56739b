// SPDX-License-Identifier: Apache-2.0
// Elementary functions of one number that compile into vector code: for f32 our own polynomials (minimax fits), free of
// branches and within about 4 units in the last place; for f64 the C library's. Infinities and NaN go where the C
// library sends them.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace reprise::kernels {

namespace detail {

constexpr float infinity = std::numeric_limits<float>::infinity();

inline std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
/// 2^n for -126 <= n <= 127.
inline float power_of_two(std::int32_t n) { return std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23); }

// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
  std::int32_t n;
  float r;
};

// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
inline Reduced reduce_by_ln2(float x) {
  constexpr float shift = 0x1.8p23f;
  float shifted = x * 1.44269504f + shift, n = shifted - shift;
  float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts, the first with few bits
  return {static_cast<std::int32_t>(bits(shifted) - bits(shift)), r};
}

// exp(r) - 1 for |r| <= ln 2 / 2.
inline float expm1_reduced(float r) {
  float q = 0.00836791005f + r * 0.00139487418f;
  return r + r * r * (0.5f + r * (0.166665331f + r * (0.0416662507f + r * q)));
}

inline float log1p_reduced(float f) {  // sqrt(1/2) <= 1 + f <= sqrt(2)
  float p = -0.119707599f + f * 0.0704625994f;
  p = -0.166704997f + f * (0.142109767f + f * (-0.123572282f + f * (0.119089678f + f * p)));
  p = 0.333333075f + f * (-0.249999687f + f * (0.200025976f + f * p));
  float f2 = f * f;
  return f - 0.5f * f2 + f * f2 * p;
}

// Between lo and hi; NaN stays NaN.
inline float limit(float x, float lo, float hi) {
  x = x < lo ? lo : x;
  return x > hi ? hi : x;
}

}  // namespace detail

inline float exp(float x) {
  auto [n, r] = detail::reduce_by_ln2(detail::limit(x, -104.0f, 89.0f));
  std::int32_t half = n >> 1;  // scaled in two steps: the result may be subnormal or overflow
  return (1.0f + detail::expm1_reduced(r)) * detail::power_of_two(half) * detail::power_of_two(n - half);
}

inline float expm1(float x) {
  auto [n, r] = detail::reduce_by_ln2(detail::limit(x, -20.0f, 89.0f));
  float scale = detail::power_of_two(n - 1);
  float y = 2.0f * (scale * detail::expm1_reduced(r) + (scale - 0.5f));
  return x == 0.0f ? x : y;
}

inline float log(float x) {
  float scaled = x < 0x1p-126f ? x * 0x1p23f : x, shift = x < 0x1p-126f ? 23.0f : 0.0f;
  std::uint32_t u = detail::bits(scaled) - detail::bits(0.707106781f);
  auto exponent = static_cast<std::int32_t>(u) >> 23;
  float m = std::bit_cast<float>(detail::bits(scaled) - (static_cast<std::uint32_t>(exponent) << 23));
  float e = static_cast<float>(exponent) - shift, f = detail::log1p_reduced(m - 1.0f);
  float y = e * 0.693359375f + (f + e * -2.12194440e-4f);
  y = x == 0.0f ? -detail::infinity : y;
  y = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
  return x < detail::infinity ? y : x;
}

inline float log1p(float x) {
  float u = 1.0f + x, y = log(u) * (x / (u - 1.0f));  // the quotient makes good what 1 + x rounded away
  y = u == 1.0f ? x : y;
  return u == detail::infinity ? u : y;
}

inline float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

inline float tanh(float x) {
  float a = std::fabs(x), e = expm1(2.0f * (a > 10.0f ? 10.0f : a));
  return std::copysign(e / (e + 2.0f), x);
}

inline float erf(float x) {
  float t = std::fabs(x), s = x * x;
  float q = 0.00518953521f + s * (-0.000802084105f + s * 7.8891193e-05f);
  q = 0.128379166f + s * (-0.37612626f + s * (0.112836003f + s * (-0.0268544443f + s * q)));
  float near = x + x * q;
  t = t > 4.0f ? 4.0f : t;
  float g = 8.88397481e-05f + t * (3.79316225e-05f + t * -4.31435683e-06f);
  g = -0.635536432f + t * (-0.105433479f + t * (0.0228525326f + t * (-0.00303945108f + t * g)));
  float far = std::copysign(1.0f - exp(t * (-1.12857115f + t * g)), x);
  return t < 1.0f ? near : far;
}

// clang-format off
inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
// clang-format on

/// log(1 + exp(x)), without overflow.
template <class T>
T softplus(T x) {
  T high = x > T(0) ? x : T(0);
  return high + log1p(exp(-std::fabs(x)));
}

/// The standard normal distribution function.
template <class T>
T normal_cdf(T x) {
  return T(0.5) * (T(1) + erf(x * T(0.70710678118654752)));
}

/// The standard normal density.
template <class T>
T normal_pdf(T x) {
  return T(0.39894228040143268) * exp(T(-0.5) * x * x);
}

}  // namespace reprise::kernels
