// SPDX-License-Identifier: Apache-2.0
// Every option that a help lists has its row here, with the test that shows what the option does.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/help.h"
#include "cli/tool.h"

namespace reprise::cli::flags_tests {
namespace {

using nlohmann::json;
using Flags = CommandTest;

struct Row {
  const char* verb;
  const char* options;  // separated by spaces
  const char* test;
};
constexpr Row rows[] = {
    {"train", "--budget", "TrainCommandTest.ShowsWhatItWillDoAndStopsThere"},
    {"train", "--dry-run --epochs --steps", "TrainCommandTest.ShowsWhatItWillDoAndStopsThere"},
    {"train", "--data --data-kind", "TrainCommandTest.TakesTheUsersData"},
    {"train", "--optimizer --lr --schedule --warmup --clip-norm --clip-value --seed --accumulate --check-finite",
     "TrainCommandTest.TakesEveryWordAboutLearning"},
    {"train", "--threads --batch", "TrainCommandTest.TakesEveryWordAboutLearning"},
    {"train", "--evaluate-every --validation --validate-samples --patience",
     "TrainCommandTest.EvaluatesAsOftenAsAskedAndStopsEarly"},
    {"train", "--save --save-every --keep --metrics", "TrainCommandTest.WritesMetricsAndARunFolder"},
    {"train", "--report", "TrainCommandTest.WritesAPageAboutTheRun"},
    {"train", "--resume", "TrainCommandTest.GoesOnBitForBit"},
    {"train", "--weights-in --weights-out --freeze", "TrainCommandTest.TakesWeightsInAndOut"},
    {"train", "--profile --estimate", "TrainCommandTest.KeepsTimesInAProfile"},
    {"train", "--time-limit", "TrainCommandTest.SearchesForAPlanAsLongAsItMay"},
    {"train", "--quiet --json", "TrainCommandTest.SaysNothingWhereItIsToBeQuiet"},
    {"train", "--classes --train --loss --loss-output --shape --out", "OnnxCommand.TrainsANewHeadAlone"},
    {"grad", "--loss --out --inputs", "OnnxCommand.GradWritesTheLossAndAGradientForEveryParameter"},
    {"grad", "--budget", "OnnxCommand.GradHasTheSameBitsWithinLessMemoryAndSaysWhenNothingFits"},
    {"grad", "--train --freeze --threads --seed --time-limit --loss-output --shape --classes",
     "OnnxCommand.GradTakesEveryWord"},
    {"grad", "--json", "OnnxCommand.GradWritesTheLossAndAGradientForEveryParameter"},
    {"inspect", "--batch --optimizer --loss --loss-output --shape --train --freeze --classes --json",
     "OnnxCommand.InspectShowsWhatStandsInAFileAndWhatTrains"},
    {"bench", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"plan", "--loss --loss-output --train --freeze --classes --shape", "OnnxCommand.PlanShowsWhatFreezingSaves"},
    {"sweep", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"report", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"bench", "--steps --budget --json", "BenchCommand.PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget"},
    {"bench", "--profile --estimate", "BenchCommand.KeepsTimesInAProfile"},
    {"bench", "--init --gradients", "BenchCommand.WritesGradientsAndStartsFromWeights"},
    {"bench", "--seed --lr --optimizer --batch --threads --time-limit", "BenchCommand.TakesEveryWordAboutTheStep"},
    {"plan", "--budget --json", "PlanCommand.ReadsBudgetsAsPeopleWriteThem"},
    {"plan", "--output", "PlanCommand.SearchesAsItIsTold"},
    {"plan", "--html --rows", "ReportCommand.ComesWithAPlan"},
    {"plan", "--solver --without --time-limit --iterations --seed --threads --batch --estimate", "Flags.PlanSearches"},
    {"sweep", "--points --budgets --json", "PlanCommand.SweepsToACurveThatNeverRises"},
    {"sweep", "--html --svg", "ReportCommand.ComesWithASweepWhoseKneeIsMarked"},
    {"sweep", "--solver --without --time-limit --iterations --seed --threads --batch --estimate",
     "Flags.SweepSearches"},
    {"report", "--title --output --svg --trace", "ReportCommand.ShowsASavedPlanInEveryForm"},
    {"report", "--budget --points --json", "ReportCommand.PlansWhatIsNoPlanYet"},
    {"report", "--metrics", "ReportCommand.ShowsARunWithItsLosses"},
    {"report", "--run", "ReportCommand.RunsAModelAndShowsItsTimes"},
    {"report", "--solver --without --time-limit --iterations --seed --threads --batch --estimate",
     "Flags.ReportSearches"},
    {"check", "--json --problem", "PlanCommand.WritesAPlanThatBothJudgesAccept"},
    {"pack", "--json", "PackCommandTest.PrintsOneJsonObjectWithTheKeysOthersRelyOn"},
    {"pack", "--output", "PackCommandTest.WritesTheRowsWithTheirOffsets"},
    {"pack", "--capacity --align --time-limit", "PackCommandTest.ReadsCapacitiesAsPeopleWriteThemAndAlignments"},
    {"models", "--json", "BenchCommand.ListsTheModels"},
    {"ops", "--json", "OpsCommandTest.PrintsOneJsonObjectWithWhatIsKnownOfEachOp"},
    {"version", "--json", "CommandLine.TellsItsVersionAsJson"},
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The text of the test as it stands in tests/cli, with the helpers above it; empty if there is none of that name.
std::string body_of(const std::string& test) {
  std::string suite = test.substr(0, test.find('.')), name = test.substr(suite.size() + 1);
  for (const auto& file : std::filesystem::directory_iterator(REPRISE_SOURCE_DIR "/tests/cli")) {
    std::string text = text_in(file.path().string());
    std::size_t begin = text.find("(" + suite + ", " + name + ") {");
    if (begin != std::string::npos) return text.substr(begin, text.find("\n}\n", begin) - begin);
  }
  return {};
}

TEST(FlagTable, HasEveryOptionOfEveryHelpAndNoOther) {
  std::set<std::string> listed, shown;
  for (const std::string& verb : listed_verbs())
    for (const std::string& option : listed_options(verb)) listed.insert(verb + " " + option);
  for (const Row& row : rows)
    for (const std::string& option : words(row.options)) shown.insert(std::string(row.verb) + " " + option);
  EXPECT_EQ(listed, shown);
}

TEST(FlagTable, NamesTestsThatUseTheOption) {
  for (const Row& row : rows) {
    std::string body = body_of(row.test);
    EXPECT_FALSE(body.empty()) << row.test;
    for (const std::string& option : words(row.options)) {
      bool is_used = holds(body, option) || (option == "--output" && holds(body, " -o "));
      EXPECT_TRUE(is_used) << row.test << " does not use " << option;
    }
  }
}

const std::string example = std::string(REPRISE_SOURCE_DIR) + "/examples/ten_nodes.json";

// What the page of a verb says of how it searched.
std::string setting(const std::string& path, const std::string& name) {
  std::string page = text_in(path), head = "<th scope=\"row\">" + name + "</th><td>";
  std::size_t begin = page.find(head);
  return begin == std::string::npos
             ? ""
             : page.substr(begin + head.size(), page.find("</td>", begin + head.size()) - begin - head.size());
}

// `page` is the command up to the name of the page; all of its searches are told the same things.
void expect_searches(const std::string& page, const std::string& path) {
  auto run = [&](const std::string& options) {
    EXPECT_EQ(tool(page + path + " " + options + " >/dev/null 2>&1").status, 0) << page << path << " " << options;
  };
  run("--iterations 50 --seed 7 --threads 2 --solver keep_all,segments,descend --without descend");
  EXPECT_EQ(setting(path, "seed"), "7");
  EXPECT_EQ(setting(path, "search"), "50 moves");
  EXPECT_EQ(setting(path, "threads"), "2");
  std::string solver = setting(path, "solver");
  EXPECT_TRUE(solver == "keep_all" || solver == "segments") << solver;
  run("--time-limit 1.5");
  EXPECT_EQ(setting(path, "search"), "1.5 s");
}

void expect_models(const std::string& page, const std::string& path) {
  EXPECT_EQ(tool(page + path + " --batch 2 --estimate --time-limit 0.2 >/dev/null 2>&1").status, 0);
  EXPECT_EQ(setting(path, "batch"), "2");
  EXPECT_EQ(setting(path, "times of ops"), "estimated");
}

TEST_F(Flags, PlanSearches) {  // --solver --without --time-limit --iterations --seed --threads
  expect_searches("plan " + example + " --budget 90% --html ", in("p.html"));
  expect_models("plan digits --budget 95% --html ", in("m.html"));  // --batch --estimate
  const std::string plan = "plan digits --batch 8 --estimate --budget 80% --json 2>/dev/null ";
  EXPECT_EQ(tool(plan).status, 0);
  EXPECT_EQ(tool(plan + "--time-limit 0.000001").status, 3) << "there is no time to find anything";
  EXPECT_EQ(tool(plan + "--solver keep_all").status, 3) << "it needs all the memory";
}

TEST_F(Flags, SweepSearches) {  // --solver --without --time-limit --iterations --seed --threads
  expect_searches("sweep " + example + " --points 3 --html ", in("p.html"));
  expect_models("sweep digits --points 2 --html ", in("m.html"));  // --batch --estimate
}

TEST_F(Flags, ReportSearches) {  // --solver --without --time-limit --iterations --seed --threads
  expect_searches("report " + example + " --budget 90% --points 0 -o ", in("p.html"));
  expect_models("report digits --budget 95% --points 0 -o ", in("m.html"));  // --batch --estimate
}

}  // namespace
}  // namespace reprise::cli::flags_tests
