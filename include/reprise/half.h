// SPDX-License-Identifier: Apache-2.0
// 16-bit floating point: IEEE binary16 and bfloat16, converted with round to nearest even. Infinities, NaN and
// subnormals are exact; arithmetic is done in float.
#pragma once

#include <bit>
#include <cstdint>

namespace reprise {

/// IEEE binary16: 1 sign, 5 exponent and 10 fraction bits.
struct f16 {
  std::uint16_t bits = 0;

  constexpr f16() = default;
  constexpr explicit f16(float x) : bits(round(x)) {}
  constexpr explicit operator float() const {
    std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  friend constexpr bool operator==(f16, f16) = default;  // of bits

 private:
  static constexpr std::uint16_t round(float x) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(x), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | ((magnitude >> 13) & 0x3ff));
    if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds past the largest, 65504
    if (magnitude < 0x38800000) {  // subnormal: adding 0.5 aligns the fraction and lets the FPU's rounding do the work
      float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
    }
    std::uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (112u << 23);
    return static_cast<std::uint16_t>(sign | rounded >> 13);
  }
};

/// bfloat16: the upper half of a float.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  constexpr explicit bf16(float x) : bits(round(x)) {}
  constexpr explicit operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  friend constexpr bool operator==(bf16, bf16) = default;  // of bits

 private:
  static constexpr std::uint16_t round(float x) {
    std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    if ((u & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(u >> 16 | 0x40);  // NaN stays NaN
    return static_cast<std::uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
};

}  // namespace reprise
