// SPDX-License-Identifier: Apache-2.0
// What a network is understood as: its types, its initializers' roles, what is folded, what is refused.
#include "onnx/importer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "message.h"
#include "onnx/draft.h"
#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

TEST(OnnxOperators, AreAllInTheDocument) {
  std::ifstream file(std::string(REPRISE_SOURCE_DIR) + "/docs/onnx.md");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::size_t begin = text.find(" operators: "), end = text.find('.', begin);
  ASSERT_LT(begin, end);
  std::istringstream words(text.substr(begin + 12, end - begin - 12));
  std::set<std::string> told{std::istream_iterator<std::string>(words), {}}, known;
  for (std::string_view name : own_operators()) known.emplace(name);
  EXPECT_EQ(told, known);
  EXPECT_NE(text.find(std::to_string(known.size()) + " operators: "), std::string::npos);
}

std::string refusal(const Draft& draft, const ImportOptions& options = {}) {
  return message_of([&] { Network(draft.document(), options); });
}

int nodes_of(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes(), [&](const reprise::Node& n) { return n.op->name == op; }));
}

TEST(OnnxNetwork, HasEveryOperatorItPromises) {
  constexpr std::string_view promised =
      "Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat Constant ConstantOfShape Conv "
      "ConvTranspose Cos CumSum DepthToSpace Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather "
      "GatherElements Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish Identity "
      "InstanceNormalization LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean "
      "Min Mish Mul Neg NegativeLogLikelihoodLoss Not Or PRelu Pad Pow RNN Range Reciprocal ReduceL2 ReduceLogSumExp "
      "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize Round ScatterElements "
      "ScatterND Selu Shape Sigmoid Sign Sin Slice Softmax SoftmaxCrossEntropyLoss Softplus SpaceToDepth Split Sqrt "
      "Squeeze Sub Sum Tanh Tile Transpose Trilu Unsqueeze Where Xor";
  for (std::size_t at = 0; at < promised.size();) {
    std::size_t end = std::min(promised.find(' ', at), promised.size());
    Node node{"", std::string(promised.substr(at, end - at)), "", {}, {}, {}};
    EXPECT_TRUE(find_operator(node, newest_opset)) << node.op;
    at = end + 1;
  }
}

TEST(OnnxNetwork, SaysEverythingThatIsMissingAtOnce) {
  Draft d;
  d.input("x", {2, 3}).integers("n", {1}).integers("four", {0, 0, 0, 0});
  d.node("TopK", {"x", "n"}, {"a", "i"}).node("TopK", {"x", "n"}, {"b", "j"}).node("NonZero", {"x"}, {"z"});
  d.node("Resize", {"x", "", "", "z"}, {"r"}).node("Pad", {"x", "four"}, {"p"}, {draft_text("mode", "wrap")});
  for (const char* name : {"a", "b", "r", "p"}) d.output(name);
  std::string text = refusal(d);
  EXPECT_NE(text.find("TopK' 'TopK_a' and 1 more: not supported"), std::string::npos) << text;
  EXPECT_NE(text.find("NonZero"), std::string::npos) << text;
  EXPECT_NE(text.find("mode \"wrap\" is not supported: constant, reflect and edge are"), std::string::npos) << text;
  EXPECT_EQ(text.find("Resize"), std::string::npos) << "it only depends on what is missing: " << text;
}

