// SPDX-License-Identifier: Apache-2.0
// Views, in-place outputs, updates, several outputs, kept and excluded values, compression and paging: every search
// respects them, by the judge's word.
#include <gtest/gtest.h>

#include "base/random.h"
#include "reprise/plan.h"

namespace reprise {
namespace {

using Values = std::vector<ValueRef>;

ValueRef any_of(Random& random, const Values& values) {
  return values[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(values.size())))];
}

void add_forward(Problem& p, Random& random, Values& made, ValueRef weight, int i) {
  ValueRef input = made.empty() ? weight : random.chance(0.7) ? made.back() : any_of(random, made);
  std::string name = "f" + std::to_string(i);
  double cost = static_cast<double>(random.between(0, 9));
  Sizes sizes = random.chance(0.2) ? Sizes{random.between(1, 9), random.between(1, 9)} : Sizes(random.between(4, 20));
  ValueRef value = p.add({name, sizes, cost, random.between(0, 2)}, {input, weight});
  bool follows = input != weight;
  if (follows && random.chance(0.15))
    p.view(value, input);
  else if (follows && random.chance(0.3) && sizes.size() == 1 && p.value(p.index(input)).view_of < 0 &&
           p.value(p.index(value)).bytes <= p.value(p.index(input)).bytes)
    p.in_place(value, input);
  if (p.value(p.index(value)).view_of < 0) {
    std::int64_t bytes = p.value(p.index(value)).bytes;
    if (random.chance(0.3)) p.compressible(value, {bytes / 3, 1, 1});
    if (random.chance(0.3)) p.pageable(value, {2, 2});
  }
  if (random.chance(0.1)) p.keep(value);
  if (random.chance(0.1)) p.never_recompute(value);
  made.push_back(sizes.size() > 1 && random.chance(0.5) ? value[1] : value);
}

// A small training step: forward, gradients that read it backwards, updates of the weights.
Problem random_step(std::uint64_t seed) {
  Random random(seed);
  Problem p;
  p.resident(random.between(0, 5));
  Values weights, made;
  for (int k = 0; k < 2; ++k) weights.push_back(p.add({"w" + std::to_string(k), random.between(1, 6), 0, 0, true}));
  int half = static_cast<int>(random.between(3, 9));
  for (int i = 0; i < half; ++i) add_forward(p, random, made, any_of(random, weights), i);
  ValueRef gradient = p.add({"loss", 1, 1}, {made.back()});
  if (random.chance(0.3)) {
    const Problem::Value& first = p.value(p.index(made.front()));
    bool is_fixed = first.view_of >= 0 || first.keep || p.node(first.node).never_recompute;
    bool is_read = false;
    for (int v : p.node(gradient.node).inputs)
      is_read |= v == p.index(made.front()) || p.value(v).view_of == p.index(made.front());
    if (!is_fixed && !is_read) p.never_keep(made.front(), gradient);
  }
  for (int i = half; i-- > 0;) {
    gradient =
        p.add({"b" + std::to_string(i), random.between(1, 12), 2}, {gradient, made[static_cast<std::size_t>(i)]});
  }
  for (int k = 0; k < 2; ++k) {
    ValueRef update = p.add({"u" + std::to_string(k), 0, 1}, {gradient, weights[static_cast<std::size_t>(k)]});
    p.view(update, weights[static_cast<std::size_t>(k)]);
    p.update(update, weights[static_cast<std::size_t>(k)]);
    p.output(update);
  }
  return p;
}

TEST(Facts, AreRespectedByEverySearch) {
  int feasible = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Problem p = random_step(seed);
    std::int64_t whole = solve(p).keep_all_peak;
    for (int percent : {50, 65, 80, 92}) {
      PlanResult result = solve(p, {.budget = whole * percent / 100, .iterations = 150});
      if (!result) {
        EXPECT_GT(result.min_budget, result.budget) << "seed " << seed;
        continue;
      }
      ++feasible;
      Verdict verdict = validate(p, result.schedule, result.budget);
      ASSERT_TRUE(verdict) << verdict.why << " seed " << seed;
      EXPECT_LE(result.lower_bound, verdict.cost * (1 + 1e-9)) << "seed " << seed;
    }
  }
  EXPECT_GT(feasible, 100);
}

// A long idle value: paging it is cheapest, then compressing, then computing it again.
TEST(Facts, TheCheapestFormOfAValueIsUsed) {
  auto plan = [](bool can_page, bool can_compress) {
    Problem p;
    auto big = p.add({"big", 100, 50});
    auto a = p.add({"a", 10, 1}, {big});
    auto wide = p.add({"wide", 100, 1}, {a});
    auto narrow = p.add({"narrow", 10, 1}, {wide});
    p.output(p.add({"end", 10, 1}, {narrow, big}));
    if (can_page) p.pageable(big, {2, 2});
    if (can_compress) p.compressible(big, {30, 5, 5});
    return solve(p, {.budget = 150, .iterations = 100});
  };
  EXPECT_EQ(plan(true, true).cost, 54 + 4);
  EXPECT_EQ(plan(false, true).cost, 54 + 10);
  EXPECT_EQ(plan(false, false).cost, 54 + 50);
  EXPECT_EQ(plan(true, true).lower_bound, 58);
  EXPECT_EQ(plan(false, true).lower_bound, 64);
}

}  // namespace
}  // namespace reprise
