// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/binomial.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reprise::chain {
namespace {

__extension__ typedef __int128 Wide;

/// The row beta(s, 0), beta(s, 1), ... walked until it reaches n.
struct Row {
  std::int64_t r;
  Wide here, before;  // beta(s, r), beta(s, r-1)
};

Row row(std::int64_t n, std::int64_t s) {
  Row row{0, 1, 0};
  while (row.here < n) {
    row.r += 1;
    row.before = row.here;
    row.here = row.here * (s + row.r) / row.r;
  }
  return row;
}

/// With two slots the row is (r+1)(r+2)/2, so r is a square root away, up to rounding.
std::int64_t repetitions_of_two(std::int64_t n) {
  auto reaches = [n](std::int64_t r) { return static_cast<Wide>(r + 1) * (r + 2) / 2 >= n; };
  auto r = static_cast<std::int64_t>(std::sqrt(2.0 * static_cast<double>(n)));
  while (r > 0 && reaches(r - 1)) --r;
  while (!reaches(r)) ++r;
  return r;
}

Row row_of_two(std::int64_t n) {
  Wide r = repetitions_of_two(n);
  return {static_cast<std::int64_t>(r), (r + 1) * (r + 2) / 2, r * (r + 1) / 2};
}

/// n >= 2 and 2 <= s <= n. With n <= 2^40 (`most_steps`) no product here or below passes 2^127.
Row row_for(std::int64_t n, std::int64_t s) { return s == 2 ? row_of_two(n) : row(n, s); }

std::int64_t saturated(Wide x) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return x > most ? most : static_cast<std::int64_t>(x);
}

}  // namespace

std::int64_t beta(std::int64_t s, std::int64_t r, std::int64_t limit) {
  if (s < 0 || r < 0) return 0;
  Wide product = 1;
  for (std::int64_t i = 1; i <= std::min(s, r); ++i) {
    product = product * (std::max(s, r) + i) / i;
    if (product > limit) return limit + 1;
  }
  return static_cast<std::int64_t>(product);
}

std::int64_t repetitions(std::int64_t n, std::int64_t s) {
  if (n <= 1) return 0;
  s = std::min(s, n);
  return s == 1 ? n - 1 : row_for(n, s).r;
}

std::int64_t least_advances(std::int64_t n, std::int64_t s) {
  if (n <= 1) return 0;
  s = std::min(s, n);
  if (s == 1) return saturated(static_cast<Wide>(n) * (n - 1) / 2);
  Row row = row_for(n, s);
  // C(s+r, s+1) = C(s+r-1, s) (s+r) / (s+1)
  return saturated(static_cast<Wide>(row.r) * n - row.before * (s + row.r) / (s + 1));
}

std::int64_t least_saves(std::int64_t n, std::int64_t s) {
  if (n <= 1) return 0;
  s = std::min(s, n);
  if (s == 1) return 1;
  // beta(s-1, r) = beta(s, r) s / (s+r), and one column to the left likewise.
  Row row = row_for(n, s);
  Wide many = row.here * s / (s + row.r), few = row.before * s / (s + row.r - 1);
  return static_cast<std::int64_t>(std::max(few, many - (row.here - n)));
}

std::int64_t split(std::int64_t n, std::int64_t s) {
  if (s == 1) return n - 1;
  if (n - 1 <= s) return 1;
  // All in terms of b = beta(s, r-1) and beta(s, r), by beta(s-1, r) = beta(s, r) s / (s+r) and the like.
  auto [r, here, b] = row_for(n, s);
  Wide left = b * (r - 1) / (s + r - 1);       // beta(s, r-2)
  Wide below = b * s / (s + r - 1);            // beta(s-1, r-1)
  Wide lower = below * (s - 1) / (s + r - 2);  // beta(s-2, r-1)
  if (n <= b + lower) return static_cast<std::int64_t>(left);
  Wide lowest = here * s / (s + r) * (s - 1) / (s + r - 1);  // beta(s-2, r)
  lowest = lowest * (s - 2) / (s + r - 2);                   // beta(s-3, r), 0 for s = 2
  if (n >= here - lowest) return static_cast<std::int64_t>(b);
  return static_cast<std::int64_t>(n - below - lower);
}

}  // namespace reprise::chain
