// SPDX-License-Identifier: Apache-2.0
#include "kernels/philox.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace reprise::kernels {
namespace {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t grain = 1 << 8;  // groups worth a thread

[[gnu::always_inline]] inline void words_of(const PhiloxStream& s, std::uint64_t group, std::uint32_t* words) {
  const std::uint64_t first = group * lanes;
  const auto k0 = static_cast<std::uint32_t>(s.key), k1 = static_cast<std::uint32_t>(s.key >> 32);
  const auto s0 = static_cast<std::uint32_t>(s.stream), s1 = static_cast<std::uint32_t>(s.stream >> 32);
  const auto low = static_cast<std::uint32_t>(first), high = static_cast<std::uint32_t>(first >> 32);
#pragma omp simd
  for (std::uint32_t l = 0; l < lanes; ++l) {
    std::uint32_t a = low + l, b = high, c = s0, d = s1;  // `first` is a multiple of 16: the sum never carries
#pragma GCC unroll 10
    for (std::uint32_t round = 0; round < 10; ++round) {
      std::uint64_t p = std::uint64_t{0xD2511F53} * a, q = std::uint64_t{0xCD9E8D57} * c;
      a = static_cast<std::uint32_t>(q >> 32) ^ b ^ (k0 + round * 0x9E3779B9);
      b = static_cast<std::uint32_t>(q);
      c = static_cast<std::uint32_t>(p >> 32) ^ d ^ (k1 + round * 0xBB67AE85);
      d = static_cast<std::uint32_t>(p);
    }
    words[l] = a;
    words[lanes + l] = b;
    words[2 * lanes + l] = c;
    words[3 * lanes + l] = d;
  }
}

// Calls make(group, out) for each group of 64 numbers; the last one may be cut short.
template <class T, class F>
void for_each_group(std::int64_t count, T* y, const F& make) {
  std::int64_t groups = (count + philox_group - 1) / philox_group, whole = count / philox_group;
  parallel_ranges(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    simd([&] {
      for (std::int64_t g = begin; g < std::min(end, whole); ++g)
        make(static_cast<std::uint64_t>(g), y + g * philox_group);
      if (end <= whole) return;
      T last[philox_group];
      make(static_cast<std::uint64_t>(whole), last);
      std::copy_n(last, count - whole * philox_group, y + whole * philox_group);
    });
  });
}

// 64 numbers of 64 bits, from two groups of words.
[[gnu::always_inline]] inline void wide_words(const PhiloxStream& s, std::uint64_t group, std::uint64_t* out) {
  std::uint32_t a[philox_group], b[philox_group];
  words_of(s, 2 * group, a);
  words_of(s, 2 * group + 1, b);
  for (int i = 0; i < philox_group; ++i) out[i] = std::uint64_t{a[i]} << 32 | b[i];
}

// Sine and cosine of u turns, u in [0, 1): Taylor's series within an eighth of a turn of the nearest quarter.
[[gnu::always_inline]] inline void sine_cosine(float u, float& sine, float& cosine) {
  auto quarter = static_cast<std::int32_t>(4 * u + 0.5f);
  float x = (u - static_cast<float>(quarter) * 0.25f) * (2 * std::numbers::pi_v<float>), q = x * x;
  float s = x * (1 - q / 6 * (1 - q / 20 * (1 - q / 42 * (1 - q / 72))));
  float c = 1 - q / 2 * (1 - q / 12 * (1 - q / 30 * (1 - q / 56)));
  float a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
  sine = quarter & 2 ? -a : a;
  cosine = (quarter + 1) & 2 ? -b : b;
}

[[gnu::always_inline]] inline void normals_of(const std::uint32_t* words, float mean, float deviation, float* out) {
#pragma omp simd
  for (int i = 0; i < philox_group / 2; ++i) {
    float u = (static_cast<float>(words[i] >> 8) + 0.5f) * 0x1p-24f;
    float radius = deviation * std::sqrt(-2 * log(u)), sine, cosine;
    sine_cosine(static_cast<float>(words[philox_group / 2 + i] >> 8) * 0x1p-24f, sine, cosine);
    out[i] = mean + radius * cosine;
    out[philox_group / 2 + i] = mean + radius * sine;
  }
}

// Words below `bound` are chosen; p = 1 needs a bound past every word.
std::uint64_t bound_of(double p) { return static_cast<std::uint64_t>(std::ldexp(std::clamp(p, 0.0, 1.0), 32)); }

}  // namespace

void philox_words(const PhiloxStream& s, std::uint64_t group, std::uint32_t* words) {
  simd([&] { words_of(s, group, words); });
}

void philox_words_naive(const PhiloxStream& s, std::uint64_t group, std::uint32_t* words) {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  for (std::uint64_t l = 0; l < lanes; ++l) {
    std::uint64_t block = group * lanes + l;
    auto four =
        philox({low(block), low(block >> 32), low(s.stream), low(s.stream >> 32)}, {low(s.key), low(s.key >> 32)});
    for (std::size_t w = 0; w < 4; ++w) words[w * lanes + l] = four[w];
  }
}

