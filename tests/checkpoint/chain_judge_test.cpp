// SPDX-License-Identifier: Apache-2.0
// Every family before the judge, over all small chains and many large random ones; and the judge before broken
// schedules.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "checkpoint/binomial.h"
#include "checkpoint/cursor.h"
#include "checkpoint/messages.h"
#include "reprise/chain.h"

namespace reprise::chain {
namespace {

void expect_good(const Schedule& schedule, const std::string& what) {
  Verdict verdict = judge(schedule);
  EXPECT_TRUE(verdict.ok) << what << ": " << verdict.why;
}

void expect_all_good(std::int64_t steps, std::int64_t slots) {
  std::string size = std::to_string(steps) + " steps, " + std::to_string(slots) + " slots: ";
  expect_good(keep_all(steps), size + "keep_all");
  expect_good(every(steps, slots), size + "every");
  expect_good(uniform(steps, slots), size + "uniform");
  expect_good(sqrt(steps), size + "sqrt");
  expect_good(revolve(steps, slots), size + "revolve");
  expect_good(periodic({.steps = steps, .slots = slots, .period = 3}), size + "periodic");
  expect_good(periodic({.steps = steps, .slots = slots, .write_cost = 4, .read_cost = 2}), size + "cheapest periodic");
  expect_good(multistage(steps, {{"memory", slots}, {"disk", 3, 5, 4}}), size + "multistage");
}

void expect_tabled_good(std::int64_t steps, std::int64_t slots) {
  std::string size = std::to_string(steps) + " steps, " + std::to_string(slots) + " slots: ";
  expect_good(mixed({.steps = steps, .capacity = slots * 2 + 1, .state_size = 2, .data_size = 3}), size + "mixed");
  expect_good(disk_revolve(steps, slots, 5, 4), size + "disk_revolve");
  expect_good(hierarchical(steps, {{"memory", slots}, {"ssd", 2, 1, 1}, {"disk", 9, 5, 4}}), size + "hierarchical");
  expect_good(hierarchical(steps, {{"memory", slots, 0.25, 0.5}, {"disk", 9, 5, 4}}), size + "costly memory");
}

TEST(ChainJudge, AcceptsEveryFamilyOnAllSmallChains) {
  for (std::int64_t steps = 0; steps <= 24; ++steps)
    for (std::int64_t slots = 1; slots <= 8; ++slots) {
      expect_all_good(steps, slots);
      expect_tabled_good(steps, slots);
    }
}

Weighted random_weights(Random& random, std::int64_t steps) {
  Weighted request;
  for (std::int64_t i = 0; i < steps; ++i) {
    request.step_costs.push_back(random.uniform(0, 10));
    request.sizes.push_back(random.between(0, 12));
  }
  request.capacity = 12 + random.between(0, 60);
  return request;
}

TEST(ChainJudge, AcceptsWeightedSchedulesOnRandomChainsSmallAndLarge) {
  Random random(13);
  for (std::int64_t steps = 0; steps <= 24; ++steps)
    for (int i = 0; i < 8; ++i)
      expect_good(weighted(random_weights(random, steps)), std::to_string(steps) + " steps, weighted");
  for (int i = 0; i < 4; ++i) expect_good(weighted(random_weights(random, random.between(60, 120))), "weighted");
}

TEST(ChainJudge, AcceptsEveryFamilyOnLargeRandomChains) {
  Random random(11);
  for (int i = 0; i < 60; ++i) expect_all_good(random.between(100, 20'000), random.between(3, 80));
  for (int i = 0; i < 10; ++i) expect_tabled_good(random.between(100, 1'500), random.between(1, 30));
}

TEST(ChainJudge, AcceptsOnlineSchedulesThatEndAnywhere) {
  for (std::int64_t slots = 1; slots <= 7; ++slots)
    for (std::int64_t steps = 0; steps <= 80; ++steps) {
      Verdict levels = judge(online(slots), steps);
      EXPECT_TRUE(levels.ok) << steps << " steps, " << slots << " slots: " << levels.why;
      Verdict periods = judge(online_two_level(5, slots, 2, 1), steps);
      EXPECT_TRUE(periods.ok) << steps << " steps, " << slots << " slots: " << periods.why;
    }
}

TEST(ChainJudge, AcceptsLongOnlineSchedules) {
  Random random(12);
  for (int i = 0; i < 20; ++i) {
    std::int64_t steps = random.between(1'000, 30'000), slots = random.between(5, 60);
    EXPECT_TRUE(judge(online(slots), steps).ok);
    EXPECT_TRUE(judge(online_two_level(random.between(1, 300), slots), steps).ok);
  }
}

// How often the busiest step runs, the first run included.
std::int64_t most_runs(Schedule schedule, std::int64_t steps) {
  std::vector<std::int64_t> runs(static_cast<std::size_t>(steps));
  std::int64_t reached = 0;
  auto count = [&](const Action& action) {
    auto* advance = std::get_if<Advance>(&action);
    for (std::int64_t i = advance ? advance->from : 0; advance && i < advance->to; ++i)
      ++runs[static_cast<std::size_t>(i)];
    if (advance) reached = std::max(reached, advance->to);
  };
  while (reached < steps) count(schedule.next());
  schedule.finish();
  while (!schedule.done()) count(schedule.next());
  return *std::max_element(runs.begin(), runs.end());
}

TEST(ChainOnline, RepeatsNoStepOftenerThanRevolveForOneStepMore) {
  // x_n is formed here and not under revolve, so the run has the length n + 1 of one that stops before its last step.
  for (std::int64_t slots = 1; slots <= 6; ++slots)
    for (std::int64_t steps = 1; steps <= 120; ++steps)
      EXPECT_LE(most_runs(online(slots), steps), repetitions(steps + 1, slots))
          << steps << " steps, " << slots << " slots";
}

TEST(ChainOnline, TwoLevelsRunEachStepOnceAheadAndThenByRevolve) {
  EXPECT_EQ(online_two_level(10, 3).forecast_at(100).advances, 100 + 10 * revolve_advances(10, 3));
}

TEST(ChainForecast, OfSimpleFamiliesIsWhatTheirDescriptionsSay) {
  Forecast all = keep_all(100).forecast();
  EXPECT_EQ(all.advances, 99);
  EXPECT_EQ(all.extra, 0);
  EXPECT_EQ(all.stores[0].slots, 99);
  Forecast root = sqrt(100).forecast();
  EXPECT_EQ(root.advances, 90 + 10 * 9);
  EXPECT_EQ(root.stores[0].slots, 9 + 9);
  Forecast tens = every(95, 10).forecast();
  EXPECT_EQ(tens.advances, 90 + 9 * 9 + 4);
  EXPECT_EQ(uniform(95, 9).chain().stores[0].capacity, 8 + 14);
}

TEST(ChainForecast, OfABillionStepsIsClosedForm) {
  Forecast forecast = revolve(1'000'000'000, 100).forecast();
  EXPECT_EQ(forecast.advances, revolve_advances(1'000'000'000, 100));
  EXPECT_EQ(forecast.stores[0], (StoreUse{100, 100, least_saves(1'000'000'000, 100), 999'999'999}));
}

TEST(ChainSchedule, CopiesGoOnFromWhereTheOriginalStands) {
  Schedule original = revolve(20, 3);
  for (int i = 0; i < 11; ++i) original.next();
  Schedule copy = original;
  while (!original.done()) EXPECT_EQ(original.next(), copy.next());
  EXPECT_TRUE(copy.done());
}

TEST(ChainSchedule, ReadsAsText) {
  std::string text;
  for (Schedule s = revolve(3, 1); !s.done();) text += to_string(s.next()) + "; ";
  EXPECT_EQ(
      text,
      "save x_0 in slot 0 of store 0; advance 0 to 2; reverse 2; restore x_0 from slot 0 of store 0; advance 0 to 1; "
      "reverse 1; take x_0 from slot 0 of store 0; reverse 0; ");
}

// The judge itself: each broken list gets the sentence that says what is wrong with it.
std::string judged(const Chain& chain, std::vector<Action> actions) {
  std::size_t i = 0;
  return judge(chain, [&] { return actions.at(i++); }).why;
}

TEST(ChainJudge, NamesTheRuleThatAScheduleBreaks) {
  Chain chain{.steps = 3, .stores = {{"memory", 1}}};
  Save save{0, 0, 0, Content::state};
  Restore restore{0, 0, 0, Content::state, false};
  EXPECT_EQ(judged(chain, {Reverse{2}}), "action 1 (reverse 2): needs x_2, but x_0 is in hand");
  EXPECT_EQ(judged(chain, {Advance{0, 1}, Reverse{1}}), "action 2 (reverse 1): step 2 is next to be reversed");
  EXPECT_EQ(judged(chain, {restore}), "action 1 (restore x_0 from slot 0 of store 0): slot 0 is empty");
  EXPECT_EQ(judged(chain, {save, Advance{0, 1}, Save{1, 0, 0, Content::state}}),
            "action 3 (save x_1 in slot 0 of store 0): slot 0 is full: it holds that of step 0");
  EXPECT_EQ(judged(chain, {save, Advance{0, 1}, Save{1, 1, 0, Content::state}}),
            "action 3 (save x_1 in slot 1 of store 0): store 0 holds 2, more than its capacity of 1");
  EXPECT_EQ(judged(chain, {save, Advance{0, 2}, Reverse{2}, Advance{0, 1}}),
            "action 4 (advance 0 to 1): needs x_0, but no state is in hand");
  EXPECT_EQ(judged(chain, {Save{0, 0, 7, Content::state}}),
            "action 1 (save x_0 in slot 0 of store 7): store 7 does not exist");
  EXPECT_EQ(judged(chain, {Record{0}}),
            "action 1 (record 0): this chain is reversed from states: there is nothing to record");
  EXPECT_EQ(judged(chain, {save, Advance{0, 2}, Reverse{2}, restore, Advance{0, 1}, Reverse{1}, restore, Reverse{0}}),
            "all steps are reversed, but something is still stored");
}

TEST(ChainJudge, RejectsEveryScheduleWithOneActionMissing) {
  for (const Schedule& schedule :
       {keep_all(9), every(11, 3), revolve(12, 3), periodic({.steps = 14, .slots = 2, .period = 5}),
        mixed({.steps = 10, .capacity = 3}), disk_revolve(12, 2, 2, 1)}) {
    std::vector<Action> actions;
    for (Schedule s = schedule; !s.done();) actions.push_back(s.next());
    EXPECT_EQ(judged(schedule.chain(), actions), "");
    actions.push_back(Reverse{-1});  // never reached, unless the last one is missing
    for (std::size_t i = 0; i + 1 < actions.size(); ++i) {
      std::vector<Action> rest = actions;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_NE(judged(schedule.chain(), rest), "") << to_string(actions[i]);
    }
  }
}

// A good stream whose forecast says something else.
struct Boaster : Cursor {
  Schedule inner = revolve(9, 3);
  std::function<void(Forecast&)> change;
  std::unique_ptr<Cursor> clone() const override { return std::make_unique<Boaster>(*this); }
  bool done() const override { return inner.done(); }
  Action next() override { return inner.next(); }
  std::size_t bytes() const override { return 0; }
  std::optional<Forecast> closed_form() const override {
    Forecast forecast = revolve(9, 3).forecast();
    change(forecast);
    return forecast;
  }
};

std::string boast(std::function<void(Forecast&)> change) {
  auto boaster = std::make_unique<Boaster>();
  boaster->change = std::move(change);
  return judge(Schedule(revolve(9, 3).chain(), std::move(boaster))).why;
}

TEST(ChainJudge, RejectsAForecastThatDoesNotComeTrue) {
  EXPECT_EQ(boast([](Forecast&) {}), "");
  EXPECT_EQ(boast([](Forecast& f) { f.advances -= 1; }), "12 advances were forecast, 13 were made");
  EXPECT_EQ(boast([](Forecast& f) { f.cost *= 2; }), "a cost of 26 was forecast, it was 13");
  EXPECT_EQ(boast([](Forecast& f) { f.extra = 0; }), "an extra cost of 0 was forecast, it was 5");
  EXPECT_EQ(boast([](Forecast& f) { f.stores[0].writes += 1; }), "the stores were not used as forecast");
}

}  // namespace
}  // namespace reprise::chain
