// SPDX-License-Identifier: Apache-2.0
// Elementary functions of one number that compile into vector code: for f32 our own polynomials and quotients of two
// (minimax fits), free of branches and within 3 to 7 units in the last place, as their tests state; for f64 the C
// library's. Infinities and NaN go where the C library sends them.
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

// exp(r) = 1 + r (1 + r q(r)) for |r| <= ln 2 / 2; exp(r) - 1 without its rounding to 1.
inline float exp_quotient(float r) {
  return 0.5f + r * (0.166665331f + r * (0.0416662507f + r * (0.00836791005f + r * 0.00139487418f)));
}
inline float exp_reduced(float r) { return 1.0f + r * (1.0f + r * exp_quotient(r)); }
inline float expm1_reduced(float r) { return r + r * r * exp_quotient(r); }

inline float log1p_reduced(float f) {  // sqrt(1/2) <= 1 + f <= sqrt(2)
  float f2 = f * f, f4 = f2 * f2;      // in pairs, which do not wait for each other
  float low = (0.333333075f + f * -0.249999687f) + f2 * (0.200025976f + f * -0.166704997f);
  float high = (0.142109767f + f * -0.123572282f) + f2 * (0.119089678f + f * -0.119707599f);
  float p = low + f4 * (high + f4 * 0.0704625994f);
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
  return detail::exp_reduced(r) * detail::power_of_two(half) * detail::power_of_two(n - half);
}

/// exp for x <= 88, for less: what would be subnormal is 0.
inline float bounded_exp(float x) {
  constexpr float shift = 0x1.8p23f + 127;  // leaves the exponent's bits
  float shifted = x * 1.44269504f + shift, n = shifted - shift;
  float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = detail::exp_reduced(r) * std::bit_cast<float>(detail::bits(shifted) << 23);
  return x < -87.0f ? 0.0f : y;
}
inline double bounded_exp(double x) { return std::exp(x); }

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

inline float sigmoid(float x) {
  float e = bounded_exp(-std::fabs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// x P(x²) / Q(x²), a minimax fit of relative error 2.1e-8 up to 9, where tanh is 1.
inline float tanh(float x) {
  float t = detail::limit(x, -9.0f, 9.0f), s = t * t;
  float p = 2.06088235e-5f + s * 1.33543349e-8f, q = 3.28560812e-4f + s * 7.77641792e-7f;
  p = t * (0.9999999793f + s * (0.133810111f + s * (3.49557133e-3f + s * p)));
  q = 1.0f + s * (0.467143267f + s * (0.0258769171f + s * q));
  return detail::limit(p / q, -1.0f, 1.0f);
}

namespace detail {

// erf to within a few roundings, which may pass 1: x P(x²) / Q(x²), a minimax fit of relative error 1.9e-8 up to 3.92,
// where erf is 1.
inline float erf_ratio(float x) {
  float t = limit(x, -3.92f, 3.92f), s = t * t;
  float p = 3.76565518e-3f + s * (2.84883694e-4f + s * 2.0500821e-6f);
  float q = 0.0149692933f + s * (1.16254497e-3f + s * 3.80917117e-5f);
  p = t * (1.12837915f + s * (0.190407345f + s * (0.0527488423f + s * p)));
  q = 1.0f + s * (0.502076856f + s * (0.114109477f + s * q));
  return p / q;
}
inline double erf_ratio(double x) { return std::erf(x); }

}  // namespace detail

inline float erf(float x) { return detail::limit(detail::erf_ratio(x), -1.0f, 1.0f); }

// clang-format off
inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
// clang-format on

namespace detail {

// log(1 + u) for 0 <= u <= 1.
inline float log1p_of_unit(float u) {
  bool high = u > 0.41421356f;  // then 1 + u is halved
  float f = high ? 0.5f * (u - 1.0f) : u;
  return log1p_reduced(f) + (high ? 0.693147181f : 0.0f);
}
inline double log1p_of_unit(double u) { return std::log1p(u); }

// tanh(softplus(x)) = n / (n + 2) with n = e (e + 2), e = exp(x).
template <class T>
struct MishTerms {
  T e, n;
};
template <class T>
MishTerms<T> mish_terms(T x) {
  T e = bounded_exp(x > T(20) ? T(20) : x);
  return {e, e * (e + T(2))};
}

}  // namespace detail

/// log(1 + exp(x)), without overflow.
template <class T>
T softplus(T x) {
  T high = x > T(0) ? x : T(0);
  return high + detail::log1p_of_unit(exp(-std::fabs(x)));
}

/// x times the standard normal distribution function; and its derivative.
template <class T>
T gelu(T x) {
  T half = T(0.5) * x;
  return half + half * detail::erf_ratio(x * T(0.70710678118654752));
}
inline double gelu_slope(double x) {
  return 0.5 + 0.5 * std::erf(x * 0.70710678118654752) + x * 0.39894228040143268 * std::exp(-0.5 * x * x);
}
// 1/2 + x P(x²) / Q(x²), a minimax fit of absolute error 9e-8 up to 5.8, where the slope is 0 or 1.
inline float gelu_slope(float x) {
  float t = detail::limit(x, -5.8f, 5.8f), s = t * t;
  float p = 3.22860169e-6f + s * (3.50183513e-5f + s * 1.48351779e-7f);
  float q = 3.44775228e-3f + s * (1.86331053e-4f + s * (8.34059104e-6f + s * -4.60884887e-9f));
  p = t * (0.797885205f + s * (-0.0321021807f + s * (0.0142237488f + s * p)));
  q = 1.0f + s * (0.293105935f + s * (0.0405127302f + s * q));
  return 0.5f + p / q;
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x³); and its derivative.
template <class T>
T gelu_tanh(T x) {
  return x * sigmoid(x * (T(1.5957691216057308) + T(0.071354816272600248) * x * x));
}
template <class T>
T gelu_tanh_slope(T x) {
  T s = sigmoid(x * (T(1.5957691216057308) + T(0.071354816272600248) * x * x));
  T twice_du = T(1.5957691216057308) + T(0.21406444881780074) * x * x;
  return s + x * s * (T(1) - s) * twice_du;
}

/// x tanh(softplus(x)); and its derivative.
template <class T>
T mish(T x) {
  T n = detail::mish_terms(x).n;
  return x * (n / (n + T(2)));
}
template <class T>
T mish_slope(T x) {
  auto [e, n] = detail::mish_terms(x);
  T m = n + T(2);
  return n / m + T(4) * x * ((e / m) * ((e + T(1)) / m));
}

}  // namespace reprise::kernels
