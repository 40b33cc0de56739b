// SPDX-License-Identifier: Apache-2.0
// `reprise report`, and the pages and pictures of `plan` and `sweep`.
#include <nlohmann/json.hpp>

#include "cli/tool.h"

namespace reprise::cli::report_command_tests {
namespace {

using nlohmann::json;
using ReportCommand = CommandTest;

const std::string example = std::string(REPRISE_SOURCE_DIR) + "/examples/ten_nodes.json";

bool is_page(const std::string& path) {
  std::string text = text_in(path);
  return text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n");
}

TEST_F(ReportCommand, ShowsASavedPlanInEveryForm) {
  ASSERT_EQ(tool("plan " + example + " --budget 70% -o " + in("plan.json") + " >/dev/null 2>&1").status, 0);
  Outcome run = tool("report " + in("plan.json") + " --points 5 --iterations 100 --title 'ten <nodes>' -o " +
                     in("p.html") + " --svg " + in("p.svg") + " --trace " + in("t.json") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find("budget 217 B | peak "), 0u) << run.output;
  EXPECT_TRUE(is_page(in("p.html")));
  EXPECT_NE(text_in(in("p.html")).find("<h1>ten &lt;nodes&gt;</h1>"), std::string::npos);
  EXPECT_NE(text_in(in("p.html")).find("What other budgets would cost"), std::string::npos);
  EXPECT_TRUE(text_in(in("p.svg")).starts_with("<svg "));
  EXPECT_GT(json::parse(text_in(in("t.json")))["traceEvents"].size(), 10u);
}

TEST_F(ReportCommand, PlansWhatIsNoPlanYet) {
  Outcome run = tool("report " + example + " --budget 70% --points 0 --json -o " + in("p.html") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  json result = json::parse(run.output);
  EXPECT_EQ(result["feasible"], true);
  EXPECT_EQ(result["report"], in("p.html"));
  EXPECT_TRUE(is_page(in("p.html")));
  EXPECT_EQ(complaint("report " + example + " --budget 1 -o " + in("q.html")).status, 3);
  Outcome refused = complaint("report " + example);
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("give the --budget to plan it for"), std::string::npos) << refused.output;
}

TEST_F(ReportCommand, RunsAModelAndShowsItsTimes) {
  Outcome run = tool("report digits --batch 2 --estimate --run 1 --budget 100% --points 0 --iterations 50 -o " +
                     in("p.html") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0) << run.output;
  std::string page = text_in(in("p.html"));
  EXPECT_NE(page.find("Times were measured in a run."), std::string::npos);
  EXPECT_NE(page.find("\"seconds\":true"), std::string::npos);
  EXPECT_NE(page.find("<td>parameters</td>"), std::string::npos);
  EXPECT_EQ(complaint("report " + example + " --run 1 --budget 90%").status, 2);
  EXPECT_EQ(complaint("report digits --batch 2 --estimate --run 1 --budget 1KiB --iterations 50").status, 3);
}

TEST_F(ReportCommand, ShowsARunWithItsLosses) {
  ASSERT_EQ(tool("plan " + example + " --budget 70% -o " + in("plan.json") + " >/dev/null 2>&1").status, 0);
  write("metrics.jsonl", "{\"step\": 1, \"loss\": 2.5, \"lr\": 0.1}\n{\"step\": 2, \"loss\": 1.25, \"lr\": 0.1}\n");
  Outcome run = tool("report " + in("") + " --points 0 -o " + in("p.html") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(text_in(in("p.html")).find("2 steps; last loss 1.25"), std::string::npos);
  run = tool("report " + in("plan.json") + " --points 0 --metrics " + in("metrics.jsonl") + " -o " + in("q.html"));
  EXPECT_NE(text_in(in("q.html")).find("Learning rate by step"), std::string::npos);
  EXPECT_EQ(complaint("report " + in("plan.json") + " --metrics /no/such/file -o " + in("r.html")).status, 1);
  std::filesystem::create_directories(in("empty"));
  EXPECT_NE(complaint("report " + in("empty")).output.find("holds no plan.json"), std::string::npos);
}

TEST_F(ReportCommand, ComesWithAPlan) {
  Outcome run = tool("plan " + example + " --budget 70% --html " + in("p.html") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_TRUE(is_page(in("p.html")));
  EXPECT_NE(run.output.find("largest recomputed"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("largest kept"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("while 'b5' runs: that makes room where it is short"), std::string::npos) << run.output;
  run = tool("plan " + example + " --budget 70% --rows 0 2>/dev/null");
  EXPECT_EQ(run.output.find("largest kept"), std::string::npos) << run.output;
}

TEST_F(ReportCommand, ComesWithASweepWhoseKneeIsMarked) {
  Outcome run =
      tool("sweep " + example + " --points 9 --html " + in("p.html") + " --svg " + in("c.svg") + " 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(run.output.find("<- the knee"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("The knee is at "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("K the knee"), std::string::npos) << run.output;
  EXPECT_TRUE(is_page(in("p.html")));
  EXPECT_TRUE(text_in(in("c.svg")).starts_with("<svg "));
}

}  // namespace
}  // namespace reprise::cli::report_command_tests
