// SPDX-License-Identifier: Apache-2.0
// `reprise train`, run as a program: every option, and the exit statuses.
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "reprise/io.h"

namespace reprise::cli {
namespace {

using nlohmann::json;
using TrainCommandTest = CommandTest;

const std::string small_digits = "digits --batch 8 --estimate --time-limit 0.2 --threads 1 --validate-samples 16 ";

json parsed(const Outcome& run, const std::string& arguments) {
  EXPECT_EQ(run.status, 0) << arguments;
  return run.status == 0 ? json::parse(run.output) : json{};
}
json result_of(const std::string& arguments) {
  return parsed(tool("train " + arguments + " --json --quiet 2>/dev/null"), arguments);
}
json result_once(const std::string& arguments) {
  return parsed(tool_once("train " + arguments + " --json --quiet 2>/dev/null"), arguments);
}
double last_loss(const std::string& options) {
  return result_once(small_digits + "--steps 4 " + options)["losses"].back().get<double>();
}

// A transformer whose activations are most of what it needs, within a budget.
json transformer(const std::string& budget) {
  return result_once("gpt4s --batch 64 --estimate --time-limit 3 --steps 2 --validate-samples 8 --budget " + budget);
}

TEST_F(TrainCommandTest, PrintsTheKeysOthersRelyOnAndStaysWithinTheBudget) {
  json r = transformer("50%");
  for (const char* key : {"model", "steps", "losses", "step_seconds", "budget_bytes", "planned_peak_bytes",
                          "arena_bytes", "measured_peak_bytes", "rss_peak_bytes", "recompute_seconds_share", "params"})
    EXPECT_TRUE(r.contains(key)) << key;
  EXPECT_EQ(r["losses"].size(), 2u);
  EXPECT_GT(r["recomputed"], 0);
  EXPECT_LE(r["arena_bytes"].get<std::int64_t>() + r["data_bytes"].get<std::int64_t>(), r["budget_bytes"]);
  EXPECT_GE(r["measured_peak_bytes"], r["arena_bytes"]);
  EXPECT_EQ(r["planned_peak_bytes"], r["arena_bytes"]);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
  EXPECT_LE(r["rss_peak_bytes"].get<std::int64_t>(), r["budget_bytes"].get<std::int64_t>() + (16 << 20));
  EXPECT_LE(r["budget_bytes"].get<std::int64_t>() * 2, r["unlimited_bytes"].get<std::int64_t>() + 2);
}

TEST_F(TrainCommandTest, GivesTheSameLossesWithinAnyBudget) {
  json whole = transformer("100%");
  EXPECT_NEAR(whole["losses"][0].get<double>(), 4.2, 0.5) << "characters of the text that ships";
  for (const char* budget : {"50%", "30%"}) {  // of --budget
    json r = transformer(budget);
    EXPECT_GT(r["recomputed"], 0);
    EXPECT_EQ(r["losses"], whole["losses"]) << budget;
    EXPECT_EQ(r["validation"], whole["validation"]) << budget;
  }
}

TEST_F(TrainCommandTest, ShowsWhatItWillDoAndStopsThere) {
  Outcome run = tool("train digits --estimate --time-limit 0.2 --dry-run --budget 90% --steps 50 2>/dev/null");
  EXPECT_EQ(run.status, 0);
  for (const char* words :
       {"parameters", "without a limit it takes", "as little as", "recomputed", "above the best possible"})
    EXPECT_TRUE(holds(run.output, words)) << run.output;
  json r = result_of(small_digits + "--dry-run --epochs 2");
  EXPECT_EQ(r["recipe"]["steps"], 2 * (1618 / 8)) << "batches of 8 of the nine tenths of 1797 samples that train";
  EXPECT_FALSE(r.contains("losses"));
  EXPECT_GT(result_of(small_digits + "--dry-run --budget auto")["budget_bytes"], 1 << 20);
}

TEST_F(TrainCommandTest, NamesTheSmallestBudgetAndRemediesWhenNothingFits) {
  Outcome run = complaint("train digits --estimate --time-limit 0.1 --steps 2 --budget 1%");
  EXPECT_EQ(run.status, 3);
  EXPECT_TRUE(holds(run.output, "the smallest budget is ")) << run.output;
  EXPECT_TRUE(holds(run.output, "--batch 1 does not fit either, by a short search: ")) << run.output;
  Outcome object = tool("train digits --estimate --time-limit 0.1 --steps 2 --budget 1% --json 2>/dev/null");
  EXPECT_GT(json::parse(object.output)["min_budget_bytes"], 1 << 20);
  EXPECT_EQ(complaint("train digits --estimate --epochs 1e300 --budget 90%").status, 1);
  EXPECT_TRUE(holds(run.output, "--freeze stem.,blocks. does not fit either, by a short search: ")) << run.output;
}

TEST_F(TrainCommandTest, NamesRemediesWithTheirNumbers) {
  const std::string run = "train digits --estimate --time-limit 0.5 --steps 1 --quiet --validation 0 --budget ";
  std::int64_t whole = json::parse(tool(run + "100% --dry-run --json 2>/dev/null").output)["budget_bytes"];
  std::string tight = run + std::to_string(whole * 35 / 100);
  Outcome refused = complaint(tight);
  EXPECT_EQ(refused.status, 3);
  std::istringstream lines(refused.output);
  std::vector<std::string> kinds;
  for (std::string line; std::getline(lines, line);) {
    std::size_t end = line.find(" fits (at least ");
    if (end == std::string::npos) continue;
    std::string change = line.substr(2, end - 2);
    kinds.push_back(change.substr(0, change.find(' ')));
    EXPECT_TRUE(holds(line, "the time a sample")) << line;
    EXPECT_EQ(change.starts_with("--freeze"), holds(line, " % of the parameters")) << line;
    if (!change.starts_with("--batch")) continue;
    EXPECT_EQ(complaint(tight + " " + change).status, 0) << change;
  }
  for (const char* kind : {"--accumulate", "--batch", "--freeze"})
    EXPECT_EQ(std::ranges::count(kinds, kind), 1) << kind << "\n" << refused.output;
  refused = complaint(run + "100KB --batch 2 --accumulate auto");
  EXPECT_TRUE(holds(refused.output, "Of 1 to 2 parts")) << refused.output;
  EXPECT_TRUE(holds(refused.output, "  --batch 1 ")) << refused.output;
  EXPECT_FALSE(holds(refused.output, "  --accumulate ")) << refused.output;
}

TEST_F(TrainCommandTest, TakesEveryWordAboutLearning) {
  for (const char* option :
       {"--lr 0.5", "--optimizer sgd", "--schedule cosine", "--warmup 2", "--clip-norm 0.01", "--seed 7"})
    EXPECT_NE(last_loss(option), last_loss("")) << option;
  EXPECT_NE(last_loss("--optimizer sgd --clip-value 0.0001"), last_loss("--optimizer sgd"));
  for (const char* check : {"on", "loss", "off"})
    EXPECT_EQ(last_loss(std::string("--check-finite ") + check), last_loss("")) << check;
  json parts = result_once(small_digits + "--steps 4 --accumulate 2");
  EXPECT_NEAR(parts["losses"].back().get<double>(), last_loss(""), 1e-3);
  EXPECT_EQ(parts["recipe"]["accumulate"], 2);
  EXPECT_EQ(result_once(small_digits + "--steps 4 --accumulate auto")["recipe"]["accumulate"], 1);
  EXPECT_EQ(result_once(small_digits + "--steps 4")["recipe"]["threads"], 1) << "of --threads";
  EXPECT_EQ(result_once(small_digits + "--steps 4")["recipe"]["batch"], 8) << "of --batch";
}

TEST_F(TrainCommandTest, EvaluatesAsOftenAsAskedAndStopsEarly) {
  Outcome run = complaint("train " + small_digits + "--steps 4 --evaluate-every 2 --validation 0.2");
  EXPECT_TRUE(holds(run.output, "step 2: loss ") && holds(run.output, "step 4: loss ")) << run.output;
  EXPECT_TRUE(holds(run.output, "validation loss ")) << run.output;
  EXPECT_FALSE(holds(run.output, "step 3: loss ")) << run.output;
  json r = result_of(small_digits + "--steps 40 --evaluate-every 1 --patience 2 --lr 1e-30");
  EXPECT_EQ(r["end"], "stopped early");
  EXPECT_EQ(r["steps"], 3);
  EXPECT_TRUE(result_of(small_digits + "--steps 2 --validation 0")["validation"].is_null());
  EXPECT_NE(result_of(small_digits + "--steps 4 --validate-samples 64")["validation"],
            result_once(small_digits + "--steps 4")["validation"]);
}

TEST_F(TrainCommandTest, WritesMetricsAndARunFolder) {
  result_of(small_digits + "--steps 4 --save " + in("run") + " --save-every 1 --keep 2 --evaluate-every 2 --metrics " +
            in("m.csv") + " --metrics " + in("m.jsonl"));
  std::string csv = text_in(in("m.csv"));
  EXPECT_TRUE(csv.starts_with("step,epoch,loss,lr,seconds,val_loss,val_metric\n1,")) << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 7);
  std::istringstream lines(text_in(in("run/metrics.jsonl")));
  int steps = 0, evaluations = 0;
  for (std::string line; std::getline(lines, line);) {
    json r = json::parse(line);
    steps += r.contains("loss") && r.contains("lr") && r.contains("epoch") && r.contains("seconds");
    evaluations += r.contains("val_loss") && r.contains("val_metric");
  }
  EXPECT_EQ(steps, 4);
  EXPECT_EQ(evaluations, 2);
  EXPECT_EQ(text_in(in("m.jsonl")).size() > 0, true);
  EXPECT_EQ(tool("check " + in("run/plan.json") + " 2>&1").status, 0);
  EXPECT_EQ(tool("report " + in("run") + " --points 0 -o " + in("page.html") + " >/dev/null 2>&1").status, 0);
  EXPECT_TRUE(holds(text_in(in("page.html")), "<html"));
  int snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in("run")))
    snapshots += entry.path().extension() == ".snapshot";
  EXPECT_GE(snapshots, 2);
  EXPECT_LE(snapshots, 3);
}

