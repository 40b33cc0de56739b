// SPDX-License-Identifier: Apache-2.0
// What every room shares: the error type, and byte sizes as people write them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "reprise/export.h"

namespace reprise {

/// The caller's mistake: one sentence that says where, what, the values, and what to do about it.
class REPRISE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what) : std::runtime_error(what) {}
};

/// The library's version, e.g. "0.1.0".
REPRISE_API std::string_view version();

/// Reads "512MiB", "2GB", "1.5 GiB", "4096" (bytes); throws Error on anything else, on negative sizes and on overflow.
/// KB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB (and K, M, G, T) powers of 1024. Case does not matter.
REPRISE_API std::int64_t parse_bytes(std::string_view text);

/// As parse_bytes, and also "50%": that share of `whole`, rounded down.
REPRISE_API std::int64_t parse_bytes(std::string_view text, std::int64_t whole);

/// Prints bytes for people: "256.0 MiB", "17 B".
REPRISE_API std::string format_bytes(std::int64_t bytes);

namespace literals {
// clang-format off
constexpr std::int64_t operator""_B(unsigned long long n) { return static_cast<std::int64_t>(n); }
constexpr std::int64_t operator""_KiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 10; }
constexpr std::int64_t operator""_MiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 20; }
constexpr std::int64_t operator""_GiB(unsigned long long n) { return static_cast<std::int64_t>(n) << 30; }
constexpr std::int64_t operator""_KB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1'000; }
constexpr std::int64_t operator""_MB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1'000'000; }
constexpr std::int64_t operator""_GB(unsigned long long n) { return static_cast<std::int64_t>(n) * 1'000'000'000; }
// clang-format on
}  // namespace literals

}  // namespace reprise
