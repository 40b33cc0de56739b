// SPDX-License-Identifier: Apache-2.0
// Random arrays and sizes for kernel tests; every test names its seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace reprise::testing {

class RandomData {
 public:
  explicit RandomData(std::uint64_t seed) : random_(seed) {}

  std::int64_t size(std::int64_t low, std::int64_t high) { return random_.between(low, high); }
  bool coin() { return random_.chance(0.5); }
  template <class T>
  std::vector<T> array(std::int64_t count, double low = -1, double high = 1) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& v : values) v = static_cast<T>(random_.uniform(low, high));
    return values;
  }

 private:
  Random random_;
};

/// Every element within `bound` of the other's, relative to the largest magnitude (at least 1).
template <class T>
void expect_close(const std::vector<T>& got, const std::vector<T>& want, double bound) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1;
  for (T w : want) largest = std::max(largest, std::abs(static_cast<double>(w)));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(want[i]), bound * largest) << "element " << i;
}

template <class T>
constexpr double rounding_bound = sizeof(T) == 4 ? 2e-5 : 1e-12;

}  // namespace reprise::testing