TEST(OnnxNetwork, MindsOnlyWhatItsOutputsNeed) {
  Draft d;
  d.input("x", {2, 3}).node("NonZero", {"x"}, {"unused"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(Network(d.document()).outputs()[0].second, (Type{DType::f32, {2, 3}}));
}

TEST(OnnxNetwork, PutsNodesInOrder) {
  Draft d;
  d.input("x", {2}).node("Exp", {"h"}, {"y"}).node("Relu", {"x"}, {"h"}).output("y");
  Tensor y = run_network(Network(d.document()), {Tensor{-1, 1}}).outputs[0];
  EXPECT_NEAR(y.to_vector<double>()[1], std::exp(1.0), 1e-6);
}

TEST(OnnxNetwork, RefusesCyclesUnknownNamesAndNamesMadeTwice) {
  Draft cycle, unknown, twice;
  cycle.input("x", {2}).node("Add", {"x", "b"}, {"a"}).node("Relu", {"a"}, {"b"}).output("b");
  EXPECT_NE(refusal(cycle).find("goes in circles: nodes wait for each other"), std::string::npos);
  unknown.input("x", {2}).node("Add", {"x", "nobody"}, {"y"}).output("y");
  EXPECT_NE(refusal(unknown).find("reads 'nobody', which nothing makes"), std::string::npos);
  twice.input("x", {2}).node("Relu", {"x"}, {"y"}).node("Exp", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal(twice).find("makes a name twice: 'y'"), std::string::npos);
}

TEST(OnnxNetwork, NamesTheNodeWhoseShapesDoNotFit) {
  Draft d;
  d.input("x", {2, 3}).input("y", {4, 5}).node("MatMul", {"x", "y"}, {"z"}).output("z");
  std::string text = refusal(d);
  EXPECT_NE(text.find("at MatMul 'MatMul_z': [matmul]"), std::string::npos) << text;
}

TEST(OnnxNetwork, RefusesOpsetsItDoesNotKnow) {
  EXPECT_NE(refusal(Draft(22).input("x", {2}).output("x")).find("opsets up to 21 are known"), std::string::npos);
  Draft old(8);
  old.input("x", {2, 2}).node("Erf", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal(old).find("its form of opset 8 is not supported"), std::string::npos);
}

TEST(OnnxNetwork, BindsOpenDimensions) {
  Draft d;
  d.input("x", {-1, 3}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(Network(d.document()).inputs()[0].second.shape, (Shape{1, 3}));
  EXPECT_EQ(Network(d.document(), {.batch = 7}).outputs()[0].second.shape, (Shape{7, 3}));
  EXPECT_EQ(Network(d.document(), {.shapes = {{"x", {5, 3}}}}).outputs()[0].second.shape, (Shape{5, 3}));
  Draft open;
  open.input("x", {2, -1}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_NE(refusal(open).find("leaves dimension 1 of input 'x' open ('N'): say its shape"), std::string::npos);
  Draft twice;  // one name is one size
  twice.input("x", {-1, 3}).input("z", {3, -1}).node("MatMul", {"x", "z"}, {"y"}).output("y");
  EXPECT_EQ(Network(twice.document(), {.batch = 4}).outputs()[0].second.shape, (Shape{4, 4}));
}

TEST(OnnxNetwork, FoldsWhatIsKnown) {
  Draft d;
  d.input("x", {-1, 3, 4}).integers("zero", {0}).integers("rest", {-1});
  d.node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"n"})
      .node("Concat", {"n", "rest"}, {"to"}, {draft_integer("axis", 0)});
  d.node("Reshape", {"x", "to"}, {"y"}).output("y");
  Network network(d.document(), {.batch = 2});
  EXPECT_EQ(network.outputs()[0].second.shape, (Shape{2, 12}));
  Graph graph = run_network(network, {draft_numbers({DType::f32, {2, 3, 4}}, 1)}).graph;
  EXPECT_EQ(nodes_of(graph, "gather") + nodes_of(graph, "concat"), 0);
}

TEST(OnnxNetwork, TellsWeightsFromStatisticsAndConstants) {
  Draft d(14);
  d.input("x", {2, 3, 4, 4}).weight("w", {3, 3, 1, 1}).weight("scale", {3}).weight("shift", {3}).weight("mean", {3});
  d.floats("var", {3}, {1, 1, 1}).floats("low", {}, {0}).integers("sizes", {2, -1}).weight("idle", {2});
  d.node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "shift", "mean", "var"}, {"n", "m", "v"},
            {draft_integer("training_mode", 1)});
  d.node("Clip", {"n", "low"}, {"r"}).node("Reshape", {"r", "sizes"}, {"y"}).output("y");
  Network network(d.document());
  for (const char* name : {"w", "scale", "shift"}) EXPECT_EQ(network.role(name), Role::trained) << name;
  for (const char* name : {"mean", "var"}) EXPECT_EQ(network.role(name), Role::statistic) << name;
  for (const char* name : {"low", "sizes", "idle"}) EXPECT_EQ(network.role(name), Role::constant) << name;
  EXPECT_TRUE(network.notes().empty());
}

