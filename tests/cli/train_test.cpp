// SPDX-License-Identifier: Apache-2.0
// `reprise train`, run as a program: every option, and the exit statuses.
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "reprise/io.h"

namespace reprise::cli {
namespace {

using nlohmann::json;
using TrainCommandTest = CommandTest;

const std::string small_digits = "digits --batch 8 --estimate --time-limit 1 --threads 1 ";

json result_of(const std::string& arguments) {
  Outcome run = tool("train " + arguments + " --json --quiet 2>/dev/null");
  EXPECT_EQ(run.status, 0) << arguments;
  return run.status == 0 ? json::parse(run.output) : json{};
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST_F(TrainCommandTest, PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget) {
  json r = result_of("gpt4s --batch 16 --estimate --time-limit 2 --steps 2 --budget 50% --validate-samples 16");
  for (const char* key : {"model", "steps", "losses", "step_seconds", "budget_bytes", "planned_peak_bytes",
                          "arena_bytes", "measured_peak_bytes", "rss_peak_bytes", "recompute_seconds_share", "params"})
    EXPECT_TRUE(r.contains(key)) << key;
  EXPECT_EQ(r["losses"].size(), 2u);
  EXPECT_GT(r["recomputed"], 0);
  EXPECT_LE(r["arena_bytes"].get<std::int64_t>() + r["data_bytes"].get<std::int64_t>(), r["budget_bytes"]);
  EXPECT_LE(r["rss_peak_bytes"].get<std::int64_t>(), r["budget_bytes"].get<std::int64_t>() + (16 << 20));
  EXPECT_LE(r["budget_bytes"].get<std::int64_t>() * 2, r["unlimited_bytes"].get<std::int64_t>() + 2);
}

TEST_F(TrainCommandTest, GivesTheSameLossesWithinAnyBudget) {
  const std::string run = "gpt4s --batch 64 --estimate --steps 2 --validate-samples 32 --budget ";
  json whole = result_of(run + "100%");
  for (const char* budget : {"50%", "30%"}) {
    json r = result_of(run + budget);
    EXPECT_GT(r["recomputed"], 0);
    EXPECT_EQ(r["losses"], whole["losses"]) << budget;
    EXPECT_EQ(r["validation"], whole["validation"]) << budget;
  }
}

TEST_F(TrainCommandTest, TrainsTheCharacterModelOnTheTextThatShips) {
  json r = result_of("gpt4s --batch 8 --estimate --time-limit 2 --steps 2 --budget 80% --validate-samples 8");
  EXPECT_NEAR(r["losses"][0].get<double>(), 4.2, 0.5);
  EXPECT_GT(r["recomputed"], 0);
}

TEST_F(TrainCommandTest, ShowsWhatItWillDoAndStopsThere) {
  Outcome run = tool("train digits --estimate --time-limit 1 --dry-run --budget 90% --steps 50 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  for (const char* words : {"parameters", "that a run without limit takes", "the smallest possible is", "recomputed",
                            "above the best possible"})
    EXPECT_TRUE(has(run.output, words)) << run.output;
  json r = result_of(small_digits + "--dry-run --epochs 2");
  EXPECT_EQ(r["recipe"]["steps"].get<double>(), std::llround(2.0 * std::floor(r["recipe"]["steps"].get<double>() / 2)));
  EXPECT_FALSE(r.contains("losses"));
  EXPECT_GT(result_of(small_digits + "--dry-run --budget auto")["budget_bytes"], 1 << 20);
}

TEST_F(TrainCommandTest, NamesTheSmallestBudgetAndRemediesWhenNothingFits) {
  Outcome run = complaint("train digits --batch 64 --estimate --steps 2 --budget 1%");
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(has(run.output, "the smallest budget is ")) << run.output;
  EXPECT_TRUE(has(run.output, "--batch 1 does not fit either: it needs ")) << run.output;
  run = complaint("train digits --batch 64 --estimate --steps 2 --budget 35%");
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(has(run.output, " fits (at least ")) << run.output;
}

TEST_F(TrainCommandTest, TakesEveryWordAboutLearning) {
  double plain = result_of(small_digits + "--steps 4")["losses"].back().get<double>();
  for (const char* option : {"--lr 0.5", "--optimizer sgd", "--schedule cosine", "--warmup 2", "--clip-norm 0.01",
                             "--clip-value 0.0001 --optimizer sgd", "--seed 7", "--schedule linear --warmup 1"})
    EXPECT_NE(result_of(small_digits + "--steps 4 " + option)["losses"].back().get<double>(), plain) << option;
  for (const char* check : {"on", "loss", "auto", "off"})
    EXPECT_EQ(result_of(small_digits + "--steps 4 --check-finite " + check)["losses"].back().get<double>(), plain)
        << check;
  json parts = result_of(small_digits + "--steps 2 --accumulate 2");
  EXPECT_NEAR(parts["losses"].back().get<double>(),
              result_of(small_digits + "--steps 2")["losses"].back().get<double>(), 1e-4);
  EXPECT_EQ(parts["recipe"]["accumulate"], 2);
  EXPECT_EQ(result_of(small_digits + "--steps 2 --accumulate auto --data-kind idx")["recipe"]["accumulate"], 1);
}

TEST_F(TrainCommandTest, EvaluatesAsOftenAsAskedAndStopsEarly) {
  Outcome run =
      complaint("train " + small_digits + "--steps 4 --evaluate-every 2 --validation 0.2 --validate-samples 64");
  EXPECT_TRUE(has(run.output, "step 2: loss ") && has(run.output, "step 4: loss ")) << run.output;
  EXPECT_TRUE(has(run.output, "validation loss ")) << run.output;
  json r = result_of(small_digits + "--steps 40 --evaluate-every 1 --patience 2 --lr 1e-30 --validate-samples 16");
  EXPECT_EQ(r["end"], "stopped early");
  EXPECT_EQ(r["steps"], 3);
  EXPECT_TRUE(result_of(small_digits + "--steps 2 --validation 0")["validation"].is_null());
}

TEST_F(TrainCommandTest, WritesMetricsAndARunFolder) {
  result_of(small_digits + "--steps 4 --save " + in("run") + " --save-every 1 --keep 2 --evaluate-every 2 --metrics " +
            in("m.csv") + " --metrics " + in("m.jsonl"));
  std::string csv = text_of(in("m.csv"));
  EXPECT_TRUE(csv.starts_with("step,epoch,loss,lr,seconds,val_loss,val_metric\n1,")) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7);
  std::istringstream lines(text_of(in("run/metrics.jsonl")));
  int steps = 0, evaluations = 0;
  for (std::string line; std::getline(lines, line);) {
    json r = json::parse(line);
    steps += r.contains("loss") && r.contains("lr") && r.contains("epoch") && r.contains("seconds");
    evaluations += r.contains("val_loss") && r.contains("val_metric");
  }
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(text_of(in("m.jsonl")).size() > 0, true);
  EXPECT_EQ(tool("check " + in("run/plan.json") + " 2>&1").status, 0);
  EXPECT_EQ(tool("report " + in("run") + " --points 0 -o " + in("page.html") + " >/dev/null 2>&1").status, 0);
  EXPECT_TRUE(has(text_of(in("page.html")), "<html"));
  int snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in("run")))
    snapshots += entry.path().extension() == ".snapshot";
  EXPECT_GE(snapshots, 2);
  EXPECT_LE(snapshots, 3);
}