TEST_F(TrainCommandTest, WritesAPageAboutTheRun) {
  result_of(small_digits + "--steps 2 --report " + in("page.html") + " --metrics " + in("m.jsonl"));
  EXPECT_TRUE(holds(text_in(in("page.html")), "<html"));
}

TEST_F(TrainCommandTest, GoesOnBitForBit) {
  const std::string run = "digits --estimate --time-limit 0.2 --threads 1 --steps 9 --schedule cosine ";
  result_of(run + "--weights-out " + in("whole.safetensors"));
  result_of(run + "--evaluate-every 1 --keep 9 --save " + in("run") + " --save-every 1");
  for (const char* path : {"run/step-00000008.snapshot", "run/step-00000009.snapshot"})
    std::filesystem::remove(in(path));
  json r = result_of("--resume " + in("run") + " --budget 90% --estimate --time-limit 0.2 --weights-out " +
                     in("again.safetensors"));
  EXPECT_EQ(r["losses"].size(), 9u);
  EXPECT_EQ(text_in(in("whole.safetensors")), text_in(in("again.safetensors")));
  std::string metrics = text_in(in("run/metrics.jsonl"));
  EXPECT_TRUE(holds(metrics, "{\"step\": 9, "));
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 18) << "nine steps and nine evaluations, each once";
  json more = result_of("digits --resume " + in("run") + " --steps 11 --estimate --time-limit 0.2 --lr 0.01");
  EXPECT_EQ(more["losses"].size(), 11u);
}