void random_uniform(const PhiloxStream& s, std::int64_t count, double low, double high, float* y) {
  auto from = static_cast<float>(low), width = static_cast<float>(high - low);
  float most = std::nextafter(static_cast<float>(high), from);  // rounding may not reach `high`
  for_each_group(count, y, [&](std::uint64_t group, float* out) {
    std::uint32_t words[philox_group];
    words_of(s, group, words);
#pragma omp simd
    for (int i = 0; i < philox_group; ++i)
      out[i] = std::min(most, from + width * (static_cast<float>(words[i] >> 8) * 0x1p-24f));
  });
}

void random_uniform(const PhiloxStream& s, std::int64_t count, double low, double high, double* y) {
  double most = std::nextafter(high, low);
  for_each_group(count, y, [&](std::uint64_t group, double* out) {
    std::uint64_t words[philox_group];
    wide_words(s, group, words);
    for (int i = 0; i < philox_group; ++i)
      out[i] = std::min(most, low + (high - low) * (static_cast<double>(words[i] >> 11) * 0x1p-53));
  });
}

void random_normal(const PhiloxStream& s, std::int64_t count, double mean, double deviation, float* y) {
  for_each_group(count, y, [&](std::uint64_t group, float* out) {
    std::uint32_t words[philox_group];
    words_of(s, group, words);
    normals_of(words, static_cast<float>(mean), static_cast<float>(deviation), out);
  });
}

void random_normal(const PhiloxStream& s, std::int64_t count, double mean, double deviation, double* y) {
  for_each_group(count, y, [&](std::uint64_t group, double* out) {
    std::uint64_t words[philox_group];
    wide_words(s, group, words);
    for (int i = 0; i < philox_group / 2; ++i) {
      double u = (static_cast<double>(words[i] >> 11) + 0.5) * 0x1p-53;
      double turn = static_cast<double>(words[philox_group / 2 + i] >> 11) * 0x1p-53 * 2 * std::numbers::pi;
      double radius = deviation * std::sqrt(-2 * std::log(u));
      out[i] = mean + radius * std::cos(turn);
      out[philox_group / 2 + i] = mean + radius * std::sin(turn);
    }
  });
}

void random_integers(const PhiloxStream& s, std::int64_t count, std::int64_t low, std::int64_t high, std::int64_t* y) {
  __extension__ typedef unsigned __int128 Wide;
  auto range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  for_each_group(count, y, [&](std::uint64_t group, std::int64_t* out) {
    std::uint64_t words[philox_group];
    wide_words(s, group, words);
    for (int i = 0; i < philox_group; ++i) {
      auto offset = static_cast<std::uint64_t>(static_cast<Wide>(words[i]) * range >> 64);
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
    }
  });
}

template <class T>
void random_keep(const PhiloxStream& s, std::int64_t count, double p, T scale, const T* x, T* y) {
  const std::uint64_t bound = bound_of(p);
  if (bound == 0) return void(std::fill_n(y, count, T(0)));
  const auto last = static_cast<std::uint32_t>(bound - 1);  // the largest word that is chosen
  std::int64_t groups = (count + philox_group - 1) / philox_group;
  parallel_ranges(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    simd([&] {
      std::uint32_t words[philox_group];
      for (std::int64_t g = begin; g < end; ++g) {
        words_of(s, static_cast<std::uint64_t>(g), words);
        const T* in = x + g * philox_group;
        T* out = y + g * philox_group;
        std::int64_t n = std::min(philox_group, count - g * philox_group);
#pragma omp simd
        for (std::int64_t i = 0; i < n; ++i) out[i] = words[i] <= last ? in[i] * scale : T(0);
      }
    });
  });
}

template <class T>
void random_bernoulli(const PhiloxStream& s, std::int64_t count, double p, T* y) {
  const std::uint64_t bound = bound_of(p);
  for_each_group(count, y, [&](std::uint64_t group, T* out) {
    std::uint32_t words[philox_group];
    words_of(s, group, words);
    for (int i = 0; i < philox_group; ++i) out[i] = static_cast<T>(words[i] < bound ? 1 : 0);
  });
}

template void random_keep(const PhiloxStream&, std::int64_t, double, float, const float*, float*);
template void random_keep(const PhiloxStream&, std::int64_t, double, double, const double*, double*);
template void random_bernoulli(const PhiloxStream&, std::int64_t, double, float*);
template void random_bernoulli(const PhiloxStream&, std::int64_t, double, double*);
template void random_bernoulli(const PhiloxStream&, std::int64_t, double, std::int32_t*);
template void random_bernoulli(const PhiloxStream&, std::int64_t, double, std::int64_t*);
template void random_bernoulli(const PhiloxStream&, std::int64_t, double, bool*);

}  // namespace reprise::kernels
