// SPDX-License-Identifier: Apache-2.0
#include "reprise/checkpoint_segments.h"

#include <gtest/gtest.h>

#include "checkpoint/messages.h"
#include "reprise/checkpoint_errors.h"

namespace reprise::tape {
namespace {

using Segments = std::vector<CheckpointSegment>;

TEST(Segments, UniformTenByTwoIsZeroToFourAndFiveToNine) {
  EXPECT_EQ(CheckpointConfig::uniform(10, 2).segments, (Segments{{0, 4}, {5, 9}}));
}

TEST(Segments, UniformGivesTheRestToTheLast) {
  EXPECT_EQ(CheckpointConfig::uniform(11, 3).segments, (Segments{{0, 2}, {3, 5}, {6, 10}}));
}

TEST(Segments, UniformOfNothingIsNone) {
  EXPECT_TRUE(CheckpointConfig::uniform(0, 3).segments.empty());
  EXPECT_TRUE(CheckpointConfig::uniform(3, 0).segments.empty());
}

TEST(Segments, MoreSegmentsThanNodesGiveOnePerNode) {
  EXPECT_EQ(CheckpointConfig::uniform(3, 100).segments, (Segments{{0, 0}, {1, 1}, {2, 2}}));
}

TEST(Segments, UniformCoversEveryNodeOnce) {
  for (std::int64_t nodes = 0; nodes <= 20; ++nodes)
    for (std::int64_t count = 1; count <= 25; ++count) {
      std::int64_t next = 0;
      for (auto [start, end] : CheckpointConfig::uniform(nodes, count).segments) {
        EXPECT_EQ(start, next);
        next = end + 1;
      }
      EXPECT_EQ(next, nodes);
    }
}

TEST(Segments, ANodeInsideASegmentIsCheckpointed) {
  CheckpointConfig config{{{1, 3}, {6, 6}}};
  for (std::int64_t id = -1; id < 9; ++id) EXPECT_EQ(config.should_checkpoint(id), (id >= 1 && id <= 3) || id == 6);
}

TEST(Segments, FiveNodesWithOneToThreeRecomputeThoseThree) {
  EXPECT_EQ(plan_recomputation(5, {{{1, 3}}}), (std::vector<bool>{false, true, true, true, false}));
  EXPECT_EQ(plan_recomputation(3, {}), std::vector<bool>(3));
  EXPECT_EQ(plan_recomputation(4, {{{0, 1}, {1, 2}}}), (std::vector<bool>{true, true, true, false}));
}

TEST(Segments, ARangeThatIsNoneIsAnError) {
  CheckpointConfig backwards{{{3, 1}}};
  EXPECT_EQ(message([&] { plan_recomputation(5, backwards); }),
            "[segments] 3 to 1 is no range of nodes: it starts at 0 or later and ends where it starts or later");
  EXPECT_THROW(backwards.should_checkpoint(2), Error);
  EXPECT_THROW(plan_recomputation(5, {{{-1, 1}}}), Error);
  EXPECT_THROW(plan_recomputation(5, {{{3, 5}}}), IndexOutOfBounds);
  EXPECT_THROW(plan_recomputation(-1, {}), Error);
  EXPECT_THROW(CheckpointConfig::uniform(-1, 2), Error);
}

}  // namespace
}  // namespace reprise::tape