// The budget is the smallest that the tool itself names, where a search that is cut short may find nothing.
TEST_F(TrainCommandTest, GoesOnWithinTheSmallestBudgetThatFitted) {
  const std::string run = "digits --estimate --threads 1 --validation 0 --schedule cosine --steps 4 ";
  std::string smallest = result_of(run + "--time-limit 2 --dry-run --budget 45%")["min_budget_bytes"].dump();
  json whole = result_of(run + "--time-limit 0.2");
  json tight = result_of(run + "--time-limit 2 --save-every 2 --save " + in("run") + " --budget " + smallest);
  EXPECT_EQ(tight["losses"], whole["losses"]);
  for (const std::string& budget : {smallest + " --time-limit 0.01", std::string("60%"), smallest}) {
    std::filesystem::remove(in("run/step-00000004.snapshot"));
    json again = result_of("--resume " + in("run") + " --estimate --time-limit 2 --budget " + budget);
    EXPECT_EQ(again["losses"], whole["losses"]) << budget;
    EXPECT_LE(again["arena_bytes"], again["budget_bytes"]);
  }
}

TEST_F(TrainCommandTest, RefusesToGoOnWithAnotherRun) {
  result_of(small_digits + "--steps 2 --save " + in("run"));
  EXPECT_TRUE(
      holds(complaint("train " + small_digits + "--steps 2 --save " + in("run")).output, "go on with --resume"));
  EXPECT_TRUE(holds(complaint("train --resume " + in("run") + " --batch 4").output, "trained with another --batch"));
  EXPECT_TRUE(holds(complaint("train gpt4s --resume " + in("run")).output, "trained with another model"));
  EXPECT_TRUE(holds(complaint("train --resume " + in("none")).output, "there is no snapshot in"));
  EXPECT_TRUE(holds(complaint("train").output, "name a model"));
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
  json r = result_of(small_digits + "--steps 4 --freeze " + io::load_tensors(in("w.npz"))[0].first);
  EXPECT_LT(r["params"], result_once(small_digits + "--steps 4")["params"]);
}

