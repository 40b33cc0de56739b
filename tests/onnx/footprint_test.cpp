// SPDX-License-Identifier: Apache-2.0
// Within a budget in bytes, the nodes of a file take no more memory than the file's size and the budget.
#include "onnx/footprint.h"

#include <gtest/gtest.h>

#include "message.h"
#include "onnx/document.h"
#include "onnx/wire_writer.h"
#include "reprise/onnx.h"
#include "temporary.h"

namespace reprise::onnx {
namespace {

class OnnxFootprint : public testing::Test {
 protected:
  // x times w, then one node after the other.
  std::string chain(int nodes) const {
    WireMessage graph = WireMessage().message(5, wire_floats("w", {2, 2}, {1, 2, 3, 4}));
    graph.message(11, wire_value("x", {2, 2})).message(1, wire_node("Mul", {"x", "w"}, {"v1"}));
    for (int i = 1; i < nodes; ++i)
      graph.message(1, wire_node("Tanh", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
    return file(graph.message(12, wire_value("v" + std::to_string(nodes), {2, 2})));
  }
  // One node with many inputs: a gradient for each.
  std::string wide(int inputs) const {
    WireMessage graph = WireMessage().message(5, wire_floats("w", {2, 2}, {1, 2, 3, 4}));
    graph.message(11, wire_value("x", {2, 2})).message(1, wire_node("Mul", {"x", "w"}, {"a"}));
    graph.message(1, wire_node("Sum", std::vector<std::string>(static_cast<std::size_t>(inputs), "a"), {"y"}));
    return file(graph.message(12, wire_value("y", {2, 2})));
  }
  std::string file(const WireMessage& graph) const {
    write_bytes(folder_.path() + "/m.onnx", wire_model(graph).bytes());
    return folder_.path() + "/m.onnx";
  }
  static std::string said(const std::string& path, std::int64_t budget) {
    return message_of([&] { onnx_model(path, {.loss = "sum", .budget = budget}); });
  }

  TemporaryFolder folder_;
};

TEST_F(OnnxFootprint, AFileOfManyNodesIsRefusedWithTheBudgetThatWouldDo) {
  std::string path = chain(20'000), text = said(path, 20 << 20);
  EXPECT_TRUE(text.starts_with("[onnx] '" + path + "' has 20000 nodes, and reading and recording it takes up to "))
      << text;
  EXPECT_NE(text.find(" and the budget of 20.0 MiB; a budget of "), std::string::npos) << text;
  std::size_t at = text.rfind('(');
  ASSERT_NE(at, std::string::npos) << text;
  std::int64_t enough = std::stoll(text.substr(at + 1));
  EXPECT_EQ(said(path, enough), "no error");
  EXPECT_NE(said(path, enough - 1), "no error");
  EXPECT_EQ(said(path, 0), "no error");  // no budget, and fewer nodes than any model may have
}

TEST_F(OnnxFootprint, ManyInputsCountAsManyNodes) {
  EXPECT_NE(said(wide(20'000), 20 << 20).find("has 2 nodes, and reading and recording it"), std::string::npos);
  EXPECT_EQ(said(wide(2'000), 1 << 20), "no error");
}

TEST_F(OnnxFootprint, ASummaryIsHeldToTheBudgetToo) {
  std::string path = chain(20'000);
  EXPECT_NE(message_of([&] { onnx_summary(path, 20 << 20); }).find("has 20000 nodes"), std::string::npos);
  EXPECT_EQ(onnx_summary(path, 1 << 30).operators.at("Tanh"), 19'999);
}

TEST_F(OnnxFootprint, AGraphThatGrowsPastTheBudgetIsRefusedWhileItGrows) {
  WireMessage graph = WireMessage().message(5, wire_floats("w", {1, 4, 1}, {1, 2, 3, 4}));
  graph.message(5, wire_floats("r", {1, 4, 1}, {1, 2, 3, 4})).message(11, wire_value("x", {6000, 1, 1}));
  std::vector<WireMessage> hidden = {WireMessage().text(1, "hidden_size").integer(3, 1).integer(20, 2)};
  graph.message(1, wire_node("LSTM", {"x", "w", "r"}, {"y"}, hidden)).message(12, wire_value("y", {6000, 1, 1, 1}));
  std::string text = said(file(graph), 1 << 20);
  EXPECT_NE(text.find("operations, all that there is memory for within the budget: take a larger one"),
            std::string::npos)
      << text;
}

// One byte of a file is a number of eight.
TEST_F(OnnxFootprint, ConstantsThatGrowPastTheBudgetAreRefusedBeforeTheyAreRead) {
  constexpr std::size_t count = 4 << 20;
  WireMessage graph = WireMessage().message(5, wire_tensor("t", 7, {count}).text(7, std::string(count, '\1')));
  graph.message(5, wire_floats("w", {2}, {1, 2})).message(11, wire_value("x", {2}));
  graph.message(1, wire_node("Mul", {"x", "w"}, {"a"}));
  graph.message(1, wire_node("Cast", {"t"}, {"f"}, {WireMessage().text(1, "to").integer(3, 1).integer(20, 2)}));
  graph.message(1, wire_node("ReduceSum", {"f"}, {"s"}, {})).message(1, wire_node("Mul", {"a", "s"}, {"y"}));
  graph.message(12, wire_value("y", {2}));
  std::string path = file(graph);
  MemoryScope scope;
  EXPECT_NE(said(path, 1 << 20).find("has constants of more than"), std::string::npos) << said(path, 1 << 20);
  EXPECT_EQ(scope.use().peak_bytes, 0);
  EXPECT_EQ(said(path, 1 << 30), "no error");
}

TEST_F(OnnxFootprint, ExportedNetworksFitTheSmallestBudget) {
  for (const char* name : {"resnet", "mobilenet", "vgg", "bert", "gpt", "lstm", "unet"})
    EXPECT_EQ(message_of([&] {
                onnx_model(std::string(REPRISE_SOURCE_DIR "/tests/onnx/fixtures/") + name + ".onnx",
                           {.loss = "sum", .budget = 1});
              }),
              "no error")
        << name;
}

}  // namespace
}  // namespace reprise::onnx
