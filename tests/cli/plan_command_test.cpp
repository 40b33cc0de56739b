// SPDX-License-Identifier: Apache-2.0
// `reprise plan`, `sweep` and `check`, run as programs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/tool.h"

namespace reprise::cli {
namespace {

using nlohmann::json;
using PlanCommand = CommandTest;

const std::string example = std::string(REPRISE_SOURCE_DIR) + "/examples/ten_nodes.json";

const std::vector<std::string> keys = {
    "feasible",       "budget_bytes", "peak_bytes", "layout_bytes", "min_budget_bytes", "min_budget_bound_bytes",
    "keep_all_bytes", "base_cost",    "cost",       "overhead",     "lower_bound",      "gap",
    "recomputed",     "paged_bytes",  "solver",     "plan_seconds"};

std::vector<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

TEST_F(PlanCommand, PrintsExactlyTheKeysOthersRelyOn) {
  Outcome run = tool("plan " + example + " --budget 60% --json 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  auto result = nlohmann::ordered_json::parse(run.output);
  EXPECT_EQ(keys_of(result), keys);
  EXPECT_EQ(result["feasible"], true);
  EXPECT_LE(result["peak_bytes"], result["budget_bytes"]);
  EXPECT_LE(result["layout_bytes"], result["budget_bytes"]);
  EXPECT_GE(result["cost"], result["lower_bound"]);
}

TEST_F(PlanCommand, ReadsBudgetsAsPeopleWriteThem) {
  auto budget = [](const std::string& text) {
    return json::parse(tool("plan " + example + " --json --budget '" + text + "' 2>/dev/null").output)["budget_bytes"];
  };
  EXPECT_EQ(budget("1KiB"), 1024);
  EXPECT_EQ(budget("2 KB"), 2000);
  EXPECT_EQ(budget("700"), 700);
  std::int64_t whole = json::parse(tool("plan " + example + " --json --budget 1GiB").output)["keep_all_bytes"];
  EXPECT_EQ(budget("50%"), whole / 2);
}

TEST_F(PlanCommand, NamesTheSmallestBudgetWithStatusThree) {
  Outcome run = tool("plan " + example + " --budget 1 --json 2>/dev/null");
  EXPECT_EQ(run.status, 3);
  auto result = nlohmann::ordered_json::parse(run.output);
  EXPECT_EQ(keys_of(result), keys);
  EXPECT_EQ(result["feasible"], false);
  EXPECT_EQ(result["cost"], nullptr);
  EXPECT_EQ(result["min_budget_bound_bytes"], result["min_budget_bytes"]);  // so few nodes are searched through
  std::string least = std::to_string(result["min_budget_bytes"].get<std::int64_t>());
  EXPECT_NE(complaint("plan " + example + " --budget 1").output.find(least + " bytes would do"), std::string::npos);
  EXPECT_EQ(tool("plan " + example + " --json --budget " + least + " 2>/dev/null").status, 0);
}

TEST_F(PlanCommand, RefusesForAProblemWhatOnlyModelsCanBeTold) {
  for (const std::string words : {"--batch 8", "--estimate", "--profile a", "--disk /tmp", "--freeze a", "--train a"}) {
    Outcome run = complaint("plan " + example + " --budget 60% " + words);
    EXPECT_EQ(run.status, 2) << words;
    EXPECT_TRUE(holds(run.output, "are for models and ONNX files")) << run.output;
  }
  EXPECT_TRUE(holds(complaint("plan " + example + " --budget 60% --loss mse").output, "are for ONNX files"));
}

TEST_F(PlanCommand, DoesNotWriteOverWhatItReads) {
  std::string problem = write("problem.json", R"({"nodes": [{"name": "a", "cost": 1, "bytes": 8, "inputs": []}]})");
  for (const std::string& outputs : {"-o " + problem, "--html " + problem, "-o " + in("p") + " --html " + in("p")})
    EXPECT_EQ(complaint("plan " + problem + " --budget 50 " + outputs).status, 1) << outputs;
  EXPECT_EQ(complaint("plan " + problem + " --budget 50 -o " + in("p")).status, 0);
}

TEST_F(PlanCommand, SaysThatAFolderIsNoFile) {
  for (const std::string verb : {"plan --budget 50 ", "check ", "pack "})
    EXPECT_NE(complaint(verb + in(".")).output.find("is a folder"), std::string::npos) << verb;
}

TEST_F(PlanCommand, SaysInOneLineWhatWasDecided) {
  Outcome run = tool("plan " + example + " --budget 60% 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.output.find("budget "), 0u) << run.output;
  EXPECT_NE(run.output.find("| time x"), std::string::npos) << run.output;
}

TEST_F(PlanCommand, WritesAPlanThatBothJudgesAccept) {
  std::string plan = in("plan.json");
  ASSERT_EQ(tool("plan " + example + " --budget 60% -o " + plan + " >/dev/null 2>&1").status, 0);
  Outcome checked = tool("check " + plan + " --json");
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_EQ(json::parse(checked.output), (json{{"ok", true}, {"why", ""}}));
  EXPECT_EQ(tool("check " + plan + " --problem " + example + " >/dev/null").status, 0);
  json saved = json::parse(std::ifstream(plan));
  for (const char* key : {"steps", "layout", "budget_bytes", "peak_bytes", "cost", "lower_bound", "problem"}) {
    EXPECT_TRUE(saved.contains(key)) << key;
  }
}

TEST_F(PlanCommand, FindsEveryFalseWordInAPlan) {
  std::string plan = in("plan.json");
  ASSERT_EQ(tool("plan " + example + " --budget 60% -o " + plan + " >/dev/null 2>&1").status, 0);
  const json good = json::parse(std::ifstream(plan));
  auto why = [&](auto change) {
    json wrong = good;
    change(wrong);
    Outcome run = tool("check --json " + write("wrong.json", wrong.dump()) + " 2>/dev/null");
    EXPECT_EQ(run.status, 1) << run.output;
    EXPECT_EQ(json::parse(run.output)["ok"], false);
    return json::parse(run.output)["why"].get<std::string>();
  };
  EXPECT_NE(why([](json& p) { p["peak_bytes"] = 1; }).find("peak_bytes is 1"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["cost"] = 1; }).find("cost is 1"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["lower_bound"] = 1e9; }).find("lower_bound"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["budget_bytes"] = 2; }).find("above the budget"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["steps"].erase(0); }).find("the number of a step"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["steps"][0][1] = "f2"; }).find("schedule: step 0"), std::string::npos);
  EXPECT_NE(why([](json& p) { p["layout"].erase(0); }).find("layout: "), std::string::npos);
  EXPECT_NE(why([](json& p) {
              for (json& row : p["layout"]) row["offset"] = 0;
            }).find("share memory"),
            std::string::npos);
}

