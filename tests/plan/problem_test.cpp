// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/messages.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

using namespace literals;

TEST(Problem, NumbersValuesOfAllNodesInOrder) {
  Problem p;
  auto load = p.add({"load", 40_MiB, 0.2});
  auto split = p.add({"split", {10_MiB, 30_MiB}, 1}, {load});
  auto join = p.add({"join", 40_MiB, 1}, {split, split[1], split});
  EXPECT_EQ(p.index(load), 0);
  EXPECT_EQ(p.index(split[1]), 2);
  EXPECT_EQ(p.value_name(2), "split:1");
  EXPECT_TRUE(std::ranges::equal(p.inputs(join.node), std::vector{1, 2}));
  EXPECT_EQ(p.find("join"), 2);
  EXPECT_EQ(p.find("nobody"), -1);
}

TEST(Problem, FindsEachOfManyNames) {
  Problem p;
  for (int i = 0; i < 1000; ++i) p.add({"node" + std::to_string(i), 1, 1});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(p.find("node" + std::to_string(i)), i);
  EXPECT_EQ(p.find("node1000"), -1);
}

TEST(Problem, IsAnotherWithOtherGroupsOrForms) {
  auto problem = [](const char* group, std::int64_t compressed) {
    Problem p;
    auto a = p.add({.name = "a", .bytes = 64, .cost = 1, .group = group});
    if (compressed > 0) p.compressible(a, {.bytes = compressed});
    return p;
  };
  EXPECT_EQ(problem("x", 8), problem("x", 8));
  EXPECT_NE(problem("x", 8), problem("y", 8));
  EXPECT_NE(problem("x", 8), problem("x", 0));
  EXPECT_EQ(problem("x", 0).group(problem("x", 0).node(0)), "x");
}

TEST(Problem, RefusesWhatCannotBe) {
  Problem p;
  auto a = p.add({"a", 100, 1});
  auto w = p.add({"w", 10, 0, 0, true});
  EXPECT_SAYS(p.add({"a", 1, 1}), "two nodes are named 'a'");
  EXPECT_SAYS(p.add({"b", -1, 1}), "'b' has a size of -1 bytes");
  EXPECT_SAYS(p.add({"b", 1, 1, -5}), "'b' has a size of -5 bytes");
  EXPECT_SAYS(p.add({"b", INT64_MAX, 1}), "more than 2^60 bytes");
  EXPECT_SAYS(p.add({"b", 1, std::nan("")}), "cost of 'b' is nan");
  EXPECT_SAYS(p.add({"b", 1, -1}), "cost of 'b' is -1");
  EXPECT_SAYS(p.add({"b", 1, 1}, {{7, 0}}), "no node number 7");
  EXPECT_SAYS(p.add({"b", 1, 1}, {a[1]}), "'a' has no output 1");
  EXPECT_SAYS(p.add({"b", Sizes(std::vector<std::int64_t>{}), 1}), "'b' has no output");
  EXPECT_SAYS(p.add({"b", 1, 2, 0, true}), "'b' is pinned");
  EXPECT_SAYS(p.resident(-1), "'resident_bytes' has a size of -1");
  EXPECT_SAYS(p.pageable(w, {1, 1}), "'w' is pinned");
  EXPECT_SAYS(p.compressible(a, {101, 1, 1}), "give 0 to 100");
  EXPECT_SAYS(p.pageable(a, {1, -1}), "page-in cost of 'a' is -1");
  EXPECT_SAYS(p.add({"b", 1, 1e308}), "cost of 'b' is 1e+308: give numbers up to 1e+200, in a larger unit");
  EXPECT_EQ(p.node_count(), 2);
}

