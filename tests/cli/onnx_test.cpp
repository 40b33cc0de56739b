// SPDX-License-Identifier: Apache-2.0
// ONNX files on the command line, run as a program: every verb that takes one, every option, and the exit statuses.
#include <fcntl.h>
#include <sys/resource.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/tool.h"
#include "onnx/wire_writer.h"
#include "reprise/io.h"
#include "reprise/onnx.h"

namespace reprise::cli::onnx_tests {
namespace {

using nlohmann::json;

const std::string fixtures = std::string(REPRISE_SOURCE_DIR) + "/tests/onnx/fixtures/";
const std::string quick = " --estimate --time-limit 0.3 ";

json object_of(const std::string& arguments) {
  Outcome run = tool(arguments + " --json 2>/dev/null");
  EXPECT_EQ(run.status, 0) << arguments;
  return run.status == 0 ? json::parse(run.output) : json{};
}

Tensor array_in(const io::NamedTensors& arrays, const std::string& name) {
  for (const auto& [key, tensor] : arrays)
    if (key == name) return tensor;
  ADD_FAILURE() << "no " << name;
  return {};
}

class OnnxCommand : public CommandTest {
 protected:
  std::string copy(const std::string& name) const {
    std::filesystem::copy_file(fixtures + name, in(name), std::filesystem::copy_options::overwrite_existing);
    return in(name);
  }

  // Pictures whose class can be seen: it is the channel that is brightest.
  std::string pictures(std::int64_t count, std::int64_t classes) const {
    Tensor x = Tensor::zeros({DType::f32, {count, 3, 16, 16}}), y = Tensor::zeros({DType::i64, {count}});
    for (std::int64_t i = 0; i < count; ++i) {
      y.span<std::int64_t>()[static_cast<std::size_t>(i)] = i % classes;
      for (std::int64_t k = 0; k < 256; ++k)
        x.span<float>()[static_cast<std::size_t>((i * 3 + i % classes % 3) * 256 + k)] =
            1 + 0.01F * static_cast<float>((i * 7 + k) % 13);
    }
    io::save_npz(in("pictures.npz"), {{"x", x}, {"y", y}});
    return in("pictures.npz");
  }

