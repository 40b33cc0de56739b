// SPDX-License-Identifier: Apache-2.0
#include "report/picture.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "message.h"
#include "report/data.h"
#include "report/example.h"

namespace reprise::report {
namespace {

// A problem with several outputs, views, in-place outputs, updates, scratch and resident bytes.
Problem random_problem(Random& random) {
  Problem p;
  p.resident(random.between(0, 100));
  std::vector<ValueRef> made = {p.add({.name = "state", .bytes = random.between(1, 50), .pinned = true})};
  for (int i = 0; i < 14; ++i) {
    ValueRef input = made[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(made.size())))];
    std::int64_t bytes = random.between(0, 90);
    Sizes sizes = random.chance(0.2) ? Sizes{bytes, random.between(1, 30)} : Sizes(bytes);
    ValueRef next = p.add({"n" + std::to_string(i), sizes, random.unit(), random.between(0, 20)}, {made.back(), input});
    if (input.node > 0 && random.chance(0.3) && p.value(p.index(input)).bytes >= bytes) p.in_place(next, input);
    made.push_back(next);
  }
  p.output(made.back());
  return p;
}

TEST(ReportPicture, ReachesThePeakThatTheJudgeSees) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    Problem problem = random_problem(random);
    PlanResult plan = plan_within(problem, random.uniform(0.6, 1.0));
    Picture unlimited = unlimited_picture(problem, {});
    EXPECT_EQ(unlimited.total[static_cast<std::size_t>(unlimited.peak_moment())], plan.keep_all_peak)
        << "seed " << seed;
    if (!plan) continue;
    Picture picture = picture_of(plan, {});
    EXPECT_EQ(picture.total[static_cast<std::size_t>(picture.peak_moment())], plan.peak) << "seed " << seed;
    EXPECT_NEAR(picture.times.back(), plan.cost, 1e-9) << "seed " << seed;
  }
}

TEST(ReportPicture, AddsGroupsUpToTheTotal) {
  PlanResult plan = plan_within(training_chain(12), 0.5);
  ASSERT_TRUE(plan);
  Picture picture = picture_of(plan, {});
  EXPECT_EQ(picture.groups, (std::vector<std::string>{"parameters", "batch", "activations", "gradients", "scratch"}));
  for (std::size_t m = 0; m < picture.total.size(); ++m) {
    std::int64_t sum = 0;
    for (const auto& group : picture.memory) sum += group[m];
    EXPECT_EQ(sum, picture.total[m]);
    EXPECT_LE(sum, plan.budget);
  }
}

TEST(ReportPicture, LaysNoTwoBarsOverEachOther) {
  PlanResult plan = plan_within(training_chain(16), 0.45);
  ASSERT_TRUE(plan);
  std::vector<Bar> bars = picture_of(plan, {}).bars;
  for (const Bar& a : bars)
    for (const Bar& b : bars) {
      bool meet = &a != &b && a.from < b.to && b.from < a.to;
      EXPECT_FALSE(meet && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes);
    }
}

TEST(ReportPicture, FindsPlacesForAPlanThatHasNone) {
  PlanResult plan = plan_within(training_chain(8), 0.6);
  ASSERT_TRUE(plan);
  std::size_t count = picture_of(plan, {}).bars.size();
  plan.layout.clear();
  EXPECT_EQ(picture_of(plan, {}).bars.size(), count);
}

TEST(ReportPicture, MergesTheSmallestAndSaysHowMuchTheyAre) {
  PlanResult plan = plan_within(training_chain(40), 0.5);
  ASSERT_TRUE(plan);
  Picture picture = picture_of(plan, {});
  DrawnBars drawn = drawn_bars(picture, 10);
  EXPECT_EQ(drawn.bars.size(), 10u);
  EXPECT_EQ(drawn.merged, picture.bars.size() - 10);
  EXPECT_GT(drawn.merged_bytes, 0);
  EXPECT_LT(drawn.merged_bytes, plan.peak);
  Columns columns = columns_of(picture, 7);
  EXPECT_EQ(columns.moments.size(), 7u);
  auto total = [&](int m) { return picture.total[static_cast<std::size_t>(m)]; };
  EXPECT_EQ(std::ranges::max(columns.moments, {}, total), picture.peak_moment());
}

TEST(ReportPicture, RefusesATimelineOfAnotherPlan) {
  PlanResult plan = plan_within(training_chain(4), 1);
  std::vector<Moment> timeline = {{.name = "other", .node = 0, .begin = 0, .end = 1}};
  EXPECT_EQ(message_of([&] { picture_of(plan, timeline); }),
            "[report] the timeline is not one of this plan: they part at moment 0");
  timeline.clear();
  for (Step step : plan.schedule.steps)
    if (step.kind == Step::Kind::run && step.id > 1) timeline.push_back({.node = step.id, .end = 1});
  EXPECT_EQ(message_of([&] { picture_of(plan, timeline); }), "no error");
  timeline.pop_back();
  EXPECT_EQ(message_of([&] { picture_of(plan, timeline); }), "[report] the timeline has 7 moments, the plan 8");
}

}  // namespace
}  // namespace reprise::report
