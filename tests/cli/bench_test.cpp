// SPDX-License-Identifier: Apache-2.0
// `reprise bench`, `models`, and `plan` of a model, run as programs.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "reprise/models.h"

namespace reprise::cli {
namespace {

using nlohmann::json;
using BenchCommand = CommandTest;

const std::string small_model = "digits --batch 16 --estimate --iterations 20 ";

TEST_F(BenchCommand, PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget) {
  Outcome run = tool("bench " + small_model + "--steps 2 --budget 60% --json 2>/dev/null");
  ASSERT_EQ(run.status, 0);
  json r = json::parse(run.output);
  for (const char* key : {"model", "steps", "losses", "step_seconds", "budget_bytes", "planned_peak_bytes",
                          "arena_bytes", "measured_peak_bytes", "rss_peak_bytes", "recompute_seconds_share", "params"})
    EXPECT_TRUE(r.contains(key)) << key;
  EXPECT_EQ(r["losses"].size(), 2u);
  EXPECT_EQ(r["params"], built_in_model("digits").parameter_count());
  EXPECT_LE(r["arena_bytes"], r["budget_bytes"]);
  EXPECT_EQ(r["arena_bytes"], r["planned_peak_bytes"]);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
  EXPECT_GT(r["recompute_seconds_share"], 0.0);
}

TEST_F(BenchCommand, GivesTheSameLossesWithinAnyBudget) {
  auto losses = [](const std::string& budget) {
    return json::parse(
        tool("bench " + small_model + "--steps 3 --json --budget " + budget + " 2>/dev/null").output)["losses"];
  };
  EXPECT_EQ(losses("100%"), losses("60%"));
}

TEST_F(BenchCommand, NamesTheSmallestBudgetWhenNothingFits) {
  Outcome run = complaint("bench " + small_model + "--budget 100KiB");
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(holds(run.output, "no schedule fits 100.0 KiB: the smallest budget is ")) << run.output;
  json refusal = json::parse(tool("bench " + small_model + "--budget 100KiB --json 2>/dev/null").output);
  EXPECT_EQ(refusal["feasible"], false);
  EXPECT_TRUE(holds(run.output, refusal["min_budget_bytes"].dump() + " bytes")) << run.output;
  EXPECT_TRUE(holds(complaint("bench " + small_model + "--budget 0").output, "no schedule fits 0 B: "));
}

// With times that differ from run to run, and however short the search.
TEST_F(BenchCommand, RefusesAByteLessThanTheSmallestBudgetThatIsNamed) {
  json plan = json::parse(tool("plan digits --batch 16 --budget 60% --json 2>/dev/null").output);
  std::int64_t smallest = plan["min_budget_bytes"];
  auto status = [](const std::string& verb, std::int64_t budget) {
    return tool(verb + " digits --batch 16 --json --budget " + std::to_string(budget) + " >/dev/null 2>&1").status;
  };
  for (const std::string verb : {"plan", "bench --steps 1 --time-limit 1", "bench --steps 1 --time-limit 0.01"}) {
    EXPECT_EQ(status(verb, smallest), 0) << verb;
    EXPECT_EQ(status(verb, smallest - 1), 3) << verb;
  }
}

TEST_F(BenchCommand, KeepsTimesInAProfile) {
  const std::string run = "bench digits --batch 1 --steps 1 --iterations 20 >/dev/null 2>&1 --profile ";
  EXPECT_EQ(tool(run + in("profile")).status, 0);
  EXPECT_TRUE(text_in(in("profile")).starts_with("reprise profile 1\n"));
  EXPECT_GT(text_in(in("profile")).size(), 100u);
  EXPECT_EQ(tool(run + in("none") + " --estimate").status, 0);
  EXPECT_EQ(text_in(in("none")), "reprise profile 1\n");
}

// The gradients of one run are the weights of the next, which is as good a test of both folders as any.
TEST_F(BenchCommand, WritesGradientsAndStartsFromWeights) {
  std::string options = "bench digits --batch 1 --estimate --steps 1 --seed 3 --threads 1 --iterations 20 --json ";
  Outcome first = tool(options + "--gradients " + in("g") + " 2>/dev/null");
  ASSERT_EQ(first.status, 0);
  json manifest = json::array();
  for (const nn::Named& p : built_in_model("digits").parameters)
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

TEST_F(BenchCommand, ExactGradientsAreThoseWithoutRounding) {
  const std::string run = "bench digits --batch 2 --estimate --steps 1 --json 2>/dev/null --gradients ";
  ASSERT_EQ(tool(run + in("f32")).status, 0);
  ASSERT_EQ(tool(run + in("f64") + " --exact").status, 0);
  for (const nn::Named& p : built_in_model("digits").parameters) {
    if (!p.parameter.trainable()) continue;
    std::string rounded = text_in(in("f32/" + p.name + ".bin")), exact = text_in(in("f64/" + p.name + ".bin"));
    auto n = static_cast<std::size_t>(p.parameter.type().elements());
    ASSERT_EQ(rounded.size(), n * sizeof(float));
    ASSERT_EQ(exact.size(), n * sizeof(double));
    std::vector<float> a(n);
    std::vector<double> b(n);
    std::memcpy(a.data(), rounded.data(), rounded.size());
    std::memcpy(b.data(), exact.data(), exact.size());
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(a[i], b[i], 1e-3 * (1 + std::abs(b[i]))) << p.name;
  }
}

TEST_F(BenchCommand, ExactLossesFollowTheUpdates) {
  json r = json::parse(tool("bench digits --batch 16 --estimate --steps 4 --json --exact 2>/dev/null").output);
  ASSERT_EQ(r["exact_losses"].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    double rounded = r["losses"][i], exact = r["exact_losses"][i];
    EXPECT_NEAR(rounded, exact, 1e-4 * exact);
    EXPECT_NE(rounded, exact);
    EXPECT_LT(exact, i == 0 ? INFINITY : r["exact_losses"][i - 1].get<double>());
  }
}

TEST_F(BenchCommand, TakesEveryWordAboutTheStep) {
  auto losses = [](const std::string& options) {
    const std::string run = "bench digits --estimate --threads 1 --json 2>/dev/null ";
    return json::parse(tool_once(run + options).output)["losses"];
  };
  for (const char* count : {"1", "2", "3"})
    EXPECT_EQ(json::parse(tool(std::string("bench digits --batch 1 --steps 1 --estimate --json --threads ") + count +
                               " 2>/dev/null")
                              .output)["threads"]
                  .dump(),
              count);
  const std::string plain = "--batch 4 --steps 3 ";
  EXPECT_EQ(losses(plain).size(), 3u);
  for (const char* option : {"--seed 9", "--lr 0.5", "--optimizer sgd"})
    EXPECT_NE(losses(plain + option), losses(plain)) << option;
  EXPECT_NE(losses("--batch 2 --steps 3"), losses(plain));
}

TEST_F(BenchCommand, ProvesAsMuchAsThereIsTimeFor) {
  auto proved = [](const std::string& limit) {
    Outcome run = tool("bench digits --batch 8 --steps 1 --estimate --budget 80% 2>/dev/null --time-limit " + limit);
    EXPECT_EQ(run.status, 0) << "the time limits the search for better plans, not for one that fits";
    std::string summary = run.output.substr(0, run.output.find('\n'));
    return summary.substr(summary.rfind('|') + 1);
  };
  EXPECT_NE(proved("0.000001"), proved("1"));
}

TEST_F(BenchCommand, RefusesWhatThereIsNot) {
  EXPECT_TRUE(holds(complaint("bench resnet5").output, "there is no model 'resnet5': did you mean 'resnet50'?"));
  EXPECT_TRUE(holds(complaint("bench x").output, "there is no model 'x': choose from mlp16, "));
  Outcome run = complaint("bench gpt4s --optimizer newton");
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(holds(run.output, "is not one of sgd, momentum, adam")) << run.output;
  run = complaint("bench gpt4s --seed -1");
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(holds(run.output, "'-1' is below 0")) << run.output;
  run = complaint("bench gpt4s --seed 99999999999999999999");
  EXPECT_EQ(run.status, 2);
  EXPECT_TRUE(holds(run.output, "'99999999999999999999' is out of range")) << run.output;
  run = complaint("bench digits --batch 1 --estimate --init " + in("none"));
  EXPECT_EQ(run.status, 1);
  EXPECT_TRUE(holds(run.output, "'" + in("none") + "/manifest.json' cannot be read: name a folder that holds one"))
      << run.output;
}

TEST_F(BenchCommand, EndsWithStatus4WhenTheLossIsNotFinite) {
  Outcome run = complaint("bench " + small_model + "--steps 4 --lr 1e30 --json");
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(holds(run.output, "is not finite: lower the learning rate")) << run.output;
}

TEST_F(BenchCommand, SaysThatItsRefusalCannotBeWritten) {
  Outcome run = tool("bench " + small_model + "--budget 1 --json 2>&1 >/dev/full");
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(holds(run.output, "cannot write to standard output")) << run.output;
}

TEST_F(BenchCommand, ListsTheModels) {
  json r = json::parse(tool("models --json").output);
  EXPECT_EQ(r["models"].size(), built_in_models().size());
  EXPECT_NE(tool("models").output.find("resnet50"), std::string::npos);
}

TEST_F(BenchCommand, PlansAModelWithoutTrainingIt) {
  Outcome run = tool("plan " + small_model + "--budget 70% --json 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  json r = json::parse(run.output);
  EXPECT_EQ(r["feasible"], true);
  EXPECT_GT(r["recomputed"], 0);
  EXPECT_EQ(complaint("plan " + small_model + "--budget 100KiB").status, 3);
}

}  // namespace
}  // namespace reprise::cli