TEST_F(TrainCommandTest, StopsBeforeTheWeightsChangeWhenTheLossIsNotFinite) {
  result_of(small_digits + "--steps 1 --weights-out " + in("w.npz"));
  io::NamedTensors weights = io::load_npz(in("w.npz"));
  weights[0].second.span<float>()[0] = INFINITY;
  io::save_npz(in("bad.npz"), weights);
  Outcome run =
      complaint("train " + small_digits + "--steps 4 --quiet --weights-in " + in("bad.npz") + " --save " + in("run"));
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(holds(run.output, "'" + weights[0].first + "' are NaN or infinite")) << run.output;
  run = complaint("train " + small_digits + "--steps 40 --quiet --optimizer sgd --lr 1e30 --save " + in("wild"));
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(holds(run.output, "nothing was updated")) << run.output;
}

TEST_F(TrainCommandTest, PrintsWhatItHasWhenTrainingDiverges) {
  Outcome run = tool("train " + small_digits + "--steps 40 --quiet --optimizer sgd --lr 1e30 --json 2>/dev/null");
  EXPECT_EQ(run.status, 4);
  json r = json::parse(run.output);
  EXPECT_EQ(r["end"], "diverged");
  EXPECT_GE(r["losses"].size(), 1u);
  EXPECT_EQ(r["steps"], r["losses"].size());
  EXPECT_TRUE(holds(r["why"].get<std::string>(), r["node"].get<std::string>())) << r;
  EXPECT_EQ(r["planned_peak_bytes"], r["arena_bytes"]);
}

TEST_F(TrainCommandTest, TakesPercentagesOfWholeBatchesWhereTheirPartsAreToBeChosen) {
  const std::string run = "train gpt4s --batch 16 --validation 0 --estimate --time-limit 0.5 --dry-run --quiet --json ";
  json whole = json::parse(tool(run + "--budget 45% 2>/dev/null").output);
  std::int64_t bytes = whole["budget_bytes"];
  json chosen = json::parse(tool(run + "--accumulate auto --budget 45% 2>/dev/null").output);
  EXPECT_GT(chosen["recipe"]["accumulate"], 1);
  EXPECT_EQ(chosen["budget_bytes"], bytes);
  EXPECT_EQ(chosen["unlimited_bytes"], whole["unlimited_bytes"]);
  for (const std::string parts : {"1", "auto"}) {
    json r =
        json::parse(tool(run + "--accumulate " + parts + " --budget " + std::to_string(bytes) + " 2>/dev/null").output);
    EXPECT_NEAR(r["unlimited_bytes"], whole["unlimited_bytes"], 0.01 * whole["unlimited_bytes"].get<double>()) << parts;
  }
  std::string smallest = std::to_string(chosen["min_budget_bytes"].get<std::int64_t>());
  EXPECT_EQ(tool(run + "--accumulate auto --budget " + smallest + " >/dev/null 2>&1").status, 0);
}

TEST_F(TrainCommandTest, KeepsTheMeaningOfAPercentageWhereAChoiceOfPartsIsResumed) {
  const std::string options = " --estimate --time-limit 0.5 --budget 45% --quiet --json 2>/dev/null";
  json first = json::parse(
      tool("train gpt4s --batch 16 --validation 0 --steps 1 --accumulate auto --save " + in("run") + options).output);
  ASSERT_GT(first["recipe"]["accumulate"], 1);
  for (const std::string parts : {"", " --accumulate auto"}) {
    json next = json::parse(tool("train --resume " + in("run") + " --steps 2 --dry-run" + parts + options).output);
    EXPECT_EQ(next["budget_bytes"], first["budget_bytes"]);
    EXPECT_EQ(next["recipe"]["accumulate"], first["recipe"]["accumulate"]);
  }
}

