// SPDX-License-Identifier: Apache-2.0
// Files that ask for more than there is: refused by a sentence, or recorded without taking the memory.
#include <gtest/gtest.h>

#include "message.h"
#include "onnx/draft.h"

namespace reprise::onnx {
namespace {

constexpr std::int64_t tera = std::int64_t{1} << 40;

struct Request {
  std::string what;
  Draft draft;
};

std::vector<Request> beyond_counting() {
  std::vector<Request> all;
  auto add = [&](std::string what) -> Draft& {
    return all.emplace_back(Request{what, Draft()}).draft.input("x", {1, 1, 2, 2});
  };
  add("ConstantOfShape").integers("n", {tera, tera}).node("ConstantOfShape", {"n"}, {"y"}).output("y");
  add("Expand").integers("n", {tera, tera, 1, 1, 2, 2}).node("Expand", {"x", "n"}, {"y"}).output("y");
  add("Tile").integers("n", {tera, tera, 1, 1}).node("Tile", {"x", "n"}, {"y"}).output("y");
  add("Tile").integers("n", {1, 1, std::int64_t{1} << 62, 4}).node("Tile", {"x", "n"}, {"y"}).output("y");
  add("Pad").integers("n", {0, 0, tera, tera, 0, 0, tera, tera}).node("Pad", {"x", "n"}, {"y"}).output("y");
  add("Pad")
      .integers("n", {0, 0, std::int64_t{1} << 62, 0, 0, 0, std::int64_t{1} << 62, 0})
      .node("Pad", {"x", "n"}, {"y"})
      .output("y");
  add("Resize").integers("n", {tera, 1, tera, 2}).node("Resize", {"x", "", "", "n"}, {"y"}).output("y");
  add("Resize").floats("s", {4}, {1, 1, 1e30f, 1}).node("Resize", {"x", "", "s"}, {"y"}).output("y");
  add("Range")
      .integers("a", {0})
      .integers("b", {tera})
      .integers("c", {1})
      .node("Range", {"a", "b", "c"}, {"y"})
      .output("y");
  add("OneHot")
      .integers("i", {0})
      .integers("d", {tera})
      .floats("v", {2}, {0, 1})
      .node("OneHot", {"i", "d", "v"}, {"y"})
      .output("y");
  add("MaxPool").node("MaxPool", {"x"}, {"y"}, {draft_integers("kernel_shape", {tera, tera})}).output("y");
  add("Reshape").integers("n", {-5, 2}).node("Reshape", {"x", "n"}, {"y"}).output("y");
  add("Unsqueeze").integers("n", std::vector<std::int64_t>(40, 0)).node("Unsqueeze", {"x", "n"}, {"y"}).output("y");
  add("DepthToSpace").node("DepthToSpace", {"x"}, {"y"}, {draft_integer("blocksize", tera)}).output("y");
  add("ConvTranspose")
      .weight("w", {1, 1, 1, 1})
      .node("ConvTranspose", {"x", "w"}, {"y"}, {draft_integers("strides", {std::int64_t{1} << 62, 1})})
      .output("y");
  return all;
}

TEST(OnnxGigantic, ShapesThatCannotBeAreRefusedByASentence) {
  for (const Request& r : beyond_counting()) {
    auto document = r.draft.document();
    MemoryScope scope;
    std::string text = message_of([&] { Network network(document); });
    EXPECT_NE(text.find(r.what), std::string::npos) << r.what << ": " << text;
    EXPECT_LT(scope.use().peak_bytes, std::int64_t{16} << 20) << r.what;
  }
}

// A tebibyte can be counted: a plan can say that it does not fit. Nothing of it is made while recording.
TEST(OnnxGigantic, LargeConstantsAreRecordedNotMade) {
  Draft d;
  d.input("x", {2}).integers("n", {std::int64_t{1} << 38}).integers("m", {std::int64_t{1} << 37});
  d.node("ConstantOfShape", {"n"}, {"a"})
      .node("Exp", {"a"}, {"e"})
      .node("Tile", {"x", "m"}, {"t"})
      .node("Add", {"e", "t"}, {"y"});
  auto document = d.output("y").document();
  MemoryScope scope;
  EXPECT_EQ(Network(document).outputs()[0].second.shape, (Shape{std::int64_t{1} << 38}));
  EXPECT_LT(scope.use().peak_bytes, 1 << 20);
}

// Every node doubles what was folded before; the sum of all stays small.
TEST(OnnxGigantic, FoldingStopsWhereItBecomesLarge) {
  Draft d;
  d.input("x", {1}).integers("a0", {1, 2, 3, 4});
  for (int i = 0; i < 36; ++i) {
    std::string from = "a" + std::to_string(i), to = "a" + std::to_string(i + 1);
    d.node("Concat", {from, from}, {to}, {draft_integer("axis", 0)});
  }
  auto document = d.output("a36").document();
  MemoryScope scope;
  EXPECT_EQ(Network(document).outputs()[0].second.shape, (Shape{std::int64_t{4} << 36}));
  EXPECT_LT(scope.use().peak_bytes, std::int64_t{64} << 20);
}

// A network of constants alone: what is too large to fold is recorded once, however often it is read.
TEST(OnnxGigantic, ConstantsAreNotCopiedToEveryReader) {
  Draft d;
  d.integers("n", {std::int64_t{1} << 30}).number("one", 1).node("ConstantOfShape", {"n"}, {"a0"});
  for (int i = 0; i < 300; ++i) d.node("Exp", {"a" + std::to_string(i)}, {"a" + std::to_string(i + 1)});
  for (int i = 0; i < 300; ++i)
    d.node("Add", {"one", "a300"}, {"y" + std::to_string(i)}).output("y" + std::to_string(i));
  Network network(d.document());
  std::vector<Type> no_types;
  Network::Hooks hooks;
  Graph graph = trace([&](const Values&) { return Values{network.record({}, hooks, true)[299]}; }, no_types);
  EXPECT_LT(graph.size(), 2000);
}

TEST(OnnxGigantic, ManyKindsOfMissingOperatorsAreCounted) {
  Draft d;
  d.input("x", {1});
  for (int i = 0; i < 3000; ++i) {
    std::string n = std::to_string(i);
    d.node("Unknown" + n, {"x"}, {"y" + n}).output("y" + n);
  }
  std::string text = message_of([&] { Network network(d.document()); });
  EXPECT_NE(text.find("'Unknown199'"), std::string::npos);
  EXPECT_NE(text.find("and 2800 other things"), std::string::npos);
}

TEST(OnnxGigantic, FoldingDoesNotWork) {
  Draft d;  // 10^12 multiplications of constants
  d.input("x", {1}).integers("side", {1, 1, 1000, 1000});
  d.node("ConstantOfShape", {"side"}, {"image"}).node("ConstantOfShape", {"side"}, {"kernel"});
  d.node("Conv", {"image", "kernel"}, {"c"}, {draft_integers("pads", {500, 500, 499, 499})}).output("c");
  EXPECT_EQ(Network(d.document()).outputs()[0].second.shape, (Shape{1, 1, 1000, 1000}));
}

// A node of a few bytes can become thousands: that is stopped once, not by every node again.
TEST(OnnxGigantic, NetworksOfTooManyOperationsAreRefused) {
  Draft d(14);
  d.input("x", {8000, 1, 1}).weight("w", {1, 1, 1}).weight("r", {1, 1, 1});
  for (int i = 0; i < 2000; ++i) {
    std::string n = std::to_string(i);
    d.node("RNN", {"x", "w", "r"}, {"y" + n}, {draft_integer("hidden_size", 1)}).output("y" + n);
  }
  std::string text = message_of([&] { Network network(d.document()); });
  EXPECT_NE(text.find("the graph grows past 100000 operations: train a part of it"), std::string::npos) << text;
}

TEST(OnnxGigantic, RecurrentNetsHaveALimitedNumberOfSteps) {
  Draft d(14);
  d.input("x", {1000000000, 1, 1}).weight("w", {1, 1, 1}).weight("r", {1, 1, 1});
  d.node("RNN", {"x", "w", "r"}, {"y"}, {draft_integer("hidden_size", 1)}).output("y");
  std::string text = message_of([&] { Network network(d.document()); });
  EXPECT_NE(text.find("1000000000 steps are not supported: 1 to 8192 are"), std::string::npos) << text;
}

}  // namespace
}  // namespace reprise::onnx