  std::string grad(const std::string& name, const std::string& options) const {
    return "grad " + fixtures + name + ".onnx --inputs " + fixtures + name + ".npz " + options;
  }
};

// The most bytes of memory that the tool had at a time, and its status. It has the same kernels on every machine: those
// for vectors of 16 numbers pad 8 channels to 16.
std::pair<std::int64_t, int> peak_of(const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(REPRISE_TOOL)};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = fork();
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    execv(REPRISE_TOOL, words.data());
    _exit(127);
  }
  int status = 0;
  rusage use{};
  wait4(child, &status, 0, &use);
  return {1024 * use.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

// x times w, then one node after the other.
std::string chain_of(int nodes) {
  using onnx::WireMessage;
  WireMessage graph = WireMessage().message(5, onnx::wire_floats("w", {2, 2}, {1, 2, 3, 4}));
  graph.message(11, onnx::wire_value("x", {2, 2})).message(1, onnx::wire_node("Mul", {"x", "w"}, {"v1"}));
  for (int i = 1; i < nodes; ++i)
    graph.message(1, onnx::wire_node("Tanh", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
  return onnx::wire_model(graph.message(12, onnx::wire_value("v" + std::to_string(nodes), {2, 2}))).bytes();
}

TEST_F(OnnxCommand, AFileOfManyNodesTakesNoMoreThanItsSizeAndTheBudget) {
  constexpr std::int64_t budget = 64 << 20;
  std::string few = write("few.onnx", chain_of(2)), some = write("some.onnx", chain_of(8'000)),
              many = write("many.onnx", chain_of(90'000));
  std::string words = " --loss sum" + quick + "--budget 64MiB";
  EXPECT_EQ(complaint("plan " + some + words).status, 0);
  Outcome refused = complaint("plan " + many + words);
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(holds(refused.output, "has 90000 nodes, and reading and recording it takes up to ")) << refused.output;
  auto peak = [&](const std::string& path) {
    return peak_of({"plan", path, "--loss", "sum", "--estimate", "--time-limit", "0.3", "--budget", "64MiB"}).first;
  };
  std::int64_t least = peak(few);
  for (const std::string& path : {some, many})
    EXPECT_LT(peak(path), least + static_cast<std::int64_t>(std::filesystem::file_size(path)) + budget);
}

TEST_F(OnnxCommand, AFileOfManyNodesIsRefusedWhereNoBudgetIsGivenInBytes) {
  std::string few = write("few.onnx", chain_of(2)), some = write("some.onnx", chain_of(12'000)),
              many = write("many.onnx", chain_of(90'000));
  std::int64_t least = peak_of({"inspect", few, "--loss", "sum"}).first;
  for (const auto& [path, wanted] : {std::pair{some, 0}, {many, 1}}) {
    auto [peak, status] = peak_of({"inspect", path, "--loss", "sum"});
    EXPECT_EQ(status, wanted);
    EXPECT_LT(peak, least + static_cast<std::int64_t>(std::filesystem::file_size(path)) + onnx_usual_budget);
  }
  EXPECT_EQ(complaint("inspect " + some + " --loss sum --budget 1MiB").status, 1);
  for (const std::string& command : {"plan " + many + " --budget 50%", "sweep " + many, "bench " + many}) {
    Outcome refused = complaint(command + " --loss sum");
    EXPECT_EQ(refused.status, 1) << command;
    EXPECT_TRUE(holds(refused.output, " and the budget of 128.0 MiB (which stands in where none is given in bytes); "))
        << refused.output;
  }
}

// An op is timed on arrays of its own, which go before the next one's come.
TEST_F(OnnxCommand, PlanningTakesTheMemoryOfOneOpAtATime) {
  auto peak = [&](const char* times) {
    return peak_of(
        {"plan", fixtures + "vgg.onnx", "--batch", "1200", "--budget", "100%", "--time-limit", "0.3", times});
  };
  std::int64_t largest_op = 3 * 1200 * 8 * 16 * 16 * 4;  // two convolutions' outputs and scratch
  auto [estimated, status] = peak("--estimate");
  EXPECT_EQ(status, 0);
  EXPECT_LT(peak("--json").first, estimated + 2 * largest_op);
}

TEST_F(OnnxCommand, TooFewSamplesForABatchSaysWhereTheOthersAreAndWhatToDo) {
  Outcome refused = complaint("train " + fixtures + "vgg.onnx --data " + pictures(8, 3) + quick + "--batch 8");
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(holds(refused.output,
                    "has 8 samples, 1 of which validate: the other 7 do not fill a batch of 8; use "
                    "--batch 7 or less, or --validation 0"))
      << refused.output;
}

TEST_F(OnnxCommand, GradWritesTheLossAndAGradientForEveryParameter) {
  json r = object_of(grad("vgg", "--loss cross_entropy --out " + in("g.npz")));  // --inputs --json
  for (const char* key : {"loss", "parameters", "budget_bytes", "measured_peak_bytes"})
    EXPECT_TRUE(r.contains(key)) << key;
  io::NamedTensors ours = io::load_npz(in("g.npz")), theirs = io::load_npz(fixtures + "vgg.expected.npz");
  EXPECT_EQ(ours.size(), theirs.size());
  EXPECT_NEAR(r["loss"].get<double>(), array_in(theirs, "loss").item(), 1e-5);
  EXPECT_EQ(r["loss"].get<double>(), array_in(ours, "loss").item());
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : theirs) {
    if (name == "loss") continue;
    EXPECT_EQ(array_in(ours, name).type(), tensor.type()) << name;
    numbers += tensor.elements();
  }
  EXPECT_EQ(r["parameters"], numbers);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
}

TEST_F(OnnxCommand, GradTellsByItsStatusThatALossIsNotFinite) {
  io::NamedTensors arrays = io::load_npz(fixtures + "vgg.npz");
  for (auto& [name, tensor] : arrays)
    if (is_float(tensor.type().dtype)) (tensor = tensor.clone()).span<float>()[0] = std::nanf("");
  io::save_npz(in("nan.npz"), arrays);
  Outcome run = complaint("grad " + fixtures + "vgg.onnx --inputs " + in("nan.npz"));
  EXPECT_EQ(run.status, 4);
  EXPECT_TRUE(holds(run.output, "the loss is not finite")) << run.output;
}

TEST_F(OnnxCommand, GradHasTheSameBitsWithinLessMemoryAndSaysWhenNothingFits) {
  object_of(grad("vgg", "--out " + in("all.npz")));
  json r = object_of(grad("vgg", "--budget 90% --out " + in("less.npz")));
  EXPECT_GT(r["recomputed"], 0);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
  io::NamedTensors less = io::load_npz(in("less.npz"));
  for (const auto& [name, tensor] : io::load_npz(in("all.npz")))
    EXPECT_TRUE(same_bits(tensor, array_in(less, name))) << name;
  Outcome none = complaint(grad("vgg", "--budget 1%"));
  EXPECT_EQ(none.status, 3);
  EXPECT_TRUE(holds(none.output, "the smallest budget is ")) << none.output;
  std::string named = none.output.substr(none.output.find('(') + 1);
  std::int64_t enough = std::stoll(named) * 11 / 10;  // a search that is timed need not find the least again
  EXPECT_EQ(complaint(grad("vgg", "--budget " + std::to_string(enough))).status, 0) << none.output;
}

TEST_F(OnnxCommand, GradWorksThroughTheBatchInParts) {
  json whole = object_of(grad("vgg", "--out " + in("whole.npz")));
  json parts = object_of(grad("vgg", "--accumulate 3 --out " + in("parts.npz")));
  EXPECT_EQ(whole["parts"], 1);
  EXPECT_EQ(parts["parts"], 3);
  EXPECT_LT(parts["measured_peak_bytes"], whole["measured_peak_bytes"]);
  io::NamedTensors summed = io::load_npz(in("parts.npz"));
  for (const auto& [name, tensor] : io::load_npz(in("whole.npz"))) {
    std::vector<float> a = tensor.to_vector<float>(), b = array_in(summed, name).to_vector<float>();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << name;
  }
  object_of(grad("vgg", "--accumulate 3 --budget 95% --out " + in("less.npz")));
  io::NamedTensors less = io::load_npz(in("less.npz"));
  for (const auto& [name, tensor] : summed) EXPECT_TRUE(same_bits(tensor, array_in(less, name))) << name;
  EXPECT_EQ(object_of(grad("vgg", "--accumulate auto"))["parts"], 1);
}

TEST_F(OnnxCommand, GradFindsThePartsThatFitHoweverShortTheSearch) {
  auto refused = [&](const std::string& options) {
    Outcome run = tool(grad("gpt", options + " --loss cross_entropy --budget 1KB --time-limit 0.1 --json 2>/dev/null"));
    EXPECT_EQ(run.status, 3);
    return json::parse(run.output)["min_budget_bytes"].get<std::int64_t>();
  };
  std::int64_t whole = refused("--accumulate 1"), halves = refused("--accumulate 2"),
               named = refused("--accumulate auto");
  for (std::int64_t budget : {std::max(whole, halves), named})
    EXPECT_EQ(tool(grad("gpt", "--loss cross_entropy --accumulate auto --time-limit 0.1 --budget " +
                                   std::to_string(budget) + " >/dev/null 2>&1"))
                  .status,
              0);
  EXPECT_LE(named, std::max(whole, halves));
  EXPECT_TRUE(
      holds(complaint(grad("gpt", "--loss cross_entropy --accumulate auto --budget 1KB --time-limit 0.1")).output,
            "Of 1 to 2 parts"));
}

TEST_F(OnnxCommand, GradSaysWhyABatchCannotBeWorkedThroughInParts) {
  Outcome uneven = complaint(grad("vgg", "--accumulate 2")), norm = complaint(grad("resnet", "--accumulate 3"));
  EXPECT_EQ(uneven.status, 1);
  EXPECT_TRUE(holds(uneven.output, "cannot be worked through in 2 equal parts")) << uneven.output;
  EXPECT_EQ(norm.status, 1);
  EXPECT_TRUE(holds(norm.output, "a layer updates itself from the batch it sees (batch norm does)")) << norm.output;
  Outcome none = complaint(grad("vgg", "--accumulate 0"));
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(holds(none.output, "neither a number of parts nor auto")) << none.output;
}

TEST_F(OnnxCommand, GradTakesEveryWord) {
  json one =
      object_of(grad("vgg", "--train '10.*' --freeze 10.bias --threads 1 --seed 3 --time-limit 1 --loss-output y"));
  EXPECT_EQ(one["parameters"], 48 * 32);
  EXPECT_EQ(object_of(grad("vgg", "--shape x:3x3x16x16"))["gradients"], 10);
  EXPECT_EQ(object_of(grad("vgg", "--classes 7"))["gradients"], 10);
  Outcome head = complaint(grad("vgg", "--classes 2"));
  EXPECT_EQ(head.status, 1) << "labels go up to 4";
}

TEST_F(OnnxCommand, RefusesWhatCannotBeUsed) {
  auto refuses = [](const std::string& arguments, int status, const std::string& words) {
    Outcome run = complaint(arguments);
    EXPECT_EQ(run.status, status) << arguments << "\n" << run.output;
    EXPECT_TRUE(holds(run.output, words)) << arguments << "\n" << run.output;
  };
  std::string cut = in("cut.onnx"), whole = text_in(fixtures + "vgg.onnx");
  std::ofstream(cut, std::ios::binary) << whole.substr(0, whole.size() / 2);
  refuses("grad " + in("none.onnx") + " --inputs " + fixtures + "vgg.npz", 1, "none.onnx");
  refuses("plan " + cut + " --budget 50%", 1, "cut.onnx");
  refuses("inspect " + cut, 1, "cut.onnx");
  refuses("grad digits --inputs x.npz", 2, "does not end with .onnx");
  refuses(grad("vgg", "--loss best"), 2, "best");
  refuses(grad("vgg", "--out " + in("none/g.npz")), 1, "there is no folder");
  refuses("train digits --steps 1 --weights-out " + in("none/w.npz"), 1, "there is no folder");
  refuses("train digits --steps 1 --report " + in(""), 1, "is a folder");
  refuses("grad " + fixtures + "vgg.onnx --inputs " + fixtures + "lstm.npz", 1, "holds no array 'x'");
  refuses("bench digits --loss mse", 2, "are for ONNX files");
  refuses("train digits --out tuned.onnx --dry-run", 2, "--weights-out");
  refuses("train " + fixtures + "vgg.onnx", 1, "--data");
  refuses("bench " + fixtures + "vgg.onnx --loss-output z", 1, "choose from 'y'");
  refuses("bench " + fixtures + "vgg.onnx --train 'nothing*'", 1, "no parameter's name is like 'nothing*'");
  refuses("bench " + fixtures + "vgg.onnx --shape x:3x", 2, "is no shape");
}

TEST_F(OnnxCommand, InspectShowsWhatStandsInAFileAndWhatTrains) {
  const std::string file = fixtures + "resnet.onnx";
  json r = object_of("inspect " + file + " --batch 4 --optimizer sgd --loss cross_entropy --loss-output y");  // --json
  EXPECT_EQ(r["batch"]["x"], "f32[4,3,16,16]");
  EXPECT_EQ(r["batch"]["target"], "i64[4]");
  EXPECT_EQ(r["operators"]["Conv"], 6);
  EXPECT_EQ(r["trained"], r["parameters"]);
  EXPECT_EQ(r["kept"], 2 * (8 + 8 + 8 + 12 + 12 + 12)) << "running statistics";
  EXPECT_GT(r["flops"], 4.0 * 2 * 8 * 27 * 256) << "the first convolution's";
  json head =
      object_of("inspect " + file + " --shape x:4x3x16x16 --optimizer sgd --train '8.*' --freeze 8.bias --classes 7");
  EXPECT_EQ(head["trained"], 7 * 12);
  EXPECT_LT(head["keep_all_bytes"], head["all_trained_bytes"]);
  Outcome text = tool("inspect " + file);
  for (const char* words : {"opset 14", "GFLOP", "BatchNormalization 6", "4.bn1.running_mean", "kept by the network"})
    EXPECT_TRUE(holds(text.output, words)) << text.output;
  EXPECT_EQ(object_of("inspect digits")["parameters"], object_of("inspect digits --batch 2")["trained"]);
}

TEST_F(OnnxCommand, PlanShowsWhatFreezingSaves) {
  const std::string file = fixtures + "vgg.onnx --budget 100% --batch 16" + quick;
  json all = object_of("plan " + file + "--loss cross_entropy --loss-output y --shape x:16x3x16x16");
  json head = object_of("plan " + file + "--train '1*' --freeze '10.*' --classes 3");
  EXPECT_LT(head["keep_all_bytes"], all["keep_all_bytes"]);
  EXPECT_GE(head["all_trained_bytes"].get<std::int64_t>(), all["keep_all_bytes"].get<std::int64_t>() * 9 / 10);
  Outcome text = tool("plan " + file + "--train '13.*' 2>/dev/null");
  EXPECT_TRUE(holds(text.output, "frozen parameters save ")) << text.output;
}

TEST_F(OnnxCommand, SweepsAndReportsAndRunsLikeAnyModel) {
  const std::string words = fixtures + "vgg.onnx --batch 8" + quick;
  json curve = object_of("sweep " + words + "--points 2 --loss mse --loss-output y --shape x:8x3x16x16 --freeze '0.*'");
  EXPECT_EQ(curve.size(), 2u);
  EXPECT_EQ(object_of("sweep " + words + "--points 2 --classes 3 --train '13.*'").size(), 2u);
  json page = object_of("report " + words + "--budget 100% --points 0 --loss mse --loss-output y --train '1*' -o " +
                        in("p.html"));
  EXPECT_TRUE(page["feasible"]);
  page =
      object_of("report " + words +
                "--budget 100% --points 0 --run 1 --classes 3 --freeze '0.*' --shape x:8x3x16x16 -o " + in("q.html"));
  EXPECT_TRUE(holds(text_in(in("q.html")), "steps run"));
  json bench =
      object_of("bench " + words + "--budget 1MiB --steps 2 --loss bce --loss-output y --train '1*' --freeze 10.bias");
  EXPECT_EQ(bench["losses"].size(), 2u);
  EXPECT_LE(bench["measured_peak_bytes"], bench["budget_bytes"]);
  EXPECT_EQ(object_of("bench " + words + "--classes 3 --shape x:8x3x16x16")["losses"].size(), 5u);
}

// What is folded to a literal counts, too.
TEST_F(OnnxCommand, HoldsTheSmallestBudgetToTheByte) {
  std::string words = "bench " + fixtures + "gpt.onnx --batch 2 --estimate --steps 1 --budget ";
  json refusal = json::parse(tool(words + "1 --json 2>/dev/null").output);
  json bench = object_of(words + refusal["min_budget_bytes"].dump());
  EXPECT_LE(bench["measured_peak_bytes"], bench["budget_bytes"]);
}

TEST_F(OnnxCommand, TrainsAndWritesAFileThatReadsBackToTheSameBits) {
  std::string words = "train " + fixtures + "resnet.onnx --data " + pictures(96, 3) + quick + "--batch 8 --lr 1e-2 ";
  json r =
      object_of(words + "--steps 30 --budget 95% --quiet --out " + in("tuned.onnx") + " --weights-out " + in("w.npz"));
  EXPECT_LT(r["validation"]["loss"].get<double>(), r["before"]["loss"].get<double>());
  EXPECT_GT(r["validation"]["metric"].get<double>(), 0.9);
  EXPECT_LE(r["measured_peak_bytes"], r["budget_bytes"]);
  io::NamedTensors weights = io::load_npz(in("w.npz"));
  BuiltInModel tuned = onnx_model(in("tuned.onnx"));
  ASSERT_EQ(tuned.parameters.size(), weights.size());
  for (const nn::Named& p : tuned.parameters)
    EXPECT_TRUE(same_bits(p.parameter.value(), array_in(weights, p.name))) << p.name;
}

TEST_F(OnnxCommand, TrainsANewHeadAlone) {
  std::string words =
      "train " + fixtures + "vgg.onnx --data " + pictures(60, 3) + quick + "--batch 6 --quiet --steps 3 ";
  json r = object_of(words +
                     "--classes 3 --train '13.*,10.*' --freeze '*.bias' --loss cross_entropy --loss-output y "
                     "--shape x:6x3x16x16 --out " +
                     in("head.onnx"));
  EXPECT_EQ(r["params"], 3 * 32 + 32 * 48);
  EXPECT_LT(r["unlimited_bytes"], r["all_trained_bytes"]);
  BuiltInModel before = onnx_model(fixtures + "vgg.onnx"), after = onnx_model(in("head.onnx"));
  for (std::size_t i = 0; i < before.parameters.size(); ++i) {
    const nn::Parameter &old = before.parameters[i].parameter, &now = after.parameters[i].parameter;
    const std::string& name = after.parameters[i].name;
    bool is_changed = name == "10.weight" || name.starts_with("13.");
    EXPECT_EQ(same_bits(old.value(), now.value()), !is_changed) << name;
  }
  EXPECT_EQ(to_string(after.parameters[8].parameter.type()), "f32[3,32]");
  EXPECT_EQ(onnx_summary(in("head.onnx")).outputs[0].sizes, (std::vector<std::int64_t>{-1, 3}));
}

TEST_F(OnnxCommand, GoesOnBitForBitWithTheFileTheRunBeganWith) {
  std::string file = copy("mobilenet.onnx");
  std::string words = "train " + file + " --data " + pictures(64, 3) + quick + "--batch 8 --quiet ";
  json whole = object_of(words + "--steps 6");
  object_of(words + "--steps 3 --save " + in("run"));
  json rest = object_of("train --resume " + in("run") + quick + "--steps 6 --quiet");
  EXPECT_EQ(rest["losses"], whole["losses"]);
  EXPECT_EQ(rest["validation"], whole["validation"]);
  std::string bytes = text_in(file);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  Outcome other = complaint("train --resume " + in("run") + quick + "--steps 8 --quiet");
  EXPECT_EQ(other.status, 1);
  EXPECT_TRUE(holds(other.output, "is not the file that the run began with")) << other.output;
}

TEST_F(OnnxCommand, TrainsANetworkOfSeveralInputs) {
  io::NamedTensors two = io::load_npz(fixtures + "bert.npz"), many;
  for (const auto& [name, tensor] : two) {  // the two samples, ten times
    Shape shape = tensor.shape();
    shape[0] *= 10;
    Tensor wide = Tensor::empty({tensor.dtype(), shape});
    for (std::int64_t i = 0; i < 10; ++i)
      std::memcpy(static_cast<char*>(wide.data()) + i * tensor.bytes(), tensor.data(),
                  static_cast<std::size_t>(tensor.bytes()));
    many.emplace_back(name, wide);
  }
  io::save_npz(in("many.npz"), many);
  std::string words =
      "train " + fixtures + "bert.onnx --data " + in("many.npz") + quick + "--batch 4 --quiet --lr 1e-2 ";
  json r = object_of(words + "--steps 20 --validation 0.2");
  EXPECT_LT(r["validation"]["loss"].get<double>(), 0.5 * r["before"]["loss"].get<double>());
  EXPECT_EQ(r["validation"]["metric"], 1.0);
  Outcome plain = complaint("train " + fixtures + "bert.onnx --data " + pictures(8, 2) + quick);
  EXPECT_EQ(plain.status, 1);
}

TEST_F(OnnxCommand, TakesFilesWhoseNamesEndInCapitals) {
  std::filesystem::copy_file(fixtures + "vgg.onnx", in("VGG.ONNX"));
  EXPECT_EQ(tool("inspect " + in("VGG.ONNX")).status, 0);
  EXPECT_EQ(tool("plan " + in("VGG.ONNX") + quick + "--budget 1MiB").status, 0);
}

TEST_F(OnnxCommand, RefusesDataThatWouldTakeThePlaceOfOthers) {
  Outcome twice = complaint("train " + fixtures + "vgg.onnx --data a.npz --data b.npz" + quick);
  EXPECT_EQ(twice.status, 2);
  EXPECT_TRUE(holds(twice.output, "--data")) << twice.output;
}

TEST_F(OnnxCommand, SaysWhichLossLearnsNumbers) {
  io::save_npz(in("numbers.npz"), {{"x", Tensor::full({DType::f32, {20, 3, 16, 16}}, 1)},
                                   {"y", Tensor::full({DType::f32, {20, 5}}, 0.5)}});
  std::string train = "train " + fixtures + "vgg.onnx --steps 1 --data " + in("numbers.npz") + quick;
  Outcome classes = complaint(train);
  EXPECT_EQ(classes.status, 1);
  EXPECT_TRUE(holds(classes.output, "the losses of numbers are mse and bce")) << classes.output;
  EXPECT_EQ(tool(train + "--loss mse --quiet").status, 0);
}

// The same file of arrays as `grad` takes.
TEST_F(OnnxCommand, TrainsOnArraysOfTheModelsOwnNames) {
  std::string words = "--budget 10MiB --batch 1 --steps 1 --quiet --loss bce" + quick;
  EXPECT_EQ(tool("train " + fixtures + "unet.onnx --data " + fixtures + "unet.npz " + words).status, 0);
  Outcome other = complaint("train " + fixtures + "unet.onnx --data " + fixtures + "gpt.npz " + words);
  EXPECT_EQ(other.status, 1);
  EXPECT_TRUE(holds(other.output, "must hold arrays 'x' and 'y', or 'image' and 'target', but holds")) << other.output;
}

}  // namespace
}  // namespace reprise::cli::onnx_tests
