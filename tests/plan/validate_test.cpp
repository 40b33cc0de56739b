// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reprise/plan.h"

namespace reprise {
namespace {

using enum Step::Kind;

// a(10) → b(20) → c(5), and c also reads a.
struct Triangle {
  Problem p;
  ValueRef a = p.add({"a", 10, 1});
  ValueRef b = p.add({"b", 20, 2}, {a});
  ValueRef c = p.add({"c", 5, 4, 3}, {a, b});
};

TEST(Validate, CountsInputsOutputsAndScratchOfEachRun) {
  Triangle t;
  Verdict verdict = validate(t.p, keep_all(t.p));
  EXPECT_TRUE(verdict) << verdict.why;
  EXPECT_EQ(verdict.peak, 10 + 20 + 5 + 3);
  EXPECT_EQ(verdict.cost, 7);
  EXPECT_EQ(verdict.peak_step, 2);
  EXPECT_FALSE(validate(t.p, keep_all(t.p), 37));
}

TEST(Validate, RejectsWithTheReason) {
  Triangle t;
  auto why = [&](std::vector<Step> steps) { return validate(t.p, {std::move(steps)}).why; };
  EXPECT_EQ(why({{run, 1}}), "step 0 runs 'b' without its input 'a'");
  EXPECT_EQ(why({{run, 0}, {run, 1}}), "'c' never runs");
  EXPECT_EQ(why({{run, 0}, {drop, 1}}), "step 1 drops 'b', which is not there");
  EXPECT_EQ(why({{run, 0}, {page_out, 0}}), "step 1: nothing says how to page out 'a'");
  EXPECT_EQ(why({{run, 9}}), "step 0 names number 9 of 3");
  t.p.never_recompute(t.a);
  EXPECT_EQ(why({{run, 0}, {run, 0}}), "step 1 runs 'a' again, which must run only once");
  t.p.output(t.b);
  EXPECT_EQ(why({{run, 0}, {run, 1}, {run, 2}, {drop, 1}}), "output 'b' is not in memory at the end");
}

TEST(Validate, FollowsTheOtherFormsOfAValue) {
  Triangle t;
  t.p.pageable(t.a, {1, 1});
  t.p.compressible(t.b, {4, 1, 1});
  Verdict verdict =
      validate(t.p, {{{run, 0}, {run, 1}, {page_out, 0}, {compress, 1}, {expand, 1}, {page_in, 0}, {run, 2}}});
  EXPECT_TRUE(verdict) << verdict.why;
  EXPECT_EQ(verdict.cost, 7 + 4);
  EXPECT_EQ(verdict.peak, 38);
  EXPECT_FALSE(validate(t.p, {{{run, 0}, {run, 1}, {page_out, 0}, {run, 2}}}));
}

TEST(Validate, LetsAnOutputTakeOverAnInputThatDies) {
  Problem p;
  auto a = p.add({"a", 10, 1});
  auto b = p.add({"b", 10, 1}, {a});
  p.in_place(b, a);
  p.output(b);
  EXPECT_EQ(peak(p, {{{run, 0}, {run, 1}, {drop, 0}}}), 10);
  EXPECT_EQ(peak(p, {{{run, 0}, {run, 1}}}), 20);
  EXPECT_EQ(peak(p, keep_all(p)), 10);
}

TEST(Validate, LetsViewsGoWithWhatTheyView) {
  Problem p;
  auto a = p.add({"a", 10, 1});
  auto v = p.add({"v", 10, 0}, {a});
  p.view(v, a);
  p.add({"c", 1, 1}, {v});
  EXPECT_EQ(peak(p, keep_all(p)), 11);
  EXPECT_EQ(validate(p, {{{run, 0}, {run, 1}, {drop, 0}, {run, 2}}}).why, "step 3 runs 'c' without its input 'v'");
  EXPECT_EQ(validate(p, {{{run, 0}, {run, 1}, {run, 0}, {run, 2}}}).why, "step 3 runs 'c' without its input 'v'");
}

TEST(Validate, LetsNothingReadAnOverwrittenValue) {
  Problem p;
  auto w = p.add({"w", 10, 0, 0, true});
  auto a = p.add({"a", 5, 1}, {w});
  auto sgd = p.add({"sgd", 10, 1}, {w, a});
  p.view(sgd, w);
  p.update(sgd, w);
  p.output(sgd);
  EXPECT_EQ(peak(p, keep_all(p)), 15);
  EXPECT_EQ(validate(p, {{{run, 0}, {run, 1}, {run, 2}, {run, 1}}}).why,
            "step 3 runs 'a' after 'sgd' has overwritten 'w'");
}

TEST(Validate, SeesValuesThatAreNotToBeKept) {
  Triangle t;
  auto d = t.p.add({"d", 1, 1});
  t.p.add({"e", 1, 1}, {t.a, d});
  t.p.never_keep(t.a, d);
  EXPECT_FALSE(validate(t.p, with_drops(t.p, std::vector{0, 1, 2, 3, 4})));
  Verdict again = validate(t.p, with_drops(t.p, std::vector{0, 1, 2, 3, 0, 4}));
  EXPECT_TRUE(again) << again.why;
  EXPECT_EQ(keep_all(t.p), with_drops(t.p, std::vector{0, 1, 2, 3, 0, 4}));
}

}  // namespace
}  // namespace reprise
