// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "memory/brute_force.h"
#include "memory/companions.h"
#include "memory/lifetimes.h"
#include "memory/reduce.h"
#include "memory/solvers.h"

namespace reprise::memory {
namespace {

constexpr std::int64_t plenty = 1'000'000'000;

struct Case {
  std::vector<Buffer> buffers;
  std::vector<std::uint32_t> listed;
  Instance instance;

  explicit Case(std::vector<Buffer> given)
      : buffers(std::move(given)),
        instance(make_instance(lifetimes_of(buffers), rows_of(lifetimes_of(buffers), listed), 1)) {}
  void judge(const Placement& placement) const { validate(buffers, {placement, height_of(instance, placement)}); }
};

TEST(Companions, AreAllPairsOfPartsThatShareASection) {
  using Pair = std::tuple<int, int, std::int64_t, std::int64_t>;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    std::vector<Buffer> buffers = random_buffers(random, 40, random.between(1, 60), 100);
    for (std::size_t i = 1; i < buffers.size(); i += random.chance(0.5) ? 1 : 2) {  // rows of two and more
      buffers[i].takes_over = i - 1;
      buffers[i].lower = buffers[i - 1].upper;
      buffers[i].upper = buffers[i].lower + random.between(1, 20);
    }
    Case c(std::move(buffers));
    const Instance& in = c.instance;
    const int count = static_cast<int>(in.items.size());
    std::vector<Pair> told, all;
    Companions companions(in);
    for (int i = 0; i < count; ++i)
      companions.for_each(i, [&](const Companion& o) { told.push_back({i, o.item, o.own_size, o.size}); });
    for (int i = 0; i < count * count; ++i)
      for (const Part& p : in.parts_of(in.items[static_cast<std::size_t>(i / count)]))
        for (const Part& q : in.parts_of(in.items[static_cast<std::size_t>(i % count)]))
          if (i / count != i % count && p.first < q.last && q.first < p.last)
            all.push_back({i / count, i % count, p.size, q.size});
    std::ranges::sort(told);
    std::ranges::sort(all);
    ASSERT_EQ(told, all) << "seed " << seed;
  }
}

TEST(Skyline, IsValidInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Case c(random_buffers(random, 50, random.between(1, 60), 100));
    Work work(plenty, 0);
    for (Order order : orders) ASSERT_NO_THROW(c.judge(skyline(c.instance, keys(c.instance, order), work))) << seed;
  }
}

TEST(FirstFit, IsValidInAnyOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    Case c(random_buffers(random, 50, random.between(1, 60), 100));
    std::vector<int> sequence(c.instance.items.size());
    std::iota(sequence.begin(), sequence.end(), 0);
    for (std::size_t i = sequence.size(); i > 1; --i)
      std::swap(sequence[i - 1], sequence[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
    Work work(plenty, 0);
    ASSERT_NO_THROW(c.judge(first_fit(c.instance, sequence, work))) << "seed " << seed;
  }
}

TEST(OrderSearch, NeverEndsHigherThanItBegan) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    Case c(random_buffers(random, 40, 40, 100));
    Work work(plenty, 0);
    Placement start = skyline(c.instance, keys(c.instance, Order::start), work);
    Placement end = order_search(c.instance, start, c.instance.lower_bound, 100'000, seed, work);
    c.judge(end);
    ASSERT_LE(height_of(c.instance, end), height_of(c.instance, start)) << "seed " << seed;
  }
}

TEST(Ejection, EndsWithinTheCapacityOrWithNothing) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    Case c(random_buffers(random, 60, 60, 100));
    Work work(plenty, 0);
    Placement start = skyline(c.instance, keys(c.instance, Order::start), work);
    std::int64_t capacity = c.instance.lower_bound + c.instance.lower_bound * random.between(0, 20) / 100;
    std::optional<Placement> end = ejection(c.instance, start, capacity, 300'000, seed, work);
    if (!end) continue;
    ++found;
    c.judge(*end);
    ASSERT_LE(height_of(c.instance, *end), capacity) << "seed " << seed;
  }
  EXPECT_GT(found, 50);
  Random random(1);
  Case c(random_buffers(random, 60, 60, 100));
  Work work(plenty, 0);
  Placement start = skyline(c.instance, keys(c.instance, Order::start), work);
  EXPECT_FALSE(ejection(c.instance, start, c.instance.lower_bound - 1, 300'000, 1, work));
}

TEST(Exact, DecidesTinyProblemsAsBruteForceDoes) {
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed);
    Case c(dense_buffers(random, random.between(8, 14), random.between(4, 6)));
    std::int64_t least = least_height_by_brute_force(c.buffers);
    Work work(plenty, 0);
    Decision at = Exact(c.instance, least, seed, work).run(plenty);
    ASSERT_EQ(at.outcome, Outcome::found) << "seed " << seed;
    c.judge(at.placement);
    ASSERT_LE(height_of(c.instance, at.placement), least);
    ASSERT_EQ(Exact(c.instance, least - 1, seed, work).run(plenty).outcome, Outcome::refuted) << "seed " << seed;
    refuted += least > c.instance.lower_bound;
  }
  EXPECT_GT(refuted, 5) << "the problems are too easy to say much";
}