TEST_F(TrainCommandTest, WritesAPageAboutTheRun) {
  result_of(small_digits + "--steps 2 --report " + in("page.html") + " --metrics " + in("m.jsonl"));
  EXPECT_TRUE(has(text_of(in("page.html")), "<html"));
}

TEST_F(TrainCommandTest, GoesOnBitForBit) {
  const std::string run = "digits --estimate --time-limit 1 --threads 1 --steps 9 --schedule cosine ";
  result_of(run + "--weights-out " + in("whole.safetensors"));
  result_of(run + "--keep 9 --save " + in("run") + " --save-every 1");
  for (const char* path : {"run/step-00000008.snapshot", "run/step-00000009.snapshot"})
    std::filesystem::remove(in(path));
  json r = result_of("--resume " + in("run") + " --budget 90% --estimate --weights-out " + in("again.safetensors"));
  EXPECT_EQ(r["losses"].size(), 9u);
  EXPECT_EQ(text_of(in("whole.safetensors")), text_of(in("again.safetensors")));
  std::string metrics = text_of(in("run/metrics.jsonl"));
  EXPECT_TRUE(has(metrics, "{\"step\": 9, "));
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 18) << "nine steps and nine evaluations, each once";
  json more = result_of("digits --resume " + in("run") + " --steps 11 --estimate --lr 0.01");
  EXPECT_EQ(more["losses"].size(), 11u);
}

