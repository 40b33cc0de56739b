// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "message.h"
#include "report/example.h"
#include "temporary.h"

namespace reprise::report {
namespace {

using nlohmann::json;

const std::string evil = "</script><script>alert(1)</script>\"'<img src=x onerror=alert(2)> 层 🚀 \xff";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

std::string page_of(const Page& page) {
  TemporaryFolder folder;
  html(page, folder.path() + "/page.html");
  return text_of(folder.path() + "/page.html");
}

TEST(ReportPage, ShowsEveryLifeOfEveryValue) {
  PlanResult plan = plan_within(training_chain(20), 0.5);
  ASSERT_TRUE(plan);
  ASSERT_GT(plan.recomputed, 0);
  json data = data_of(page_of({.title = "a chain", .plan = &plan}));
  std::size_t lives_with_bytes = 0;
  for (const Placement& p : plan.layout) lives_with_bytes += p.bytes > 0;
  EXPECT_EQ(data["bars"]["value"].size(), lives_with_bytes);
  EXPECT_EQ(data["budget"], plan.budget);
  EXPECT_EQ(data["peak"], plan.peak);
  EXPECT_EQ(data["memory"].size(), data["groups"].size());
  EXPECT_EQ(data["times"].size(), data["moments"].get<std::size_t>() + 1);
  EXPECT_EQ(std::ranges::max(data["unlimited"]["total"].get<std::vector<std::int64_t>>()), plan.keep_all_peak);
  EXPECT_EQ(std::ranges::count_if(data["values"]["runs"].get<std::vector<int>>(), [](int n) { return n > 1; }),
            plan.recomputed);
}

TEST(ReportPage, LetsNoNameBecomeMarkup) {
  PlanResult plan = plan_within(training_chain(6, 1 << 20, evil), 0.6);
  ASSERT_TRUE(plan);
  std::string page = page_of({.title = evil, .plan = &plan, .settings = {{evil, evil}}});
  EXPECT_EQ(count(page, "<script"), 2u);  // the data and our own
  EXPECT_EQ(count(page, "</script"), 2u);
  EXPECT_EQ(count(page, "<img"), 0u);
  EXPECT_EQ(count(page, "onerror=alert(2)>"), 0u);
  EXPECT_EQ(count(page, "\xff"), 0u);
  json data = data_of(page);
  EXPECT_NE(data["values"]["name"].dump().find("onerror"), std::string::npos);  // there, as text
}

TEST(ReportPage, LoadsNothing) {
  PlanResult plan = plan_within(training_chain(6), 0.6);
  std::string page = page_of({.plan = &plan, .curve = {{100, 2, 1.5}, {200, 1.2, 1.1}, {300, 1, 1}}});
  for (const char* reference : {"http:", "https:", "@import", "src=", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(count(page, reference), 0u) << reference;
  EXPECT_EQ(count(page, "href="), 1u);  // the empty icon
  EXPECT_NE(page.find("default-src 'none'; script-src 'nonce-"), std::string::npos);
}

TEST(ReportPage, StaysSmallWithTwentyThousandValues) {
  Problem problem = training_chain(10'000, 4096, "a_rather_long_name_of_a_block_and_its_layer.");
  PlanResult plan;  // made by hand: planning this is not what is tested
  plan.feasible = true;
  plan.problem = std::make_shared<const Problem>(problem);
  plan.schedule = keep_all(problem);
  plan.layout = lives(problem, plan.schedule);
  std::int64_t top = 0;
  for (Placement& p : plan.layout) p.offset = top, top += p.bytes;
  plan.layout_bytes = plan.budget = top;
  plan.peak = plan.keep_all_peak = peak(problem, plan.schedule);
  plan.cost = plan.base_cost = plan.lower_bound = cost(problem, plan.schedule);
  plan.value_count = problem.value_count();
  std::string page = page_of({.plan = &plan});
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_EQ(data_of(page)["bars"]["value"].size(), plan.layout.size());
  Problem larger = training_chain(15'000, 4096, "x");
  plan.problem = std::make_shared<const Problem>(larger);
  plan.schedule = keep_all(larger);
  plan.layout = lives(larger, plan.schedule);
  page = page_of({.plan = &plan});
  EXPECT_LT(page.size(), 5u << 20);
  EXPECT_NE(page.find("smallest lives are not drawn one by one here"), std::string::npos);
}

TEST(ReportPage, SplitsThePeakAndTellsWhy) {
  PlanResult plan = plan_within(training_chain(20), 0.5);
  std::string page = page_of({.plan = &plan});
  for (const char* words : {"What the peak is made of", "<td>activations</td>", "<td>parameters</td>",
                            "Machine and settings", "recomputed, 2 runs", "that makes room where it is short"})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

TEST(ReportPage, DrawsTheTradeOffAndMarksItsKnee) {
  PlanResult plan = plan_within(training_chain(6), 0.7);
  std::vector<Point> curve = {{1 << 20, 2, 1.5}, {2 << 20, 1.1, 1.1}, {4 << 20, 1, 1}};
  std::string page = page_of({.plan = &plan, .curve = curve});
  EXPECT_NE(page.find("The knee is at 2.0 MiB: time x1.100."), std::string::npos);
  EXPECT_NE(page.find("1.0 MiB: time ×2.0000, at best ×1.5000"), std::string::npos);
  EXPECT_EQ(page_of({.plan = &plan}).find("What other budgets would cost"), std::string::npos);
}

TEST(ReportPage, RefusesWhatIsNoPlan) {
  PlanResult nothing = plan_within(training_chain(6), 0.01);
  EXPECT_NE(message_of([&] { html(nothing, "/dev/null"); }).find("[report] there is nothing to show: no schedule fits"),
            std::string::npos);
  EXPECT_EQ(message_of([&] { html(Page{}, "/dev/null"); }),
            "[report] the page has no plan, or one without its problem");
}

}  // namespace
}  // namespace reprise::report