/// Cuts a square into rectangles at random, then takes a slice off some: dense problems with a known solution.
std::vector<Buffer> cut_square(Random& random, std::int64_t side, std::size_t count) {
  struct Rectangle {
    std::int64_t left, right, bottom, top;
  };
  std::vector<Rectangle> all{{0, side, 0, side}};
  while (all.size() < count) {
    Rectangle& r = all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size())))];
    bool upright = random.chance(0.5);
    if ((upright ? r.right - r.left : r.top - r.bottom) < 8) continue;
    Rectangle half = r;
    if (upright)
      r.right = half.left = random.between(r.left + 1, r.right - 1);
    else
      r.top = half.bottom = random.between(r.bottom + 1, r.top - 1);
    all.push_back(half);
  }
  std::vector<Buffer> buffers;
  for (const Rectangle& r : all) {
    std::int64_t size = r.top - r.bottom;
    if (random.chance(0.2)) size -= random.below(size) / 4;
    buffers.push_back({std::to_string(buffers.size()), r.left, r.right, size});
  }
  return buffers;
}

TEST(Exact, SolvesDenseProblemsWhereGreedyIsFarOff) {
  double greedy_excess = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Random random(seed);
    Case c(cut_square(random, 1024, 120));
    Work work(plenty, 0);
    Placement greedy = skyline(c.instance, keys(c.instance, Order::size), work);
    greedy_excess += static_cast<double>(height_of(c.instance, greedy)) / 1024 - 1;
    PackResult r = pack(c.buffers, {.capacity = 1024});
    ASSERT_TRUE(r) << "seed " << seed << ": " << r.why;
    validate(c.buffers, r.layout, {.capacity = 1024});
  }
  EXPECT_GT(greedy_excess / 8, 0.05);
}

TEST(Exact, GivesUpRatherThanRecurseTooDeep) {
  std::vector<Buffer> tower;
  for (int i = 0; i < 1500; ++i) tower.push_back({std::to_string(i), 0, 1, 1 + i % 7});
  Case c(tower);
  Work work(plenty, 0);
  EXPECT_EQ(Exact(c.instance, c.instance.lower_bound, 1, work).run(9'000'000).outcome, Outcome::unknown);
}

TEST(Reduce, PutsAsideOnlyWhatFitsWhereverTheOthersLie) {
  int put_aside = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    auto buffers = random_buffers(random, 30, 60, 100);
    for (Buffer& b : buffers)
      if (random.chance(0.5)) b.size = 1;
    Case c(buffers);
    std::vector<int> aside = postponable(c.instance, c.instance.lower_bound), others;
    put_aside += static_cast<int>(aside.size());
    Placement placement(buffers.size(), 0);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (std::ranges::find(aside, static_cast<int>(i)) == aside.end()) others.push_back(static_cast<int>(i));
    Work work(plenty, 0);
    Case kept([&] {
      std::vector<Buffer> some;
      for (int i : others) some.push_back(buffers[static_cast<std::size_t>(i)]);
      return some;
    }());
    Placement part = skyline(kept.instance, keys(kept.instance, Order::size), work);
    for (std::size_t k = 0; k < others.size(); ++k) placement[static_cast<std::size_t>(others[k])] = part[k];
    std::ranges::reverse(aside);
    insert(c.instance, aside, placement, work);
    c.judge(placement);
    ASSERT_LE(height_of(c.instance, placement), std::max(height_of(kept.instance, part), c.instance.lower_bound));
  }
  EXPECT_GT(put_aside, 100);
}

}  // namespace
}  // namespace reprise::memory
