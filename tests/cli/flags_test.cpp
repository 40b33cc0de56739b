// SPDX-License-Identifier: Apache-2.0
// Every option that a help lists has its row here, with the test that shows what the option does.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

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
    {"grad", "--accumulate", "OnnxCommand.GradWorksThroughTheBatchInParts"},
    {"grad", "--json", "OnnxCommand.GradWritesTheLossAndAGradientForEveryParameter"},
    {"inspect", "--batch --optimizer --loss --loss-output --shape --train --freeze --classes --json",
     "OnnxCommand.InspectShowsWhatStandsInAFileAndWhatTrains"},
    {"inspect", "--budget", "OnnxCommand.AFileOfManyNodesIsRefusedWhereNoBudgetIsGivenInBytes"},
    {"bench", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"plan", "--loss --loss-output --train --freeze --classes --shape", "OnnxCommand.PlanShowsWhatFreezingSaves"},
    {"sweep", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"report", "--loss --loss-output --train --freeze --classes --shape",
     "OnnxCommand.SweepsAndReportsAndRunsLikeAnyModel"},
    {"train", "--disk", "DiskCommand.TrainsWithTheSameBitsWhereNothingFitsWithoutADisk"},
    {"train", "--iterations", "Flags.TrainAndBenchSearch"},
    {"bench", "--disk", "DiskCommand.BenchesPlansSweepsAndReports"},
    {"bench", "--iterations", "Flags.TrainAndBenchSearch"},
    {"plan", "--disk", "DiskCommand.BenchesPlansSweepsAndReports"},
    {"sweep", "--disk", "DiskCommand.BenchesPlansSweepsAndReports"},
    {"report", "--disk", "DiskCommand.BenchesPlansSweepsAndReports"},
    {"bench", "--steps --budget --json", "BenchCommand.PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget"},
    {"bench", "--profile --estimate", "BenchCommand.KeepsTimesInAProfile"},
    {"bench", "--exact", "BenchCommand.ExactGradientsAreThoseWithoutRounding"},
    {"bench", "--init --gradients", "BenchCommand.WritesGradientsAndStartsFromWeights"},
    {"bench", "--seed --lr --optimizer --batch --threads", "BenchCommand.TakesEveryWordAboutTheStep"},
    {"bench", "--time-limit", "BenchCommand.ProvesAsMuchAsThereIsTimeFor"},
    {"plan", "--profile", "PlanCommand.ComparesBudgetsByTheSameTimes"},
    {"sweep", "--profile", "PlanCommand.ComparesBudgetsByTheSameTimes"},
    {"report", "--profile", "PlanCommand.ComparesBudgetsByTheSameTimes"},
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
    {"pack", "--capacity --align", "PackCommandTest.ReadsCapacitiesAsPeopleWriteThemAndAlignments"},
    {"pack", "--time-limit", "PackCommandTest.SearchesAsLongAsItMay"},
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

// A step of ten layers and its way back, of which a search finds more the longer it goes on, and not always the same.
const char* const ten_layers = R"({"nodes": [
{"name": "n0", "cost": 5, "bytes": 37, "inputs": []}, {"name": "n1", "cost": 4, "bytes": 32, "inputs": ["n0"]},
{"name": "n2", "cost": 7, "bytes": 7, "inputs": ["n1"]}, {"name": "n3", "cost": 14, "bytes": 39, "inputs": ["n0", "n1"]},
{"name": "n4", "cost": 9, "bytes": 47, "inputs": ["n3"]}, {"name": "n5", "cost": 4, "bytes": 21, "inputs": ["n4"]},
{"name": "n6", "cost": 1, "bytes": 42, "inputs": ["n0"]},
{"name": "n7", "cost": 7, "bytes": 28, "inputs": ["n0", "n3", "n5"]},
{"name": "n8", "cost": 16, "bytes": 36, "inputs": ["n0", "n3", "n7"]},
{"name": "n9", "cost": 8, "bytes": 44, "inputs": ["n5"]}, {"name": "b9", "cost": 8, "bytes": 15, "inputs": ["n9"]},
{"name": "b8", "cost": 10, "bytes": 1, "inputs": ["n8", "b9"]}, {"name": "b7", "cost": 14, "bytes": 18, "inputs": ["n7", "b8"]},
{"name": "b6", "cost": 4, "bytes": 6, "inputs": ["n6", "b7"]}, {"name": "b5", "cost": 10, "bytes": 4, "inputs": ["n5", "b6"]},
{"name": "b4", "cost": 11, "bytes": 17, "inputs": ["n4", "b5"]}, {"name": "b3", "cost": 14, "bytes": 17, "inputs": ["n3", "b4"]},
{"name": "b2", "cost": 7, "bytes": 10, "inputs": ["n2", "b3"]}, {"name": "b1", "cost": 10, "bytes": 19, "inputs": ["n1", "b2"]},
{"name": "b0", "cost": 16, "bytes": 17, "inputs": ["n0", "b1"]}], "outputs": ["b0"]})";

