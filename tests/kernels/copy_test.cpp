// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/random.h"

namespace reprise::kernels::copy_tests {
namespace {

struct Case {
  std::int64_t width;
  Shape shape, from, to;
};

// A target laid out densely with its axes in random order, gaps and directions; a source with any strides.
Case random_case(Random& random, std::int64_t largest) {
  Case c{std::int64_t{1} << random.below(4), {}, {}, {}};
  for (std::int64_t i = random.between(0, 5); i > 0; --i) c.shape.push_back(random.between(1, largest));
  if (random.chance(0.05) && c.shape.rank() > 0) c.shape[0] = 0;
  c.from = c.to = c.shape;
  for (Shape* strides : {&c.from, &c.to}) {
    std::vector<int> order(static_cast<std::size_t>(c.shape.rank()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    std::int64_t stride = random.chance(0.8) ? 1 : 2;
    for (int axis : order) {
      bool repeated = strides == &c.from && random.chance(0.15);
      (*strides)[axis] = repeated ? 0 : random.chance(0.2) ? -stride : stride;
      stride *= std::max<std::int64_t>(1, c.shape[axis]);
    }
  }
  return c;
}

// The lowest and highest offsets that the strides reach.
std::pair<std::int64_t, std::int64_t> reach(const Shape& shape, const Shape& strides) {
  std::int64_t low = 0, high = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    (strides[axis] < 0 ? low : high) += strides[axis] * std::max<std::int64_t>(0, shape[axis] - 1);
  return {low, high};
}

void expect_like_naive(const Case& c) {
  auto [from_low, from_high] = reach(c.shape, c.from);
  auto [to_low, to_high] = reach(c.shape, c.to);
  std::vector<unsigned char> source(static_cast<std::size_t>((from_high - from_low + 1) * c.width));
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 37 + i / 251);
  std::vector<unsigned char> fast(static_cast<std::size_t>((to_high - to_low + 1) * c.width), 0xee), naive = fast;
  const void* from = source.data() - from_low * c.width;
  StridedCopy(c.width, c.shape, c.from, c.to).run(from, fast.data() - to_low * c.width);
  strided_copy_naive(c.width, c.shape, c.from, c.to, from, naive.data() - to_low * c.width);
  EXPECT_TRUE(fast == naive) << to_string(c.shape) << " from " << to_string(c.from) << " to " << to_string(c.to)
                             << " width " << c.width;
}

TEST(StridedCopy, AgreesWithItsNaiveTwin) {
  Random random(11);
  for (int i = 0; i < 1000; ++i) expect_like_naive(random_case(random, i % 100 == 0 ? 12 : 6));
}

TEST(StridedCopy, LargeTransposesAndRowsAreCutIntoUnits) {
  for (std::int64_t width : {1, 2, 4, 8}) {
    expect_like_naive({width, {517, 301}, {1, 517}, {301, 1}});
    expect_like_naive({width, {3, 257, 5, 33}, {42405, 33, 8481, 1}, {42405, 165, 33, 1}});
    expect_like_naive({width, {200001}, {1}, {1}});
    Case backwards{width, {200001}, {1}, {1}};
    backwards.from[0] = -1;
    expect_like_naive(backwards);
    expect_like_naive({width, {3, 100001}, {0, 1}, {100001, 1}});
    expect_like_naive({width, {1001, 301}, {1, 0}, {301, 1}});
  }
}

TEST(FillZero, ReachesTheLastByte) {
  std::vector<unsigned char> bytes(300001, 7);
  fill_zero(bytes.data(), 300000);
  EXPECT_EQ(std::ranges::count(bytes, 0), 300000);
  EXPECT_EQ(bytes.back(), 7);
}

}  // namespace
}  // namespace reprise::kernels::copy_tests
