// SPDX-License-Identifier: Apache-2.0
// The lifetimes packing is made for: training steps with recomputation.
#include <gtest/gtest.h>

#include <map>

#include "memory/lifetimes.h"
#include "reprise/memory.h"

namespace reprise::memory {
namespace {

void expect_within_one_percent(std::span<const Buffer> buffers, const PackResult& r) {
  EXPECT_LE(static_cast<double>(r.height), 1.01 * static_cast<double>(largest_live_sum(buffers)));
}

TEST(PackTraining, StaysWithinOnePercentOfTheLargestLiveSum) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    TrainingShape shape{.layers = static_cast<int>(random.between(5, 200)),
                        .skip_chance = random.uniform(0, 0.4),
                        .budget = random.uniform(0.3, 1),
                        .distinct_sizes = static_cast<int>(random.below(10))};
    auto buffers = training_lifetimes(random, shape);
    for (std::int64_t alignment : {1, 64}) {
      for (Buffer& b : buffers) b.size = std::max<std::int64_t>(b.size, 4096);
      PackOptions options{.alignment = alignment, .work_limit = 3'000'000};
      PackResult r = pack(buffers, options);
      validate(buffers, r.layout, options);
      expect_within_one_percent(buffers, r);
    }
  }
}

/// Follows time: a buffer that begins must lie clear of its neighbours among those that are live.
void expect_valid(std::span<const Buffer> buffers, const Layout& layout) {
  std::multimap<std::int64_t, std::size_t> events;  // moment -> buffer that begins or ends there
  for (std::size_t i = 0; i < buffers.size(); ++i)
    events.emplace(buffers[i].lower, i), events.emplace(buffers[i].upper, i);
  std::map<std::int64_t, std::size_t> live;  // by offset
  for (auto at = events.begin(); at != events.end();) {
    auto end = events.upper_bound(at->first);
    for (auto e = at; e != end; ++e)
      if (buffers[e->second].upper == e->first) live.erase(layout.offsets[e->second]);
    for (auto e = at; e != end; ++e) {
      if (buffers[e->second].lower != e->first) continue;
      auto [place, is_new] = live.emplace(layout.offsets[e->second], e->second);
      ASSERT_TRUE(is_new);
      auto top = [&](auto it) { return it->first + buffers[it->second].size; };
      ASSERT_TRUE(place == live.begin() || top(std::prev(place)) <= place->first);
      ASSERT_TRUE(std::next(place) == live.end() || top(place) <= std::next(place)->first);
    }
    at = end;
  }
}

TEST(PackTraining, TakesFiftyThousandBuffersInLittleWork) {
  Random random(5);
  auto buffers = training_lifetimes(random, {.layers = 18'000, .budget = 0.4, .distinct_sizes = 0});
  ASSERT_GT(buffers.size(), 50'000u);
  for (Buffer& b : buffers) b.size = std::max<std::int64_t>(b.size, 4096);
  PackResult r = pack(buffers, {.alignment = 64});
  expect_valid(buffers, r.layout);
  expect_within_one_percent(buffers, r);
  EXPECT_LT(r.work, 50'000'000);  // far below the square of their number
}

}  // namespace
}  // namespace reprise::memory