// Both forms of a batch norm in training: running statistics move by 1 - momentum toward the batch's.
TEST(OnnxNetwork, TellsWhatRunningStatisticsBecome) {
  for (int opset : {9, 13, 14, 21}) {
    Draft d(opset);
    d.input("x", {4, 2})
        .floats("scale", {2}, {1, 1})
        .floats("shift", {2}, {0, 0})
        .floats("mean", {2}, {1, 1})
        .floats("var", {2}, {2, 2});
    std::vector<std::string> outputs{"y", "m", "v"};
    std::vector<WireMessage> attributes{draft_real("momentum", 0.75f)};
    if (opset < 14) outputs.insert(outputs.end(), {"sm", "sv"});
    if (opset >= 14) attributes.push_back(draft_integer("training_mode", 1));
    d.node("BatchNormalization", {"x", "scale", "shift", "mean", "var"}, outputs, attributes).output("y");
    Network network(d.document());
    std::map<std::string, Tensor> constants;
    for (const FileTensor& t : network.document().initializers) constants[t.name] = t.read();
    std::map<std::string, Value> next;
    Graph graph = trace(
        [&](const Values& in) -> Values {
          Network::Hooks hooks{.initializer = [&](const std::string& name) { return Value(constants.at(name)); },
                               .statistic = [&](const std::string& name, const Value& v) { next[name] = v; }};
          Values y = network.record(in, hooks, true);
          return {y[0], next.at("mean"), next.at("var")};
        },
        std::vector<Type>{{DType::f32, {4, 2}}});
    auto results = evaluate(graph, std::vector<Tensor>{Tensor{{0, 1}, {2, 3}, {4, 5}, {6, 7}}});
    EXPECT_EQ(results[1].to_vector<double>(), (std::vector<double>{0.75 + 0.25 * 3, 0.75 + 0.25 * 4})) << opset;
    EXPECT_EQ(results[2].to_vector<double>(), (std::vector<double>{1.5 + 0.25 * 5, 1.5 + 0.25 * 5})) << opset;
  }
}

TEST(OnnxNetwork, UsesRunningStatisticsOutsideTraining) {
  Draft d(14);
  d.input("x", {2, 1})
      .floats("scale", {1}, {2})
      .floats("shift", {1}, {1})
      .floats("mean", {1}, {3})
      .floats("var", {1}, {4});
  d.node("BatchNormalization", {"x", "scale", "shift", "mean", "var"}, {"y", "m", "v"},
         {draft_integer("training_mode", 1), draft_real("epsilon", 0)});
  Network network(d.output("y").document());
  Tensor y = run_network(network, {Tensor{{5}, {3}}}, false).outputs[0];
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{3, 1}));
}

TEST(OnnxNetwork, SaysThatItWasExportedForInference) {
  Draft fixed(14), folded(14);
  fixed.input("x", {2, 1}).weight("s", {1}).weight("b", {1}).weight("m", {1}).weight("v", {1});
  fixed.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}).output("y");
  Network network(fixed.document());
  ASSERT_EQ(network.notes().size(), 1u);
  EXPECT_NE(network.notes()[0].find("exported for inference: 1 batch norm"), std::string::npos);
  EXPECT_NE(network.notes()[0].find("TrainingMode.TRAINING"), std::string::npos);
  folded.input("x", {2, 1, 3}).weight("w", {1, 1, 1}).weight("b", {1}).node("Conv", {"x", "w", "b"}, {"y"}).output("y");
  EXPECT_NE(Network(folded.document()).notes().at(0).find("the exporter folded them away"), std::string::npos);
}

TEST(OnnxNetwork, RefusesAWeightOfMoreDimensionsThanItIsMovedOver) {
  for (const std::string op : {"Conv", "ConvTranspose"}) {
    Draft d;
    d.input("x", {2, 1, 6}).weight("w", {1, 1, 3, 3});
    d.node(op, {"x", "w"}, {"y"}, {draft_text("auto_pad", "SAME_UPPER")}).output("y");
    EXPECT_NE(refusal(d).find(op + " moves a weight of 2 spatial dimensions over"), std::string::npos) << refusal(d);
  }
}

TEST(OnnxNetwork, DropsOnlyInTrainingAndByTheKeysItIsGiven) {
  Draft d;
  d.input("x", {100}).number("ratio", 0.5f).truth("live", true).truth("off", false);
  d.node("Dropout", {"x", "ratio", "live"}, {"h", "mask"})
      .node("Dropout", {"h", "ratio", "off"}, {"y"})
      .output("y")
      .output("mask");
  Network network(d.document());
  std::vector<std::string> asked;
  auto run = [&](bool training) {
    Graph graph = trace(
        [&](const Values& in) {
          Network::Hooks hooks{.initializer = {}, .dropout_key = [&](const std::string& node) {
                                 asked.push_back(node);
                                 return Value(random_key(3));
                               }};
          return network.record(in, hooks, training);
        },
        std::vector<Type>{{DType::f32, {100}}});
    return evaluate(graph, std::vector<Tensor>{Tensor::full({DType::f32, {100}}, 1)});
  };
  std::vector<Tensor> kept = run(false), dropped = run(true);
  EXPECT_EQ(asked, (std::vector<std::string>{"Dropout_h"}));
  EXPECT_TRUE(same_bits(kept[0], Tensor::full({DType::f32, {100}}, 1)));
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(dropped[0].span<float>()[i], dropped[1].span<bool>()[i] ? 2 : 0);
}