TEST_F(TrainCommandTest, RefusesToGoOnWithAnotherRun) {
  result_of(small_digits + "--steps 2 --save " + in("run"));
  EXPECT_TRUE(has(complaint("train " + small_digits + "--steps 2 --save " + in("run")).output, "go on with --resume"));
  EXPECT_TRUE(has(complaint("train --resume " + in("run") + " --batch 4").output, "trained with another --batch"));
  EXPECT_TRUE(has(complaint("train gpt4s --resume " + in("run")).output, "trained with another model"));
  EXPECT_TRUE(has(complaint("train --resume " + in("none")).output, "there is no snapshot in"));
  EXPECT_TRUE(has(complaint("train").output, "name a model"));
}

TEST_F(TrainCommandTest, TakesWeightsInAndOut) {
  for (const char* name : {"w.safetensors", "w.npz"}) {
    result_of(small_digits + "--steps 3 --weights-out " + in(name));
    io::NamedTensors first = io::load_tensors(in(name));
    EXPECT_GT(first.size(), 2u);
    result_of(small_digits + "--steps 1 --lr 1e-30 --seed 5 --weights-in " + in(name) + " --weights-out " +
              in("again.npz"));
    io::NamedTensors again = io::load_tensors(in("again.npz"));
    ASSERT_EQ(again.size(), first.size());
    EXPECT_TRUE(same_bits(again[0].second, first[0].second));
  }
  json r = result_of(small_digits + "--steps 2 --freeze " + io::load_tensors(in("w.npz"))[0].first);
  EXPECT_LT(r["params"], result_of(small_digits + "--steps 1")["params"]);
}

TEST_F(TrainCommandTest, StopsBeforeTheWeightsChangeWhenTheLossIsNotFinite) {
  result_of(small_digits + "--steps 1 --weights-out " + in("w.npz"));
  io::NamedTensors weights = io::load_npz(in("w.npz"));
  weights[0].second.span<float>()[0] = INFINITY;
  io::save_npz(in("bad.npz"), weights);
  Outcome run =
      complaint("train " + small_digits + "--steps 4 --quiet --weights-in " + in("bad.npz") + " --save " + in("run"));
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(has(run.output, "'" + weights[0].first + "' are NaN or infinite")) << run.output;
  run = complaint("train " + small_digits + "--steps 40 --quiet --optimizer sgd --lr 1e30 --save " + in("wild"));
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(has(run.output, "nothing was updated")) << run.output;
}

TEST_F(TrainCommandTest, KeepsTimesInAProfile) {
  EXPECT_EQ(tool("train digits --batch 2 --steps 1 --quiet --profile " + in("times") + " >/dev/null 2>&1").status, 0);
  EXPECT_TRUE(text_of(in("times")).starts_with("reprise profile 1\n"));
  EXPECT_EQ(tool("train digits --batch 2 --steps 1 --quiet --profile " + in("times") + " >/dev/null 2>&1").status, 0);
}

TEST_F(TrainCommandTest, TakesTheUsersData) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "a line of text, and another one; ";
  write("book.txt", text);
  json r =
      result_of("gpt4s --batch 2 --estimate --time-limit 1 --steps 2 --validate-samples 2 --data " + in("book.txt"));
  EXPECT_LT(r["losses"][0].get<double>(), 4.0) << "few characters, so a small_digits loss";
}

TEST_F(TrainCommandTest, RefusesWhatThereIsNot) {
  EXPECT_TRUE(has(complaint("train gpt5").output, "there is no model 'gpt5'"));
  EXPECT_TRUE(has(complaint("train mlp16").output, "name some with --data"));
  EXPECT_EQ(complaint("train digits --schedule zigzag").status, 2);
  EXPECT_EQ(complaint("train digits --optimizer newton").status, 2);
  EXPECT_EQ(complaint("train digits --budget lots").status, 2);
  EXPECT_EQ(complaint("train digits --validation 1.5").status, 2);
  EXPECT_EQ(complaint("train digits --accumulate some").status, 2);
  EXPECT_EQ(complaint("train digits --metrics run.txt --steps 1 --quiet").status, 1);
  EXPECT_TRUE(has(complaint("train digits --bugdet 50%").output, "did you mean '--budget'?"));
}

}  // namespace
}  // namespace reprise::cli
