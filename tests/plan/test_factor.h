// SPDX-License-Identifier: Apache-2.0
// How many random problems a test tries: REPRISE_TEST_FACTOR times the usual number. `make test-slow` sets it above 1,
// and what runs under a sanitizer, below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace reprise {

inline std::uint64_t problem_count(std::uint64_t usual) {
  const char* factor = std::getenv("REPRISE_TEST_FACTOR");
  if (!factor) return usual;
  return std::max<std::uint64_t>(1,
                                 static_cast<std::uint64_t>(static_cast<double>(usual) * std::strtod(factor, nullptr)));
}

}  // namespace reprise