TEST_F(PlanCommand, SweepsToACurveThatNeverRises) {
  Outcome run = tool("sweep " + example + " --points 6 --json 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  json list = json::parse(run.output);
  ASSERT_EQ(list.size(), 6u);
  for (std::size_t i = 1; i < list.size(); ++i) {
    EXPECT_EQ(list[i]["feasible"], true);
    EXPECT_LE(list[i]["cost"], list[i - 1]["cost"]);
    EXPECT_GE(list[i]["cost"], list[i]["lower_bound"]);
  }
  EXPECT_EQ(list.back()["overhead"], 0);
  std::string table = tool("sweep " + example + " --budgets 60%,100% 2>/dev/null").output;
  EXPECT_NE(table.find("60.0 %"), std::string::npos) << table;
}

TEST_F(PlanCommand, ComparesBudgetsByTheSameTimes) {
  auto base_cost = [&](const std::string& verb, const std::string& words) {
    Outcome run = tool(verb + " digits --batch 1 --json --profile " + in("times") + " " + words + " 2>/dev/null");
    nlohmann::json json = nlohmann::json::parse(run.output);
    return (json.is_array() ? json.back() : json).at("base_cost").get<double>();
  };
  const double cost = base_cost("plan", "--budget 100%");
  const std::string times = text_in(in("times")), page = " --points 0 -o " + in("page.html");
  EXPECT_GT(cost, 0);
  EXPECT_EQ(base_cost("plan", "--budget 95%"), cost);
  EXPECT_EQ(base_cost("sweep", "--budgets 100%"), cost);
  EXPECT_EQ(base_cost("report", "--budget 100%" + page), cost);
  EXPECT_EQ(base_cost("report", "--run 1 --budget 100%" + page), cost);
  EXPECT_EQ(text_in(in("times")), times);
}

TEST_F(PlanCommand, NamesTheSameSmallestBudgetWhateverTheTimes) {
  const std::string words = "plan digits --batch 1 --json --budget 1 2>/dev/null ";
  tool(words + "--profile " + in("times"));
  std::istringstream times(text_in(in("times")));
  std::ofstream others(in("others"));
  std::string line;
  for (int i = 0; std::getline(times, line); ++i)
    others << (i == 0 ? line : std::to_string(i * 7919 % 1000 + 1) + line.substr(line.find(' '))) << "\n";
  others.close();
  auto smallest = [&](const std::string& more) {
    return nlohmann::json::parse(tool(words + more).output).at("min_budget_bytes").get<std::int64_t>();
  };
  EXPECT_EQ(smallest("--profile " + in("others")), smallest("--estimate"));
}

TEST_F(PlanCommand, SearchesAsItIsTold) {
  std::string all = "plan " + example + " --budget 70% --seed 7 --threads 2 --json --output " + in("plan.json");
  Outcome run = tool(all + " --without exact,chain_dp 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  EXPECT_NE(json::parse(run.output)["solver"], "exact");
  EXPECT_TRUE(std::filesystem::exists(in("plan.json")));
}

TEST_F(PlanCommand, TellsWrongCommandsFromWrongFiles) {
  EXPECT_EQ(complaint("plan " + example).status, 2);
  EXPECT_EQ(complaint("plan --budget 1MB").status, 2);
  EXPECT_EQ(complaint("plan " + example + " --budget lots").status, 2);
  EXPECT_EQ(complaint("plan " + example + " --budget 1MB --solver magic").status, 2);
  EXPECT_EQ(complaint("plan /no/such/file --budget 1MB").status, 1);
  EXPECT_EQ(complaint("check /no/such/file").status, 1);
  Outcome run = complaint("plan " + write("bad.json", "{\"nodes\": [}") + " --budget 1MB");
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("line 1, column 12"), std::string::npos) << run.output;
}

TEST_F(PlanCommand, SaysThatAFileIsEmpty) {
  Outcome run = complaint("plan " + write("empty.json", "") + " --budget 1MB");
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.output.find("empty.json' is empty"), std::string::npos) << run.output;
}

