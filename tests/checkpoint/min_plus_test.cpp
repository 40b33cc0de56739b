// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/min_plus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace reprise::chain {
namespace {

std::vector<double> random_function(Random& random, std::size_t size) {
  std::vector<double> f(size);
  for (double& value : f) value = static_cast<double>(random.between(0, 1000));
  return f;
}

TEST(MinPlus, EqualsItsDefinition) {
  Random random(21);
  for (std::size_t size : {2, 3, 9, 10, 100, 1025, 1100}) {
    std::vector<double> p = random_function(random, size), q = random_function(random, size);
    MinPlus sums(size, p[1], q[1]);
    for (std::size_t n = 2; n < size; ++n) {
      double least = p[1] + q[n - 1];
      for (std::size_t j = 2; j < n; ++j) least = std::min(least, p[j] + q[n - j]);
      ASSERT_EQ(sums.value(n, sums.best()), least) << "size " << size << ", n = " << n;
      sums.append(p[n], q[n]);
    }
  }
}

}  // namespace
}  // namespace reprise::chain