TEST_F(TrainCommandTest, KeepsTimesInAProfile) {
  const std::string run = "train digits --batch 2 --steps 1 --quiet --time-limit 0.2 --validation 0 >/dev/null 2>&1 ";
  EXPECT_EQ(tool(run + "--profile " + in("times")).status, 0);
  std::string times = text_in(in("times"));
  EXPECT_TRUE(times.starts_with("reprise profile 1\n"));
  EXPECT_GT(std::ranges::count(times, '\n'), 20);
  EXPECT_EQ(tool(run + "--profile " + in("times")).status, 0);
  EXPECT_EQ(text_in(in("times")), times) << "what is known is not measured again";
  EXPECT_EQ(tool(run + "--estimate --profile " + in("none")).status, 0);
  EXPECT_EQ(text_in(in("none")), "reprise profile 1\n");
}

TEST_F(TrainCommandTest, TakesTheUsersData) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "a line of text, and another one; ";
  const std::string run = "gpt4s --batch 2 --estimate --time-limit 0.2 --steps 1 --validate-samples 2 --data ";
  EXPECT_LT(result_of(run + write("book.txt", text))["losses"][0].get<double>(), 4.0) << "few characters: a small loss";
  std::string unnamed = write("book.csv", text);
  EXPECT_EQ(complaint("train " + run + unnamed).status, 1);
  EXPECT_EQ(result_of(run + unnamed + " --data-kind text")["losses"], result_of(run + in("book.txt"))["losses"]);
}

TEST_F(TrainCommandTest, SaysNothingWhereItIsToBeQuiet) {
  EXPECT_EQ(complaint("train " + small_digits + "--steps 1 --quiet").output, "");
  EXPECT_TRUE(holds(complaint("train " + small_digits + "--steps 1").output, "as little as "));
  EXPECT_TRUE(
      tool("train " + small_digits + "--steps 1 --json 2>/dev/null").output.starts_with("{\"model\":\"digits\""));
}

TEST_F(TrainCommandTest, SearchesForAPlanAsLongAsItMay) {
  const std::string run = "digits --batch 8 --validation 0 --estimate --dry-run --budget 80% --time-limit ";
  json hurried = result_of(run + "0.000001"), patient = result_of(run + "2");
  EXPECT_LT(patient["gap"], hurried["gap"]) << "a plan was found in no time, but nothing was proved";
}

TEST_F(TrainCommandTest, RefusesWhatThereIsNot) {
  EXPECT_TRUE(holds(complaint("train mlp16").output, "name some with --data"));
  EXPECT_TRUE(holds(complaint("train digits --bugdet 50%").output, "did you mean '--budget'?"));
  for (const char* wrong : {"--schedule zigzag", "--optimizer newton", "--budget lots",
                            "--validation 1.5",  "--accumulate some",  "--lr 0",
                            "--lr -1",           "--lr nan",           "--lr inf",
                            "--lr 1e-3x",        "--batch 0",          "--batch -4",
                            "--batch 1.5",       "--steps 0",          "--epochs nan",
                            "--clip-norm -1",    "--warmup -1",        "--keep 0",
                            "--threads 0",       "--patience x",       "--seed -1",
                            "--save-every 0",    "--evaluate-every 0", "--time-limit nan",
                            "--metrics run.txt"}) {
    Outcome run = complaint(std::string("train digits ") + wrong);
    EXPECT_EQ(run.status, 2) << wrong;
    std::string flag(wrong, std::string(wrong).find(' '));
    EXPECT_TRUE(holds(run.output, flag)) << run.output;
    EXPECT_LT(run.output.size(), 300u) << run.output;
  }
}

TEST_F(TrainCommandTest, NamesTheNearestModel) {
  for (const char* verb : {"train gpt5", "bench gpt5", "plan gpt5 --budget 50%", "sweep gpt5", "report gpt5"}) {
    Outcome run = complaint(verb);
    EXPECT_EQ(run.status, 2) << verb;
    EXPECT_TRUE(holds(run.output, "did you mean 'gpt6'? There are mlp16, ")) << run.output;
  }
  EXPECT_TRUE(holds(complaint("plan net --budget 50%").output, "the path of a file must exist"));
  EXPECT_EQ(complaint("plan " + in("net.json") + " --budget 50%").status, 1) << "a file that is not there";
}

}  // namespace
}  // namespace reprise::cli
