// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "memory/brute_force.h"
#include "memory/lifetimes.h"
#include "reprise/memory.h"

namespace reprise::memory {
namespace {

/// Gives some buffers an alignment and lets some take over the place of one that ends where they begin.
void decorate(Random& random, std::vector<Buffer>& buffers) {
  std::vector<bool> is_taken(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (random.chance(0.3)) buffers[i].alignment = std::int64_t{1} << random.below(3);
    for (std::size_t j = 0; j < i; ++j) {
      if (is_taken[j] || buffers[j].upper != buffers[i].lower || !random.chance(0.5)) continue;
      buffers[i].takes_over = j;
      is_taken[j] = true;
      break;
    }
  }
}

TEST(Pack, FindsTheLeastHeightOfTinyProblemsAndSaysSo) {
  int above_bound = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    bool is_plain = seed % 2 == 1;
    auto buffers = is_plain ? dense_buffers(random, random.between(8, 12), random.between(4, 6))
                            : dense_buffers(random, random.between(2, 5), random.between(3, 4));
    if (!is_plain) decorate(random, buffers);
    PackResult r = pack(buffers);
    validate(buffers, r.layout);
    std::int64_t least = least_height_by_brute_force(buffers);
    ASSERT_EQ(r.height, least) << "seed " << seed;
    ASSERT_LE(r.lower_bound, least) << "seed " << seed;
    if (is_plain) {
      ASSERT_TRUE(r.proven_optimal) << "seed " << seed;
    }
    above_bound += r.height > r.lower_bound;
  }
  EXPECT_GT(above_bound, 20) << "the problems are too easy to say much";
}

TEST(Pack, SatisfiesTheJudgeOnRandomProblemsOfEveryShape) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    auto buffers = random_buffers(random, static_cast<int>(random.between(0, 60)), random.between(1, 80),
                                  std::int64_t{1} << random.between(0, 40));
    if (seed % 3 == 0) decorate(random, buffers);
    PackOptions options{.alignment = std::int64_t{1} << random.below(7), .work_limit = 100'000, .seed = seed};
    PackResult r = pack(buffers, options);
    ASSERT_NO_THROW(validate(buffers, r.layout, options)) << "seed " << seed;
    ASSERT_EQ(r.height, r.layout.height);
    ASSERT_LE(r.lower_bound, r.height) << "seed " << seed;
    ASSERT_GE(r.lower_bound, largest_live_sum(buffers)) << "seed " << seed;
  }
}

TEST(Pack, SaysWhetherACapacityCanBeMet) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    auto buffers = dense_buffers(random, 12, random.between(4, 6));
    std::int64_t least = least_height_by_brute_force(buffers);
    PackResult fits = pack(buffers, {.capacity = least});
    ASSERT_TRUE(fits) << "seed " << seed;
    validate(buffers, fits.layout, {.capacity = least});
    PackResult too_small = pack(buffers, {.capacity = least - 1});
    ASSERT_FALSE(too_small) << "seed " << seed;
    ASSERT_NE(too_small.why.find("no layout fits"), std::string::npos) << too_small.why;
    validate(buffers, too_small.layout);
  }
}

TEST(Pack, ExplainsWhatDoesNotFit) {
  std::vector<Buffer> buffers{{"a", 0, 2, 64}, {"b", 1, 3, 32}, {"c", 2, 4, 64}};
  EXPECT_EQ(pack(buffers, {.capacity = 95}).why, "no layout fits 95 bytes: 96 are live together at moment 1");
  EXPECT_EQ(pack(buffers, {.capacity = 127, .alignment = 128}).why,
            "no layout fits 127 bytes: 160 are live together once offsets are aligned");
  std::vector<Buffer> crossing{{"a", 0, 4, 2}, {"b", 0, 1, 1}, {"c", 1, 3, 2}, {"d", 3, 6, 1},
                               {"e", 3, 5, 1}, {"f", 4, 7, 1}, {"g", 4, 5, 1}, {"h", 5, 9, 2},
                               {"i", 7, 8, 1}, {"j", 7, 8, 1}, {"k", 8, 10, 2}};
  EXPECT_EQ(pack(crossing, {.capacity = 4}).why,
            "no layout fits 4 bytes, although only 4 are live together: every arrangement was searched");
}

TEST(Pack, ReturnsALayoutWhenTheWorkRunsOutAtOnce) {
  Random random(7);
  auto buffers = random_buffers(random, 300, 100, 1000);
  for (PackOptions options : {PackOptions{.work_limit = 0}, PackOptions{.time_limit_seconds = 1e-9}}) {
    PackResult r = pack(buffers, options);
    validate(buffers, r.layout);
    options.capacity = r.lower_bound;
    EXPECT_EQ(pack(buffers, options).why, "no layout of " + std::to_string(r.lower_bound) +
                                              " bytes was found within the limits of the search; the lowest has " +
                                              std::to_string(r.height) + ", the bound is " +
                                              std::to_string(r.lower_bound));
  }
}

