// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011). A draw is a function of key and position alone, so results depend neither on threads nor on
// order.
#pragma once

#include <array>
#include <cstdint>

namespace reprise::kernels {

/// One block: four words from a counter and a key.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p = std::uint64_t{0xD2511F53} * c[0], q = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(q >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(q),
         static_cast<std::uint32_t>(p >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p)};
    k = {k[0] + 0x9E3779B9, k[1] + 0xBB67AE85};
  }
  return c;
}

/// A stream of words: `key` chooses the function, `stream` the upper half of its counter.
struct PhiloxStream {
  std::uint64_t key = 0, stream = 0;
};

/// Words come in groups of 64, from 16 blocks: word 16·w + l of group g is word w of block 16·g + l.
constexpr std::int64_t philox_group = 64;

/// The 64 words of one group, with the widest vectors the CPU has; and its naive twin.
void philox_words(const PhiloxStream& s, std::uint64_t group, std::uint32_t* words);
void philox_words_naive(const PhiloxStream& s, std::uint64_t group, std::uint32_t* words);

// Numbers at positions 0..count; each position has its own words.
void random_uniform(const PhiloxStream& s, std::int64_t count, double low, double high, float* y);
void random_uniform(const PhiloxStream& s, std::int64_t count, double low, double high, double* y);
void random_normal(const PhiloxStream& s, std::int64_t count, double mean, double deviation, float* y);
void random_normal(const PhiloxStream& s, std::int64_t count, double mean, double deviation, double* y);
/// Uniform in [low, high).
void random_integers(const PhiloxStream& s, std::int64_t count, std::int64_t low, std::int64_t high, std::int64_t* y);

/// Chosen with probability p: y = x · scale where chosen, 0 elsewhere. x may be y.
template <class T>
void random_keep(const PhiloxStream& s, std::int64_t count, double p, T scale, const T* x, T* y);
/// The same of ones: y = 1 where chosen.
template <class T>
void random_bernoulli(const PhiloxStream& s, std::int64_t count, double p, T* y);

}  // namespace reprise::kernels
