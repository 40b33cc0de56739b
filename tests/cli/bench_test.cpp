// SPDX-License-Identifier: Apache-2.0
// `reprise bench`, `models`, and `plan` of a model, run as programs.
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "reprise/models.h"

namespace reprise::cli {
namespace {

using nlohmann::json;
using BenchCommand = CommandTest;

const std::string small_gpt = "gpt4s --batch 16 --estimate --time-limit 2 ";

TEST_F(BenchCommand, PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget) {
  Outcome run = tool("bench " + small_gpt + "--steps 2 --budget 70% --json 2>/dev/null");
  ASSERT_EQ(run.status, 0);
  json r = json::parse(run.output);
  for (const char* key : {"model", "steps", "losses", "step_seconds", "budget_bytes", "planned_peak_bytes",
                          "arena_bytes", "measured_peak_bytes", "rss_peak_bytes", "recompute_seconds_share", "params"})
    EXPECT_TRUE(r.contains(key)) << key;
  EXPECT_EQ(r["losses"].size(), 2u);
  EXPECT_EQ(r["params"], 818176);
  EXPECT_LE(r["arena_bytes"], r["budget_bytes"]);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
  EXPECT_GT(r["recompute_seconds_share"], 0.0);
}

TEST_F(BenchCommand, GivesTheSameLossesWithinAnyBudget) {
  auto losses = [](const std::string& budget) {
    return json::parse(
        tool("bench " + small_gpt + "--steps 3 --json --budget " + budget + " 2>/dev/null").output)["losses"];
  };
  EXPECT_EQ(losses("100%"), losses("70%"));
}

TEST_F(BenchCommand, NamesTheSmallestBudgetWhenNothingFits) {
  Outcome run = complaint("bench " + small_gpt + "--budget 1MiB");
  EXPECT_EQ(run.status, 3);
  EXPECT_NE(run.output.find("no schedule fits 1.0 MiB: the smallest budget is "), std::string::npos) << run.output;
}

TEST_F(BenchCommand, KeepsTimesInAProfile) {
  std::string profile = in("profile");
  EXPECT_EQ(tool("bench gpt4s --batch 1 --steps 1 --profile " + profile + " >/dev/null 2>&1").status, 0);
  std::ifstream file(profile);
  std::string line;
  EXPECT_TRUE(std::getline(file, line));
  EXPECT_EQ(line, "reprise profile 1");
}

// The gradients of one run are the weights of the next, which is as good a test of both folders as any.
TEST_F(BenchCommand, WritesGradientsAndStartsFromWeights) {
  std::string options = "bench gpt4s --batch 1 --estimate --steps 1 --seed 3 --threads 1 --json ";
  Outcome first = tool(options + "--lr 0.5 --gradients " + in("g") + " 2>/dev/null");
  ASSERT_EQ(first.status, 0);
  json manifest = json::array();
  for (const nn::Named& p : built_in_model("gpt4s").parameters)
    manifest.push_back({{"kind", "param"},
                        {"name", p.name},
                        {"shape", p.parameter.type().shape.sizes()},
                        {"dtype", "float32"},
                        {"file", p.name + ".bin"}});
  std::ofstream(in("g/manifest.json")) << manifest.dump();
  Outcome second = tool(options + "--init " + in("g") + " 2>/dev/null");
  ASSERT_EQ(second.status, 0);
  EXPECT_NE(json::parse(first.output)["losses"], json::parse(second.output)["losses"]);
  EXPECT_EQ(json::parse(first.output)["losses"], json::parse(tool(options + "2>/dev/null").output)["losses"]);
}

TEST_F(BenchCommand, RefusesWhatThereIsNot) {
  EXPECT_NE(complaint("bench gpt5").output.find("there is no model 'gpt5': choose from mlp16"), std::string::npos);
  EXPECT_EQ(complaint("bench gpt5").status, 1);
  EXPECT_NE(complaint("bench gpt4s --optimizer newton").output.find("choose from sgd, momentum, adam"),
            std::string::npos);
}

TEST_F(BenchCommand, ListsTheModels) {
  json r = json::parse(tool("models --json").output);
  EXPECT_EQ(r["models"].size(), built_in_models().size());
  EXPECT_NE(tool("models").output.find("resnet50"), std::string::npos);
}

TEST_F(BenchCommand, PlansAModelWithoutTrainingIt) {
  Outcome run = tool("plan " + small_gpt + "--budget 70% --json 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  json r = json::parse(run.output);
  EXPECT_EQ(r["feasible"], true);
  EXPECT_GT(r["recomputed"], 0);
  EXPECT_EQ(complaint("plan " + small_gpt + "--budget 1MiB").status, 3);
}

}  // namespace
}  // namespace reprise::cli
