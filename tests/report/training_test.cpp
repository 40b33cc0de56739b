// SPDX-License-Identifier: Apache-2.0
// A real training step: its names, its groups and its measured times.
#include <gtest/gtest.h>

#include <set>

#include "report/example.h"
#include "report/picture.h"
#include "report/reasons.h"
#include "reprise/models.h"
#include "reprise/report.h"
#include "temporary.h"
#include "train/outcome.h"

namespace reprise::report {
namespace {

struct SmallStep {
  BuiltInModel model = built_in_model("gpt4s", {.small = true});
  TrainStep step{model.loss, model.parameters, model.rule, {.measure = false, .timeline = true}};
  SmallStep() { step.run(model.random_batch(1)); }
};

TEST(ReportTraining, KnowsWhatEveryValueIs) {
  SmallStep small;
  const Problem& problem = *small.step.plan().problem;
  std::set<std::string> groups, names;
  for (const Problem::Node& node : problem.nodes()) groups.emplace(problem.group(node)), names.insert(node.name);
  for (const char* group : {"parameters", "optimizer state", "batch", "activations", "gradients"})
    EXPECT_TRUE(groups.contains(group)) << group;
  std::string first = small.model.parameters[0].name;
  EXPECT_TRUE(names.contains(first)) << first;
  EXPECT_TRUE(names.contains("optimizer." + first + ".0"));
  EXPECT_TRUE(names.contains("batch.0"));
  std::int64_t weights = 0, moments = 0;
  for (const Problem::Value& value : problem.values()) {
    if (problem.group(problem.node(value.node)) == "parameters") weights += value.bytes;
    if (problem.group(problem.node(value.node)) == "optimizer state") moments += value.bytes;
  }
  EXPECT_GE(moments, 2 * weights);  // Adam keeps two numbers for each
}

TEST(ReportTraining, NamesGradientsAfterTheirLayers) {
  SmallStep small;
  int named_after_layers = 0;
  const Problem& problem = *small.step.plan().problem;
  for (const Problem::Node& node : problem.nodes())
    if (std::size_t at = node.name.find(".grad"); at != std::string::npos) {
      EXPECT_TRUE(problem.group(node) == "gradients" || problem.group(node) == "constants") << node.name;
      named_after_layers += problem.find(node.name.substr(0, at)) >= 0;
    }
  EXPECT_GT(named_after_layers, 10);
}

TEST(ReportTraining, ShowsMeasuredTimes) {
  SmallStep small;
  Picture picture = picture_of(small.step.plan(), small.step.timeline());
  EXPECT_EQ(picture.times.back(),
            small.step.timeline().back().is_drop ? picture.times.back() : small.step.timeline().back().end);
  EXPECT_TRUE(std::ranges::is_sorted(picture.times));
  EXPECT_GT(picture.times.back(), 0);
  std::size_t runs = 0;
  std::vector<std::int64_t> live;
  for (const Moment& m : small.step.timeline())
    if (!m.is_drop) ++runs, live.push_back(m.live_bytes);
  EXPECT_EQ(runs, picture.steps.size());
  EXPECT_EQ(live, picture.total);
}

TEST(ReportTraining, GivesEveryValueAReasonThatHolds) {
  BuiltInModel model = built_in_model("gpt4s", {.small = true});
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  Problem problem = problem_of(step.graph(model.batch), {.measure = false});
  PlanResult plan = plan_within(problem, 0.85);
  ASSERT_TRUE(plan);
  ASSERT_GT(plan.recomputed, 0);
  Reasons reasons = reasons_for(plan);
  EXPECT_GE(reasons.binding, 0);
  EXPECT_GT(reasons.price, 0);
  for (const Decision& d : largest_recomputed(plan, reasons, 1000)) {
    EXPECT_GT(d.runs, 1);
    EXPECT_TRUE(d.reason == Reason::freed || d.reason == Reason::on_the_way);
  }
  std::vector<Decision> kept = largest_kept(plan, reasons, 5);
  ASSERT_EQ(kept.size(), 5u);
  for (const Decision& d : kept) {
    EXPECT_EQ(d.runs, 1);
    EXPECT_FALSE(sentence(problem, reasons, d.reason).empty());
  }
  EXPECT_TRUE(std::ranges::is_sorted(kept, std::ranges::greater(), &Decision::bytes));
}

TEST(ReportTraining, ShowsWhatMovesToDisk) {
  TemporaryFolder folder;
  BuiltInModel model = built_in_model("digits", {.small = true});
  StepOptions options{.planning = {.iterations = 100}, .measure = false, .timeline = true};
  options.disk.folder = folder.path();
  options.budget = smallest_budget_of({model.loss, model.parameters, model.rule, model.random_batch(1)}, options);
  TrainStep step(model.loss, model.parameters, model.rule, options);
  step.run(model.random_batch(1));
  Reasons reasons = reasons_for(step.plan());
  std::vector<Decision> moved = largest_moved(step.plan(), reasons, 1000);
  ASSERT_FALSE(moved.empty());
  for (const Decision& d : largest_kept(step.plan(), reasons, 1000)) EXPECT_NE(d.reason, Reason::moved);
  Picture picture = picture_of(step.plan(), step.timeline());
  EXPECT_TRUE(std::ranges::is_sorted(picture.times));
  Page page{.title = "moves", .plan = &step.plan(), .timeline = step.timeline()};
  save(page, folder.path());
  EXPECT_EQ(std::ranges::count(load(folder.path()).timeline, true, &Moment::is_move),
            std::ranges::count(step.timeline(), true, &Moment::is_move));
  html(page, folder.path() + "/page.html");
  std::ifstream file(folder.path() + "/page.html");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("<td class=\"line\">moved to disk</td>"), std::string::npos);
}

}  // namespace
}  // namespace reprise::report
