// SPDX-License-Identifier: Apache-2.0
// How many random problems a test tries: REPRISE_TEST_FACTOR, which `make test-slow` sets, times the usual number.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace reprise {

inline std::uint64_t problem_count(std::uint64_t usual) {
  const char* factor = std::getenv("REPRISE_TEST_FACTOR");
  return factor ? usual * std::strtoull(factor, nullptr, 10) : usual;
}

}  // namespace reprise
