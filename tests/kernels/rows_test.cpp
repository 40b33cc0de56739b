// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace reprise::kernels::rows_tests {
namespace {

struct Case {
  Rows rows;
  std::vector<std::int64_t> indices;
  std::vector<std::int32_t> narrow;
  std::vector<float> array, updates;

  std::int64_t row_of(std::int64_t group, std::int64_t q) const {  // by definition
    std::int64_t i = rows.inner == 0 ? q : group * rows.positions + q, k = indices[static_cast<std::size_t>(i)];
    if (k < 0) k += rows.indices.size;
    return rows.inner == 0 ? k : k * rows.inner + q % rows.inner;
  }
};

Case random_case(Random& random, std::int64_t scale) {
  Case c;
  std::int64_t size = random.between(1, 5 * scale);
  bool elements = random.chance(0.5);
  c.rows.groups = random.between(1, 4);
  c.rows.inner = elements ? random.between(1, 4) : 0;
  c.rows.positions = random.between(1, 7 * scale) * (elements ? c.rows.inner : 1);
  c.rows.rows = size * (elements ? c.rows.inner : 1);
  c.rows.length = elements ? 1 : random.between(1, 20);
  for (std::int64_t i = 0; i < c.rows.positions * (elements ? c.rows.groups : 1); ++i)
    c.indices.push_back(random.between(-size, size - 1));
  c.narrow.assign(c.indices.begin(), c.indices.end());
  for (std::int64_t i = 0; i < c.rows.groups * c.rows.rows * c.rows.length; ++i)
    c.array.push_back(static_cast<float>(random.uniform(-1, 1)));
  for (std::int64_t i = 0; i < c.rows.groups * c.rows.positions * c.rows.length; ++i)
    c.updates.push_back(static_cast<float>(random.uniform(-1, 1)));
  c.rows.indices.size = size;
  return c;
}

Rows with_indices(const Case& c, bool wide) {
  Rows r = c.rows;
  r.indices.wide = wide;
  r.indices.data = wide ? static_cast<const void*>(c.indices.data()) : c.narrow.data();
  return r;
}

// Calls f(position, row, element of a row) in order.
template <class F>
void each(const Case& c, const F& f) {
  for (std::int64_t g = 0; g < c.rows.groups; ++g)
    for (std::int64_t q = 0; q < c.rows.positions; ++q)
      for (std::int64_t i = 0; i < c.rows.length; ++i)
        f(static_cast<std::size_t>((g * c.rows.positions + q) * c.rows.length + i),
          static_cast<std::size_t>((g * c.rows.rows + c.row_of(g, q)) * c.rows.length + i));
}

TEST(Rows, TakeAddSetAndWinnersFollowTheirDefinitions) {
  Random random(5);
  for (int n = 0; n < 300; ++n) {
    Case c = random_case(random, n % 50 == 0 ? 2000 : 1);
    Rows r = with_indices(c, n % 2 == 0);
    std::vector<float> taken(c.updates.size()), expected_taken = taken, winners = taken,
                                                expected_winners(taken.size(), 0);
    std::vector<float> sum = c.array, expected_sum = sum, set = c.array, expected_set = set;
    std::vector<std::size_t> last(c.array.size(), c.updates.size());
    take_rows(r, c.array.data(), taken.data());
    add_rows(r, c.updates.data(), sum.data());
    set_rows(r, c.updates.data(), set.data());
    std::vector<std::uint8_t> scratch(c.array.size());
    take_winners(r, c.array.data(), winners.data(), scratch.data());
    each(c, [&](std::size_t p, std::size_t at) {
      expected_taken[p] = c.array[at];
      expected_sum[at] += c.updates[p];
      expected_set[at] = c.updates[p];
      last[at] = p;
    });
    for (std::size_t at = 0; at < last.size(); ++at)
      if (last[at] < c.updates.size()) expected_winners[last[at]] = c.array[at];
    ASSERT_EQ(taken, expected_taken) << n;
    ASSERT_EQ(sum, expected_sum) << n;
    ASSERT_EQ(set, expected_set) << n;
    ASSERT_EQ(winners, expected_winners) << n;
  }
}

TEST(Rows, TheFirstIndexOutsideIsFound) {
  std::vector<std::int64_t> indices{0, -3, 2, 3, -4};
  EXPECT_EQ(find_outside({indices.data(), true, 3}, 3), -1);
  EXPECT_EQ(find_outside({indices.data(), true, 3}, 5), 3);
}

}  // namespace
}  // namespace reprise::kernels::rows_tests