TEST(Pack, GivesTheSameLayoutForTheSameInput) {
  Random random(11);
  auto buffers = random_buffers(random, 120, 60, 1000);
  PackResult a = pack(buffers, {.work_limit = 20'000'000}), b = pack(buffers, {.work_limit = 20'000'000});
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_EQ(a.work, b.work);
}

TEST(Pack, PacksNothingAndEmptyBuffersIntoNothing) {
  EXPECT_EQ(pack({}).height, 0);
  std::vector<Buffer> empty{{"a", 0, 5, 0}, {"b", -3, 2, 0}};
  PackResult r = pack(empty, {.capacity = 0});
  EXPECT_TRUE(r && r.proven_optimal);
  EXPECT_EQ(r.height, 0);
}

TEST(Pack, SharesThePlaceOfBuffersThatNeverMeet) {
  std::vector<Buffer> buffers{{"a", 0, 2, 64}, {"b", 1, 3, 32}, {"c", 2, 4, 64}};
  PackResult r = pack(buffers);
  EXPECT_EQ(r.height, 96);
  EXPECT_EQ(r.layout.offsets[0], r.layout.offsets[2]);
}

TEST(Pack, LetsABufferTakeOverThePlaceOfAnother) {
  // Apart, 'after' could lie at 0; it must follow 'before' instead.
  std::vector<Buffer> buffers{{"base", 0, 2, 10}, {"before", 0, 2, 6}, {"after", 2, 4, 8, 1, 1}};
  PackResult r = pack(buffers);
  validate(buffers, r.layout);
  EXPECT_EQ(r.layout.offsets[1], r.layout.offsets[2]);
  EXPECT_EQ(r.height, 16);
}

TEST(Pack, AlignsOnlyWhatIsAskedFor) {
  std::vector<Buffer> buffers{{"odd", 0, 1, 5}, {"odd2", 0, 1, 3}, {"wide", 0, 1, 8, 8}};
  EXPECT_EQ(pack(buffers).height, 16);
  EXPECT_EQ(pack(buffers, {.alignment = 64}).height, 131);  // the topmost may end inside its unit
}

TEST(Pack, TakesTimesFromTheWholeRangeOfIntegers) {
  std::vector<Buffer> buffers{{"a", INT64_MIN, INT64_MAX, 4}, {"b", INT64_MIN, 0, 4}, {"c", 0, INT64_MAX, 4}};
  PackResult r = pack(buffers);
  validate(buffers, r.layout);
  EXPECT_EQ(r.height, 8);
}

std::string error_of(std::vector<Buffer> buffers, PackOptions options = {}) {
  try {
    pack(buffers, options);
    return "no error";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Pack, RefusesMalformedBuffersAndSaysWhy) {
  EXPECT_EQ(error_of({{"a", 0, 1, -5}}), "[pack] buffer 'a' has size -5: sizes are 0 or more");
  EXPECT_EQ(error_of({{"", 3, 3, 5}}),
            "[pack] buffer number 0 lives during [3, 3): its upper end must be above its lower end");
  EXPECT_EQ(error_of({{"a", 0, 1, 5, 3}}), "[pack] buffer 'a' has alignment 3: it must be a power of two");
  EXPECT_EQ(error_of({{"a", 0, 1, 5}, {"a", 1, 2, 5}}), "[pack] two buffers are called 'a'");
  EXPECT_EQ(error_of({{"a", 0, 1, INT64_MAX - 10}, {"b", 1, 2, 10}}),
            "[pack] sizes sum up to more than 2^63 bytes at buffer 'b' (size 10)");
  EXPECT_EQ(error_of({{"a", 0, 1, INT64_MAX / 2}}, {.alignment = 64}),
            "[pack] sizes aligned to 64 sum up to more than 2^62 bytes");
}

TEST(Pack, RefusesTakeoversThatCannotBe) {
  EXPECT_EQ(error_of({{"a", 0, 1, 5, 1, 7}}), "[pack] buffer 'a' takes over number 7, but there are 1 buffers");
  EXPECT_EQ(error_of({{"a", 0, 2, 5}, {"b", 1, 3, 5, 1, 0}}),
            "[pack] buffer 'b' begins at 1 and cannot take over 'a', which ends at 2: the two must meet");
  EXPECT_EQ(error_of({{"a", 0, 1, 5}, {"b", 1, 3, 0, 1, 0}}),
            "[pack] buffer 'b' takes over 'a': both must have at least one byte");
  EXPECT_EQ(error_of({{"a", 0, 1, 5}, {"b", 1, 3, 5, 1, 0}, {"c", 1, 2, 5, 1, 0}}), "[pack] two buffers take over 'a'");
}

TEST(Pack, RefusesOptionsThatMakeNoSense) {
  EXPECT_EQ(error_of({}, {.alignment = 48}), "[pack] alignment 48 is not a power of two");
  EXPECT_EQ(error_of({}, {.capacity = -1}), "[pack] capacity -1 is negative");
  EXPECT_EQ(error_of({}, {.work_limit = -1}), "[pack] work limit -1 is negative");
  EXPECT_EQ(error_of({}, {.time_limit_seconds = -1}), "[pack] time limit -1 is not 0 or more");
}

}  // namespace
}  // namespace reprise::memory
