// SPDX-License-Identifier: Apache-2.0
// What the report reads and writes besides the page.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "message.h"
#include "report/chart.h"
#include "report/example.h"
#include "report/metrics.h"
#include "temporary.h"

namespace reprise::report {
namespace {

using nlohmann::json;

TEST(ReportMetrics, ReadsStepsAndValidations) {
  Metrics m = read_metrics(
      "{\"step\": 1, \"epoch\": 0, \"loss\": 4.0, \"lr\": 0.1, \"seconds\": 0.5}\n"
      "{\"step\": 2, \"loss\": null, \"lr\": 0.1}\n\n"
      "{\"step\": 2, \"val_loss\": 3.5, \"val_metric\": 0.25}\n"
      "{\"step\": 3, \"loss\": 2.0, \"lr\": 0.05, \"seconds\": 1.5}\n",
      "m");
  EXPECT_EQ(m.loss, (Curve{{1, 4.0}, {3, 2.0}}));
  EXPECT_EQ(m.rate.size(), 3u);
  EXPECT_EQ(m.val_loss, (Curve{{2, 3.5}}));
  EXPECT_EQ(m.val_metric, (Curve{{2, 0.25}}));
  EXPECT_EQ(m.seconds, 1.5);
}

TEST(ReportMetrics, PassesOverALastLineThatWasCutOff) {
  EXPECT_EQ(read_metrics("{\"step\": 1, \"loss\": 1}\n{\"step\": 2, \"lo", "m").loss.size(), 1u);
  EXPECT_EQ(message_of([] { read_metrics("{\"step\": 1}\nnonsense\n{}\n", "m.jsonl"); }),
            "[report] m.jsonl: line 2 is not a JSON object such as {\"step\": 1, \"loss\": 0.5}");
  EXPECT_EQ(message_of([] { load_metrics("/no/such/file"); }),
            "[report] cannot read the metrics '/no/such/file': check the path");
}

TEST(ReportMetrics, ThinsLongCurvesToTheirMeans) {
  Curve line;
  for (int i = 0; i < 10'000; ++i) line.emplace_back(i, 2 * i);
  Curve few = thinned(line, 100);
  ASSERT_EQ(few.size(), 100u);
  for (auto [x, y] : few) EXPECT_DOUBLE_EQ(y, 2 * x);
}

TEST(ReportCurve, FindsTheKnee) {
  EXPECT_EQ(knee(std::vector<Point>{{10, 3, 3}, {20, 1.2, 1}, {30, 1.1, 1}, {40, 1, 1}}), 1);
  EXPECT_EQ(knee(std::vector<Point>{{10, 3, 3}, {20, 2, 2}, {30, 1, 1}}), -1);  // straight
  EXPECT_EQ(knee(std::vector<Point>{{10, 1, 1}, {40, 1, 1}, {50, 1, 1}}), -1);  // flat
  EXPECT_EQ(knee({}), -1);
}

TEST(ReportChart, ChoosesRoundTicks) {
  EXPECT_EQ(ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(byte_ticks(3 * 1024.0 * 1024, 3), (std::vector<double>{0, 1 << 20, 2 << 20, 3 << 20}));
  EXPECT_LT(ticks(1, 1.0000001, 5).size(), 20u);
  EXPECT_LT(ticks(1, std::nextafter(1, 2), 5).size(), 20u);
}

TEST(ReportTrace, IsJsonWhoseTimesAddUp) {
  TemporaryFolder folder;
  PlanResult plan = plan_within(training_chain(10), 0.5);
  trace({.title = "t", .plan = &plan}, folder.path() + "/t.json");
  json events = json::parse(text_of(folder.path() + "/t.json"))["traceEvents"];
  double micro = 0;
  std::int64_t highest = 0;
  for (const json& e : events) {
    if (e["ph"] == "X")
      micro += e["dur"].get<double>(), highest = std::max(highest, e["args"]["live_bytes"].get<std::int64_t>());
  }
  EXPECT_NEAR(micro / 1e6, plan.cost, 1e-6 * plan.cost);
  EXPECT_EQ(highest, plan.peak);
}

TEST(ReportSvg, DrawsAPictureThatStandsAlone) {
  TemporaryFolder folder;
  PlanResult plan = plan_within(training_chain(10, 1 << 20, "<evil>\"&"), 0.6);
  svg({.title = "<t>", .plan = &plan}, folder.path() + "/p.svg");
  std::string text = text_of(folder.path() + "/p.svg");
  EXPECT_TRUE(text.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_EQ(text.find("<evil>"), std::string::npos);
  EXPECT_NE(text.find("&lt;evil&gt;&quot;&amp;0: 1.0 MiB, "), std::string::npos);
  EXPECT_NE(text.find("class=\"budget\""), std::string::npos);
  svg(std::vector<Point>{{1 << 20, 2, 1}, {2 << 20, 1.5, 1}, {3 << 20, 1, 1}}, folder.path() + "/c.svg");
  EXPECT_TRUE(text_of(folder.path() + "/c.svg").starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(ReportRun, ComesBackFromItsFolder) {
  TemporaryFolder folder;
  PlanResult plan = plan_within(training_chain(4), 1);
  std::vector<Moment> timeline;
  for (Step step : plan.schedule.steps)
    if (step.kind == Step::Kind::run && step.id > 1) timeline.push_back({.node = step.id, .begin = 0.5, .end = 1});
  save({.title = "a run", .plan = &plan, .curve = {{5, 2, 1}}, .timeline = timeline, .settings = {{"lr", "0.1"}}},
       folder.path());
  EXPECT_TRUE(load(folder.path()).metrics.empty());
  std::ofstream(folder.path() + "/metrics.jsonl") << "{\"step\": 1, \"loss\": 1}\n";
  report::Run run = load(folder.path());
  EXPECT_EQ(run.title, "a run");
  EXPECT_EQ(*run.plan.problem, *plan.problem);
  EXPECT_EQ(run.plan.schedule, plan.schedule);
  EXPECT_EQ(run.plan.summary(), plan.summary());
  EXPECT_EQ(run.curve, (std::vector<Point>{{5, 2, 1}}));
  EXPECT_EQ(run.timeline.size(), timeline.size());
  EXPECT_EQ(run.settings, (std::vector<std::pair<std::string, std::string>>{{"lr", "0.1"}}));
  html(run.page(), folder.path() + "/page.html");
  EXPECT_NE(text_of(folder.path() + "/page.html").find("Loss by step"), std::string::npos);
}

TEST(ReportRun, SaysWhatIsWrongWithAFolder) {
  TemporaryFolder folder;
  EXPECT_NE(message_of([&] { load(folder.path()); }).find("holds no plan.json"), std::string::npos);
  PlanResult plan = plan_within(training_chain(2), 1);
  save({.plan = &plan}, folder.path());
  std::ofstream(folder.path() + "/run.json") << "{\"format\": 99}";
  EXPECT_EQ(message_of([&] { load(folder.path()); }), "[report] run.json has format 99, this version reads 1");
  std::ofstream(folder.path() + "/run.json") << "{";
  EXPECT_NE(message_of([&] { load(folder.path()); }).find("cannot be understood"), std::string::npos);
}

}  // namespace
}  // namespace reprise::report
