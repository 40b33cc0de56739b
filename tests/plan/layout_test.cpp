// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/generators.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

using enum Step::Kind;
using Kind = Placement::Kind;

// a(10) → b(10), which may overwrite a → c(4, scratch 3).
struct Line {
  Problem p;
  ValueRef a = p.add({"a", 10, 1});
  ValueRef b = p.add({"b", 10, 1}, {a});
  ValueRef c = (p.in_place(b, a), p.add({"c", 4, 1, 3}, {b}));
  Schedule s{{{run, 0}, {run, 1}, {drop, 0}, {run, 2}, {drop, 1}}};
};

TEST(Lives, EndWithTheDropTheTakeOverOrTheSchedule) {
  Line line;
  EXPECT_EQ(lives(line.p, line.s), (std::vector<Placement>{{Kind::value, 0, 0, 1, 0, 10},
                                                           {Kind::value, 1, 1, 5, 0, 10},
                                                           {Kind::scratch, 2, 3, 4, 0, 3},
                                                           {Kind::value, 2, 3, 5, 0, 4}}));
}

TEST(Lives, FollowOtherFormsAndSecondRuns) {
  Problem p;
  auto a = p.add({"a", 8, 1});
  p.compressible(a, {2, 1, 1});
  p.pageable(a, {1, 1});
  Schedule s{{{run, 0}, {compress, 0}, {expand, 0}, {page_out, 0}, {page_in, 0}, {run, 0}}};
  EXPECT_EQ(lives(p, s), (std::vector<Placement>{{Kind::value, 0, 0, 2, 0, 8},
                                                 {Kind::compressed, 0, 1, 3, 0, 2},
                                                 {Kind::value, 0, 2, 4, 0, 8},
                                                 {Kind::value, 0, 4, 5, 0, 8},
                                                 {Kind::value, 0, 5, 6, 0, 8}}));
}

TEST(ValidateLayout, AcceptsATakeOverInPlace) {
  Line line;
  std::vector<Placement> rows = lives(line.p, line.s);  // b lies where a was
  rows[2].offset = 10;
  rows[3].offset = 13;
  Verdict verdict = validate(line.p, line.s, rows, 17);
  EXPECT_TRUE(verdict) << verdict.why;
  EXPECT_EQ(verdict.peak, 17);
  EXPECT_EQ(validate(line.p, line.s, rows, 16).why, "the layout needs 17 bytes, which is above the budget of 16");
}

TEST(ValidateLayout, RejectsWithTheReason) {
  Line line;
  std::vector<Placement> good = lives(line.p, line.s);
  good[2].offset = 10;
  good[3].offset = 13;
  auto why = [&](auto change) {
    std::vector<Placement> rows = good;
    change(rows);
    return validate(line.p, line.s, rows).why;
  };
  EXPECT_EQ(why([](auto& rows) { rows[3].offset = 12; }), "'c (scratch)' and 'c' share memory at step 3");
  EXPECT_EQ(why([](auto& rows) { rows[1].offset = 5; }), "'a' and 'b' share memory at step 1");  // not within a
  EXPECT_EQ(why([](auto& rows) { rows[1].to = 3; }), "'b' has no row for steps 1 to 4");
  EXPECT_EQ(why([](auto& rows) { rows[0].bytes = 9; }), "the row of 'a' has 9 bytes");
  EXPECT_EQ(why([](auto& rows) { rows.pop_back(); }), "'c' has no row for steps 3 to 5");
  EXPECT_EQ(why([](auto& rows) { rows[0].offset = -1; }), "the row of 'a' lies at -1, steps 0 to 1");
  EXPECT_EQ(why([&](auto& rows) { rows.push_back(good[0]); }), "the row of 'a' from step 0 is of no life");
  EXPECT_EQ(why([](auto& rows) { rows[0].id = 7; }), "a row names number 7 of 3");
}

TEST(ValidateLayout, LetsNothingButTheTakerTouchWhatIsStillRead) {
  Line line;
  auto d = line.p.add({"d", {2, 2}, 1}, {line.c});  // c is 4 bytes; d's first output may take it over
  line.p.in_place(d, line.c);
  Schedule s{{{run, 0}, {run, 1}, {drop, 0}, {run, 2}, {drop, 1}, {run, 3}, {drop, 2}}};
  std::vector<Placement> rows = lives(line.p, s);
  rows[2].offset = 10;  // scratch of c
  rows[3].offset = 20;  // c
  rows[4].offset = 20;  // d takes it over
  rows[5].offset = 24;
  EXPECT_TRUE(validate(line.p, s, rows)) << validate(line.p, s, rows).why;
  rows[5].offset = 22;  // within c, but not the one that takes it over
  EXPECT_EQ(validate(line.p, s, rows).why, "'c' and 'd:1' share memory at step 5");
}

TEST(ValidateLayout, AcceptsRowsOneAboveTheOtherAndSeesWhenTwoMeet) {
  int met = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Problem p = generators::random_problem(generators::kinds[seed % 5], seed, {.nodes = 9, .with_facts = true});
    Schedule schedule = keep_all(p);
    std::vector<Placement> rows = lives(p, schedule);
    std::int64_t top = 0;
    for (Placement& row : rows) {
      row.offset = top;
      top += row.bytes;
    }
    for (Placement& row : rows) {  // a value that is taken over hands its place on
      int input = row.kind == Kind::value ? p.value(row.id).in_place_of : -1;
      for (const Placement& other : rows) {
        bool is_taken = input >= 0 && other.kind == Kind::value && other.id == input && other.to == row.from;
        if (is_taken) row.offset = other.offset;
      }
    }
    Verdict verdict = validate(p, schedule, rows);
    bool two_take_one = verdict.why.find("share memory") != std::string::npos;
    ASSERT_TRUE(verdict || two_take_one) << verdict.why << ", seed " << seed;
    for (Placement& row : rows) row.offset = 0;
    met += !validate(p, schedule, rows);
  }
  EXPECT_GT(met, 300);
}

}  // namespace
}  // namespace reprise