TEST(Problem, RefusesViewsUpdatesAndInPlaceThatCannotBe) {
  Problem p;
  auto w = p.add({"w", 10, 0, 0, true});
  auto a = p.add({"a", 100, 1}, {w});
  auto b = p.add({"b", 200, 1}, {a});
  EXPECT_SAYS(p.view(b, w), "'w' is not an input of 'b'");
  EXPECT_SAYS(p.in_place(b, a), "'b' (200 bytes) is larger than 'a' (100 bytes)");
  EXPECT_SAYS(p.view(a, w), "say so before adding further nodes");
  EXPECT_SAYS(p.update(b, a), "which is not pinned");
  EXPECT_SAYS(p.never_keep(a, b), "'a' cannot be out of memory while 'b' runs");
  auto sgd = p.add({"sgd", 10, 1}, {b, w});
  p.update(sgd, w);
  EXPECT_SAYS(p.update(b, w), "both 'sgd' and 'b' update 'w'");
  EXPECT_SAYS(p.add({"late", 1, 1}, {w}), "'late' reads 'w', which 'sgd' has overwritten");
  auto both = p.add({"both", 100, 1}, {a, b});
  EXPECT_SAYS(p.view(both, a), "'both' is to view 'a', but its node also reads 'b'");
}

TEST(Problem, RefusesAViewThatTakesOverMemory) {
  Problem p;
  auto a = p.add({"a", 10, 1});
  auto b = p.add({"b", 10, 1}, {a});
  p.view(b, a);
  EXPECT_SAYS(p.in_place(b, a), "'b' is a view, so it takes over no memory");
  auto c = p.add({"c", 10, 1}, {a});
  p.in_place(c, a);
  EXPECT_SAYS(p.view(c, a), "'c' takes over memory, so it is no view");
}

TEST(Problem, ResolvesViewsOfViews) {
  Problem p;
  auto a = p.add({"a", 100, 1});
  auto b = p.add({"b", 100, 0}, {a});
  p.view(b, a);
  auto c = p.add({"c", 100, 0}, {b});
  p.view(c, b);
  EXPECT_EQ(p.value(p.index(c)).view_of, p.index(a));
  EXPECT_EQ(p.value(p.index(c)).bytes, 0);
  EXPECT_SAYS(p.pageable(c, {1, 1}), "'c' is a view: compress or page 'a' instead");
}

TEST(Problem, RefusesToDropWhatAViewThatIsReadNeeds) {
  Problem p;
  auto a = p.add({"a", 10, 1});
  auto flat = p.add({"flat", 10, 0}, {a});
  p.view(flat, a);
  auto b = p.add({"b", 10, 1}, {flat});
  EXPECT_SAYS(p.never_keep(a, b), "'a' cannot be out of memory while 'b' runs");
}

TEST(Problem, IsSharedByCopiesUntilOneChanges) {
  Problem p;
  auto a = p.add({"a", 100, 1});
  Problem copy = p;
  EXPECT_EQ(&copy.node(0), &p.node(0));
  copy.output(a);
  copy.add({"b", 10, 1}, {a});
  EXPECT_FALSE(p.value(0).output);
  EXPECT_EQ(p.node_count(), 1);
  EXPECT_EQ(p.find("b"), -1);
  EXPECT_EQ(copy.find("b"), 1);
  EXPECT_NE(p, copy);
}

TEST(Problem, EqualsOneBuiltTheSameWay) {
  Problem a, b;
  for (Problem* p : {&a, &b}) p->add({"a", 100, 1});
  EXPECT_EQ(a, b);
  b.resident(1);
  EXPECT_NE(a, b);
}

TEST(Problem, KeepsWhatItHeldWhenMovedFrom) {
  Problem p;
  p.add({"a", 100, 1});
  Problem moved = std::move(p);
  EXPECT_EQ(moved, p);
  p = {};
  EXPECT_EQ(p.node_count(), 0);
  EXPECT_EQ(moved.node_count(), 1);
}

TEST(Problem, IsAlignedBySharingWhereNothingChanges) {
  Problem p;
  auto a = p.add({"a", 128, 1, 64});
  EXPECT_EQ(&p.aligned(64).node(0), &p.node(0));
  p.compressible(a, {65, 1, 1});
  Problem rounded = p.aligned(64);
  EXPECT_EQ(rounded.compression(0)->bytes, 128);
  EXPECT_EQ(p.compression(0)->bytes, 65);
  EXPECT_EQ(rounded.aligned(64), rounded);
}

}  // namespace
}  // namespace reprise