TEST_F(PlanCommand, RefusesFilesItCannotWriteBeforeTheSearch) {
  std::string where = in("missing") + "/out";
  for (const std::string& verb : {"plan " + example + " --budget 70% -o ", "plan " + example + " --budget 70% --html ",
                                  "sweep " + example + " --svg ", "report " + example + " --budget 70% -o "}) {
    Outcome run = complaint(verb + where);
    EXPECT_EQ(run.status, 1) << verb;
    EXPECT_NE(run.output.find("there is no folder"), std::string::npos) << run.output;
  }
}

TEST_F(PlanCommand, ShowsBudgetsThatLookAlikeInBytes) {
  std::string problem =
      write("one.json", R"({"nodes": [{"name": "a", "cost": 1, "bytes": 1048576}], "outputs": ["a"]})");
  Outcome run = complaint("plan " + problem + " --budget 1048575");
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.output.find("no schedule fits 1048575 bytes: the smallest budget is 1.0 MiB"), std::string::npos)
      << run.output;
}

TEST_F(PlanCommand, SuggestsTheNearestWord) {
  Outcome run = complaint("plan " + example + " --buget 1MB");
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.output.find("did you mean '--budget'?"), std::string::npos) << run.output;
  run = complaint("swep " + example);
  EXPECT_EQ(run.status, 2);
  EXPECT_NE(run.output.find("did you mean 'sweep'?"), std::string::npos) << run.output;
}

TEST_F(PlanCommand, TeachesWithExamples) {
  for (const char* verb : {"plan", "sweep", "check"}) {
    Outcome run = tool(std::string(verb) + " --help");
    EXPECT_EQ(run.status, 0);
    EXPECT_NE(run.output.find(std::string("reprise ") + verb), std::string::npos) << run.output;
  }
}

TEST_F(PlanCommand, WritesProgressToStandardErrorOnly) {
  Outcome run = tool("plan " + example + " --budget 60% --json 2>/dev/null");
  EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1);
}

}  // namespace
}  // namespace reprise::cli