// Recurrent nets that know their lengths are our own; those that do not are recorded step by step.
TEST(OnnxNetwork, RecurrentNetsAgreeInBothWaysTheyAreRecorded) {
  struct Kind {
    std::string op;
    std::int64_t gates;
  };
  for (const Kind& kind : {Kind{"RNN", 1}, Kind{"LSTM", 4}, Kind{"GRU", 3}})
    for (std::string direction : {"forward", "reverse", "bidirectional"}) {
      std::int64_t n = direction == "bidirectional" ? 2 : 1, h = 3;
      Draft d(14);
      d.input("x", {4, 2, 5})
          .input("lengths", {2}, 6)
          .weight("w", {n, kind.gates * h, 5})
          .weight("r", {n, kind.gates * h, h});
      d.weight("b", {n, 2 * kind.gates * h}).weight("h0", {n, 2, h});
      d.node(kind.op, {"x", "w", "r", "b", "lengths", "h0"}, {"y", "last"},
             {draft_text("direction", direction), draft_integer("hidden_size", h),
              draft_integer("linear_before_reset", 1)});
      d.output("y").output("last");
      Tensor x = draft_numbers({DType::f32, {4, 2, 5}}, 5), lengths = Tensor::full({DType::i32, {2}}, 4);
      Network told(d.document(), {.known = {{"lengths", lengths}}}), untold(d.document());
      Ran a = run_network(told, {x}), b = run_network(untold, {x, lengths});
      SCOPED_TRACE(kind.op + " " + direction);
      expect_alike(a, b);
      EXPECT_EQ(nodes_of(a.graph, "where"), 0);
      EXPECT_GT(nodes_of(b.graph, "where"), 0);
    }
}

TEST(OnnxNetwork, ShortSequencesKeepTheirLastStateAndGiveZeros) {
  Draft d(14);
  d.input("x", {3, 2, 1})
      .floats("w", {1, 1, 1}, {1})
      .floats("r", {1, 1, 1}, {0})
      .node("RNN", {"x", "w", "r", "", "lengths"}, {"y", "last"}, {draft_integer("hidden_size", 1)});
  Network network(d.input("lengths", {2}, 6).output("y").output("last").document());
  Tensor lengths = Tensor::from(std::vector<std::int32_t>{3, 1}, {2});
  Ran ran = run_network(network, {Tensor{1, 2, 3, 4, 5, 6}.reshape({3, 2, 1}), lengths});
  auto y = ran.outputs[0].to_vector<double>(), last = ran.outputs[1].to_vector<double>();
  EXPECT_EQ((std::vector<double>{y[3], y[5]}), (std::vector<double>{0, 0}));
  EXPECT_NEAR(last[0], std::tanh(5.0), 1e-6);
  EXPECT_NEAR(last[1], std::tanh(2.0), 1e-6);
}

TEST(OnnxNetwork, SmallIntegersWrapAround) {
  Draft d;
  d.input("x", {3}).node("Cast", {"x"}, {"u"}, {draft_integer("to", 2)}).node("Add", {"u", "u"}, {"sum"});
  d.node("Cast", {"sum"}, {"y"}, {draft_integer("to", 1)}).output("y");
  Tensor y = run_network(Network(d.document()), {Tensor{100, 200, 255}}).outputs[0];
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{200, 144, 254}));
}

TEST(OnnxNetwork, GeluAndMish) {
  for (std::string op : {"Gelu", "Mish"}) {
    Draft d(20);
    d.input("x", {3}).node(op, {"x"}, {"y"}).output("y");
    auto y = run_network(Network(d.document()), {Tensor{-1, 0.5, 2}}).outputs[0].to_vector<double>();
    std::vector<double> x{-1, 0.5, 2};
    for (std::size_t i = 0; i < 3; ++i) {
      double gelu = x[i] / 2 * (1 + std::erf(x[i] / std::sqrt(2.0))),
             mish = x[i] * std::tanh(std::log1p(std::exp(x[i])));
      EXPECT_NEAR(y[i], op == "Gelu" ? gelu : mish, 1e-6);
    }
  }
}

}  // namespace
}  // namespace reprise::onnx