// The cost and the solver that a verb names, or those of its first plan; nothing where nothing fits.
std::string found(const std::string& command) {
  Outcome run = tool(command + " --json 2>/dev/null");
  if (run.output.empty()) return {};
  json result = json::parse(run.output);
  if (result.is_array()) result = result[0];
  if (result["cost"].is_null()) return {};
  return result["cost"].dump() + " by " + result["solver"].get<std::string>();
}

// `verb` plans the ten layers, without the solver that finds the best in any case.
void expect_searches(const std::string& verb) {
  const std::string command = verb + " --without exact ";
  std::set<std::string> by_seed;
  for (int seed = 1; seed <= 6; ++seed)
    by_seed.insert(found(command + "--iterations 300 --seed " + std::to_string(seed)));
  EXPECT_GT(by_seed.size(), 1u);
  EXPECT_EQ(found(command + "--iterations 300 --seed 3"), found(command + "--iterations 300 --seed 3"));
  EXPECT_NE(found(command + "--iterations 300"), found(command + "--iterations 1"));
  EXPECT_TRUE(found(verb + " --iterations 10 --solver keep_all,min_cut").ends_with(" by min_cut"));
  EXPECT_FALSE(found(verb + " --iterations 300 --without exact,order_search").ends_with(" by order_search"));
  EXPECT_EQ(found(verb + " --time-limit 30"), found(verb));
  EXPECT_NE(found(verb + " --time-limit 0.000001"), found(verb));
}

// Threads whose stacks are larger than all the memory there may be cannot be started.
void expect_threads(const std::string& verb) {
#ifndef __SANITIZE_ADDRESS__  // which takes more memory than that by itself
  auto status = [&](const char* count) {
    return shell("ulimit -s 4000000; ulimit -v 3000000; " + std::string(REPRISE_TOOL) + " " + verb +
                 " --iterations 10 --threads " + count + " >/dev/null 2>&1")
        .status;
  };
  EXPECT_EQ(status("1"), 0) << verb;
  EXPECT_EQ(status("2"), 1) << verb;
#endif
}

// `page` is the command up to the name of the page.
void expect_told(const std::string& page, const std::string& path) {
  auto run = [&](const std::string& options) {
    EXPECT_EQ(tool(page + path + " " + options + " >/dev/null 2>&1").status, 0) << page << path << " " << options;
  };
  run("--iterations 50 --seed 7 --threads 2 --without exact");
  EXPECT_EQ(setting(path, "seed"), "7");
  EXPECT_EQ(setting(path, "search"), "50 moves");
  EXPECT_EQ(setting(path, "threads"), "2");
  run("--iterations 50");
  EXPECT_EQ(setting(path, "threads"), "1");
  run("--time-limit 9");
  EXPECT_EQ(setting(path, "search"), "9 s");
  EXPECT_EQ(setting(path, "threads"), std::thread::hardware_concurrency() > 1 ? "2" : "1");
}

void expect_models(const std::string& page, const std::string& path) {
  EXPECT_EQ(tool(page + path + " --batch 2 --estimate --iterations 10 >/dev/null 2>&1").status, 0);
  EXPECT_EQ(setting(path, "batch"), "2");
  EXPECT_EQ(setting(path, "times of ops"), "estimated");
}

TEST_F(Flags, PlanSearches) {  // --solver --without --time-limit --iterations --seed
  std::string plan = "plan " + write("ten.json", ten_layers) + " --budget 45%";
  expect_searches(plan);
  expect_threads(plan);  // --threads
  expect_told(plan + " --html ", in("p.html"));
  expect_models("plan digits --budget 95% --html ", in("m.html"));  // --batch --estimate
}

TEST_F(Flags, SweepSearches) {  // --solver --without --time-limit --iterations --seed
  std::string sweep = "sweep " + write("ten.json", ten_layers) + " --budgets 45%";
  expect_searches(sweep);
  expect_threads(sweep);  // --threads
  expect_told(sweep + " --html ", in("p.html"));
  expect_models("sweep digits --points 2 --html ", in("m.html"));  // --batch --estimate
}

TEST_F(Flags, ReportSearches) {  // --solver --without --time-limit --iterations --seed
  std::string report = "report " + write("ten.json", ten_layers) + " --budget 45% --points 0 -o ";
  expect_searches(report + in("q.html"));
  expect_threads(report + in("q.html"));  // --threads
  expect_told(report, in("p.html"));
  expect_models("report digits --budget 95% --points 0 -o ", in("m.html"));  // --batch --estimate
}

TEST_F(Flags, TrainAndBenchSearch) {
  const std::string step = " digits --batch 64 --estimate --iterations ";
  auto overhead = [&](const char* moves) {
    Outcome run = tool("train" + step + moves + " --budget 45% --validation 0 --dry-run --json 2>/dev/null");
    return run.status == 0 ? json::parse(run.output)["overhead"].get<double>() : 0;
  };
  EXPECT_GT(overhead("1"), overhead("3000"));
  auto summary = [&](const char* moves) {
    std::string output = tool("bench" + step + moves + " --budget 52% --steps 1 2>/dev/null").output;
    return output.substr(0, output.find('\n'));
  };
  EXPECT_NE(summary("1"), summary("3000"));
  EXPECT_EQ(summary("200"), summary("200"));
}

}  // namespace
}  // namespace reprise::cli::flags_tests
