// SPDX-License-Identifier: Apache-2.0
// Files as models: what trains, by which loss, and what goes back into the file.
#include <gtest/gtest.h>

#include <cmath>

#include "onnx/draft.h"
#include "onnx/head.h"
#include "onnx/loss.h"
#include "onnx/wire_writer.h"
#include "reprise/onnx.h"
#include "reprise/train.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

const std::string exported = std::string(REPRISE_SOURCE_DIR) + "/tests/onnx/fixtures/";

class OnnxModel : public testing::Test {
 protected:
  std::string file(const std::string& name, const WireMessage& graph) const {
    write_bytes(folder_.path() + "/" + name, wire_model(graph).bytes());
    return folder_.path() + "/" + name;
  }
  std::string in(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  TemporaryFolder folder_;
};

WireMessage constant_node(const std::string& name, const std::vector<std::int64_t>& dims,
                          const std::vector<float>& values) {
  WireMessage tensor = wire_tensor("", 1, dims).text(9, WireMessage::raw(values));
  return wire_node("Constant", {}, {name}, {WireMessage().text(1, "value").message(5, tensor).integer(20, 4)});
}

// softmax(x w), with w in a Constant node.
WireMessage classifier() {
  WireMessage graph;
  graph.message(1, constant_node("w", {2, 3}, {1, -2, 3, 0.5F, 1, -1}));
  graph.message(1, wire_node("MatMul", {"x", "w"}, {"h"}));
  graph.message(1, wire_node("Softmax", {"h"}, {"y"}));
  graph.message(11, wire_value("x", {-1, 2}));
  graph.message(12, wire_value("y", {-1, 3}));
  return graph;
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was refused";
}

TEST_F(OnnxModel, TakesCrossEntropyOfWhatIsBeforeASoftmax) {
  BuiltInModel model = onnx_model(file("c.onnx", classifier()), {.batch = 1});
  EXPECT_EQ(model.batch, (std::vector<Type>{{DType::f32, {1, 2}}, {DType::i64, {1}}}));
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  double loss = step(Tensor{{1, 2}}, Tensor::full({DType::i64, {1}}, 0));
  double logits[] = {2, 0, 1};
  EXPECT_NEAR(loss, -std::log(std::exp(logits[0]) / (std::exp(logits[0]) + std::exp(logits[1]) + std::exp(logits[2]))),
              1e-6);
}

// Where a file of that opset ends with a Softmax, of that axis unless it is 0, over an output of that rank.
std::string before_softmax(std::int64_t opset, std::int64_t axis, std::size_t rank) {
  Document document;
  document.opsets[""] = opset;
  document.nodes = {{.op = "Softmax", .inputs = {"h"}, .outputs = {"y"}}};
  if (axis != 0) document.nodes[0].attributes = {{"axis", axis}};
  document.outputs = {{.name = "y", .has_shape = rank > 0, .dims = std::vector<Dimension>(rank)}};
  return before(document, "y", {"Softmax"});
}

TEST(OnnxLoss, LeavesOutASoftmaxOverTheClassesOnly) {
  for (std::int64_t opset : {9, 12, 13, 21}) {
    EXPECT_EQ(before_softmax(opset, 0, 2), "h") << opset;
    EXPECT_EQ(before_softmax(opset, 1, 2), "h") << opset;
    EXPECT_EQ(before_softmax(opset, 1, 0), "h") << "a matrix, as far as one knows";
    EXPECT_EQ(before_softmax(opset, -1, 3), "h") << opset;
    EXPECT_EQ(before_softmax(opset, 2, 3), "h") << opset;
    EXPECT_EQ(before_softmax(opset, 2, 4), "y") << opset;
  }
  EXPECT_EQ(before_softmax(12, 0, 3), "y") << "two dimensions are one row";
  EXPECT_EQ(before_softmax(12, 1, 4), "y");
  EXPECT_EQ(before_softmax(13, 0, 3), "h");
  EXPECT_EQ(before_softmax(13, 1, 4), "h") << "of the channels of pictures";
}

TEST_F(OnnxModel, TrainsWeightsThatStandInConstantNodesAndWritesThemBack) {
  BuiltInModel model = onnx_model(file("c.onnx", classifier()), {.batch = 4});
  ASSERT_EQ(model.parameters.size(), 1u);
  EXPECT_EQ(model.parameters[0].name, "w");
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  step.run(model.random_batch(1));
  save_onnx(model, in("tuned.onnx"));
  BuiltInModel tuned = onnx_model(in("tuned.onnx"), {.batch = 4});
  EXPECT_TRUE(same_bits(tuned.parameters[0].parameter.value(), model.parameters[0].parameter.value()));
  EXPECT_NE(tuned.parameters[0].parameter.value().to_vector<float>()[0], 1);
  EXPECT_EQ(onnx_summary(in("tuned.onnx")).operators, onnx_summary(in("c.onnx")).operators);
}

TEST_F(OnnxModel, GivesANewHeadAndSaysWhich) {
  for (const char* name : {"resnet", "bert", "unet"}) {  // Gemm, Gemm, and Conv
    BuiltInModel model = onnx_model(exported + name + ".onnx", {.classes = 7});
    EXPECT_NE(model.notes.back().find("a new head of 7 outputs"), std::string::npos) << name;
    model.save(in("head.onnx"));
    BuiltInModel again = onnx_model(in("head.onnx"));
    ASSERT_EQ(again.parameters.size(), model.parameters.size());
    for (std::size_t i = 0; i < model.parameters.size(); ++i)
      EXPECT_TRUE(same_bits(again.parameters[i].parameter.value(), model.parameters[i].parameter.value()))
          << name << " " << model.parameters[i].name;
  }
  std::string why = refusal([] { onnx_model(exported + "gpt.onnx", {.classes = 7}); });
  EXPECT_NE(why.find("used elsewhere too"), std::string::npos) << why;
}

TEST_F(OnnxModel, StartsANewHeadFromItsSeed) {
  auto head = [](nn::Seed seed) {
    return onnx_model(exported + "lstm.onnx", {.classes = 4, .seed = seed}).parameters[9].parameter.value();
  };
  EXPECT_EQ(to_string(head(1).type()), "f32[4,12]");
  EXPECT_TRUE(same_bits(head(1), head(1)));
  EXPECT_FALSE(same_bits(head(1), head(2)));
}

// mean(dropout(x w)), which is a loss of its own.
WireMessage with_dropout() {
  WireMessage graph;
  graph.message(1, wire_node("Mul", {"x", "w"}, {"h"}));
  graph.message(1, wire_node("Dropout", {"h", "ratio", "is_training"}, {"d"}));
  graph.message(1, wire_node("ReduceMean", {"d"}, {"loss"}, {draft_integer("keepdims", 0)}));
  graph.message(5, wire_floats("w", {64}, std::vector<float>(64, 1)));
  graph.message(5, wire_floats("ratio", {}, {0.5F}));
  graph.message(5, wire_tensor("is_training", 9, {}).text(9, std::string(1, '\1')));
  graph.message(11, wire_value("x", {-1, 64}));
  graph.message(12, wire_value("loss", {}));
  return graph;
}

TEST_F(OnnxModel, DropsOtherElementsEachStepAndNoneOnValidation) {
  BuiltInModel model = onnx_model(file("d.onnx", with_dropout()), {.batch = 1});
  EXPECT_EQ(model.inputs, std::vector<std::string>{"x"}) << "the loss is its own";
  EXPECT_EQ(model.parameters.back().name, "dropout.key");
  EXPECT_EQ(model.parameter_count(), 64);
  model.rule = optim::Sgd{{.lr = 1e-30}}.rule();
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  std::vector<Tensor> x = {Tensor::full({DType::f32, {1, 64}}, 1)};
  double first = step.run(x), second = step.run(x);
  EXPECT_NE(first, second);
  EXPECT_NEAR(first, 1, 0.6);
  Compiled validation(model.validation_loss, {.measure = false});
  EXPECT_EQ(validation.run(x)[0].item(), 1);
}

TEST_F(OnnxModel, DropsOtherElementsInEachPartOfABatch) {
  BuiltInModel model = onnx_model(file("d.onnx", with_dropout()), {.batch = 2});
  model.rule = optim::Sgd{{.lr = 1e-30}}.rule();
  TrainStep step(model.loss, model.parameters, model.rule, {.accumulate = 2, .measure = false});
  std::vector<Tensor> x = {Tensor::full({DType::f32, {2, 64}}, 1)};
  bool has_odd_count = false;  // one mask for both parts would keep an even number of elements
  for (int i = 0; i < 8; ++i) has_odd_count = std::lround(step.run(x) * 64) % 2 == 1 || has_odd_count;
  EXPECT_TRUE(has_odd_count);
}

TEST_F(OnnxModel, RefusesWhatTheFileDoesNotHave) {
  std::string path = file("c.onnx", classifier());
  auto refuses = [&](const OnnxOptions& options, const std::string& words) {
    std::string why = refusal([&] { onnx_model(path, options); });
    EXPECT_NE(why.find(words), std::string::npos) << why;
  };
  refuses({.output = "z"}, "choose from 'y'");
  refuses({.loss = "best"}, "choose from own, cross_entropy, mse, bce, sum");
  refuses({.shapes = {{"z", {1}}}}, "has no input 'z'");
  refuses({.loss = "own"}, "is f32[8,3], no loss of its own");
  std::string why = refusal([] { save_onnx(built_in_model("digits"), "x.onnx"); });
  EXPECT_NE(why.find("built-in"), std::string::npos) << why;
}

TEST_F(OnnxModel, AsksForSizesThatTheFileLeavesOpen) {
  WireMessage graph;
  graph.message(1, wire_node("GlobalAveragePool", {"x"}, {"y"}));
  graph.message(11, wire_value("x", {-1, 3, -1, -1}));
  graph.message(12, wire_value("y", {-1, 3, 1, 1}));
  std::string path = file("open.onnx", graph), why = refusal([&] { onnx_model(path, {.loss = "sum"}); });
  EXPECT_NE(why.find("leaves sizes of its input 'x' open: it is Nx3xNxN"), std::string::npos) << why;
  EXPECT_EQ(to_string(onnx_model(path, {.shapes = {{"x", {2, 3, 4, 5}}}, .loss = "sum"}).batch[0]), "f32[2,3,4,5]");
}

TEST(OnnxLoss, FindsTheAxisOfTheClasses) {
  EXPECT_EQ(class_axis({8, 10}, {8}), 1);
  EXPECT_EQ(class_axis({8, 5, 10}, {8, 5}), 2);
  EXPECT_EQ(class_axis({8, 5, 10}, {8, 10}), 1);
  EXPECT_EQ(class_axis({8, 5, 10}, {40}), 2) << "one long row";
  EXPECT_EQ(class_axis({2, 3, 4, 4}, {2, 4, 4}), 1) << "pictures";
  EXPECT_NE(refusal([] { class_axis({8, 10}, {7}); }), "nothing was refused");
}

TEST(OnnxShapes, AreReadAsPeopleWriteThem) {
  auto shapes = onnx_shapes({"x:8x3x224x224", "ids:4"});
  EXPECT_EQ(shapes["x"], (std::vector<std::int64_t>{8, 3, 224, 224}));
  EXPECT_EQ(shapes["ids"], std::vector<std::int64_t>{4});
  for (const char* wrong : {"x", ":3", "x:3x", "x:3xx4", "x:0", "x:-1", "x:3 x4"})
    EXPECT_NE(refusal([&] { onnx_shapes({wrong}); }), "nothing was refused") << wrong;
}

TEST(ChooseTrained, TakesPatternsAndBeginnings) {
  auto trained = [](const TrainedChoice& choice) {
    BuiltInModel model = onnx_model(exported + "vgg.onnx");
    choose_trained(model, choice);
    std::string names;
    for (const nn::Named& p : model.parameters)
      if (p.parameter.trainable()) names += p.name + " ";
    return names;
  };
  EXPECT_EQ(trained({.train = {"13."}}), "13.weight 13.bias ");
  EXPECT_EQ(trained({.train = {"1?.*"}, .freeze = {"*.bias"}}), "10.weight 13.weight ");
  EXPECT_EQ(trained({.freeze = {"*.weight", "0.", "2.", "5."}}), "10.bias 13.bias ");
  EXPECT_EQ(trained({.train = {"*b*s"}, .freeze = {"1*"}}), "0.bias 2.bias 5.bias ");
  EXPECT_NE(refusal([&] { trained({.train = {"x*"}}); }).find("is like 'x*'"), std::string::npos);
  EXPECT_NE(refusal([&] { trained({.freeze = {"*"}}); }).find("every parameter"), std::string::npos);
}

TEST(OnnxFingerprint, ChangesWithTheFile) {
  EXPECT_EQ(onnx_fingerprint(exported + "vgg.onnx"), onnx_fingerprint(exported + "vgg.onnx"));
  EXPECT_NE(onnx_fingerprint(exported + "vgg.onnx"), onnx_fingerprint(exported + "gpt.onnx"));
}

TEST_F(OnnxModel, IsAPathInLettersOfAnyCase) {
  EXPECT_TRUE(is_onnx_path("a.onnx") && is_onnx_path("NET.ONNX") && is_onnx_path("b/Net.Onnx"));
  EXPECT_FALSE(is_onnx_path("onnx") || is_onnx_path("a.onnx.gz") || is_onnx_path("aonnx") || is_onnx_path(""));
}

TEST_F(OnnxModel, SaysWhichLossTakesNumbersAndWhichInputsThereAre) {
  std::string path = file("c.onnx", classifier());
  for (Shape shape : {Shape{4}, Shape{4, 3}})
    EXPECT_NE(refusal([&] {
                onnx_model(path, {.batch = 4, .target = Type{DType::f32, shape}});
              }).find("cross_entropy wants classes, which are integers; the losses of numbers are mse and bce"),
              std::string::npos);
  EXPECT_NE(refusal([&] {
              onnx_model(path, {.shapes = {{"z", {4, 2}}}});
            }).find("has no input 'z' to give a shape: choose from 'x'"),
            std::string::npos);
}

TEST_F(OnnxModel, RefusesMoreWeightsThanCanBePlanned) {
  WireMessage graph;
  std::vector<std::string> names{"x"};
  for (int i = 0; i < 20'001; ++i) graph.message(5, wire_floats(names.emplace_back("w" + std::to_string(i)), {1}, {1}));
  graph.message(1, wire_node("Sum", names, {"y"})).message(11, wire_value("x", {1})).message(12, wire_value("y", {1}));
  EXPECT_NE(refusal([&] { onnx_model(file("many.onnx", graph)); }).find("has more than 20000 tensors of weights"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise::onnx
