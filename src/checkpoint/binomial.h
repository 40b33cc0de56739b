// SPDX-License-Identifier: Apache-2.0
// The numbers behind revolve (Griewank & Walther 2000), in closed form. n steps, s slots, x_0 in hand and not yet
// saved.
#pragma once

#include <cstdint>

namespace reprise::chain {

constexpr std::int64_t most_steps = std::int64_t{1} << 40;

/// C(s+r, s): the longest chain that s slots reverse with no step run more than r times. Past `limit`, limit + 1.
std::int64_t beta(std::int64_t s, std::int64_t r, std::int64_t limit);

/// The least r with beta(s, r) >= n.
std::int64_t repetitions(std::int64_t n, std::int64_t s);

/// The fewest advances, t(n,s) = r n - C(s+r, s+1); the largest integer if they are more than that.
std::int64_t least_advances(std::int64_t n, std::int64_t s);

/// The fewest saves among schedules with the fewest advances.
std::int64_t least_saves(std::int64_t n, std::int64_t s);

/// How far to advance before the next save: optimal for both of the above. n >= 2, s >= 1.
std::int64_t split(std::int64_t n, std::int64_t s);

}  // namespace reprise::chain
