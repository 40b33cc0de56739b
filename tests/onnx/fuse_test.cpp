// SPDX-License-Identifier: Apache-2.0
// A pattern that was recognised gives what its parts give, values and gradients, within f32's rounding.
#include "onnx/fuse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "onnx/draft.h"
#include "reprise/io.h"

namespace reprise::onnx {
namespace {

std::vector<Tensor> numbers_for(const Network& network) {
  std::vector<Tensor> all;
  for (const auto& [name, type] : network.inputs()) all.push_back(draft_numbers(type, 77 + all.size()));
  return all;
}

// Runs a draft with and without fusing; `op` must have been recognised so often.
void expect_fused(const Draft& draft, const std::string& op, int count, bool training = true) {
  auto document = draft.document();
  Network fused(document), plain(document, {.fuse = false});
  auto found = fused.fused().find(op);
  EXPECT_EQ(found == fused.fused().end() ? 0 : found->second, count) << op;
  EXPECT_TRUE(plain.fused().empty());
  std::vector<Tensor> inputs = numbers_for(fused);
  expect_alike(run_network(fused, inputs, training), run_network(plain, inputs, training));
}

const std::vector<WireMessage> last_axis = {draft_integers("axes", {-1})};

Draft& layer_norm_parts(Draft& d, const std::vector<WireMessage>& axes) {
  return d.number("two", 2)
      .number("eps", 1e-5f)
      .node("ReduceMean", {"x"}, {"mu"}, axes)
      .node("Sub", {"x", "mu"}, {"d"})
      .node("Pow", {"d", "two"}, {"squares"})
      .node("ReduceMean", {"squares"}, {"var"}, axes)
      .node("Add", {"var", "eps"}, {"shifted"})
      .node("Sqrt", {"shifted"}, {"root"})
      .node("Div", {"d", "root"}, {"normal"});
}

TEST(OnnxFuse, LayerNormWithWeightAndBias) {
  Draft d;
  d.input("x", {2, 3, 8}).weight("w", {8}).weight("b", {8});
  layer_norm_parts(d, last_axis)
      .node("Mul", {"normal", "w"}, {"scaled"})
      .node("Add", {"b", "scaled"}, {"y"})
      .output("y");
  expect_fused(d, "LayerNorm", 1);
}

TEST(OnnxFuse, LayerNormWithoutWeightsOrOverSeveralAxes) {
  Draft bare;
  layer_norm_parts(bare.input("x", {2, 3, 8}), last_axis).node("Relu", {"normal"}, {"y"}).output("y");
  expect_fused(bare, "LayerNorm", 1);
  Draft wide;
  wide.input("x", {2, 3, 8}).weight("w", {3, 8});
  layer_norm_parts(wide, {draft_integers("axes", {1, 2})}).node("Mul", {"normal", "w"}, {"y"}).output("y");
  expect_fused(wide, "LayerNorm", 1);
}

TEST(OnnxFuse, LayerNormOverOtherThanLastAxesKeepsItsMeaning) {
  Draft d;
  layer_norm_parts(d.input("x", {2, 8, 3}), {draft_integers("axes", {1})}).node("Relu", {"normal"}, {"y"}).output("y");
  expect_fused(d, "LayerNorm", 1);
}

TEST(OnnxFuse, LeavesPartsThatSomebodyElseReads) {
  Draft d;
  layer_norm_parts(d.input("x", {2, 8}), last_axis).output("normal").output("root");
  expect_fused(d, "LayerNorm", 0);
}

Draft& root_parts(Draft& d) {
  return d.input("x", {2, 3, 8})
      .weight("w", {8})
      .number("two", 2)
      .number("one", 1)
      .number("eps", 1e-6f)
      .node("Pow", {"x", "two"}, {"squares"})
      .node("ReduceMean", {"squares"}, {"mean"}, last_axis)
      .node("Add", {"mean", "eps"}, {"shifted"})
      .node("Sqrt", {"shifted"}, {"root"});
}

TEST(OnnxFuse, RmsNormByQuotientReciprocalOrOneOverRoot) {
  Draft quotient, reciprocal, inverse;
  root_parts(quotient).node("Div", {"x", "root"}, {"n"});
  root_parts(reciprocal).node("Reciprocal", {"root"}, {"r"}).node("Mul", {"x", "r"}, {"n"});
  root_parts(inverse).node("Div", {"one", "root"}, {"r"}).node("Mul", {"r", "x"}, {"n"});
  for (Draft* d : {&quotient, &reciprocal, &inverse})
    expect_fused(d->node("Mul", {"w", "n"}, {"y"}).output("y"), "RmsNorm", 1);
}

TEST(OnnxFuse, RmsNormBehindCastsThatChangeNothing) {
  Draft d;
  d.input("x", {2, 3, 8}).weight("w", {8}).number("two", 2).number("eps", 1e-6f);
  d.node("Relu", {"x"}, {"h"})
      .node("Cast", {"h"}, {"f"}, {draft_integer("to", 1)})
      .node("Pow", {"f", "two"}, {"squares"});
  d.node("ReduceMean", {"squares"}, {"mean"}, last_axis).node("Add", {"mean", "eps"}, {"shifted"});
  d.node("Sqrt", {"shifted"}, {"root"}).node("Reciprocal", {"root"}, {"r"}).node("Mul", {"h", "r"}, {"n"});
  d.node("Cast", {"n"}, {"back"}, {draft_integer("to", 1)}).node("Mul", {"w", "back"}, {"y"}).output("y");
  expect_fused(d, "RmsNorm", 1);
}

TEST(OnnxFuse, CastsThatChangeSomethingStay) {
  Draft d;
  d.input("x", {8})
      .node("Cast", {"x"}, {"whole"}, {draft_integer("to", 7)})
      .node("Cast", {"whole"}, {"y"}, {draft_integer("to", 1)});
  d.node("Greater", {"x", "y"}, {"more"}).node("Cast", {"more"}, {"z"}, {draft_integer("to", 1)});
  expect_fused(d.node("Add", {"y", "z"}, {"sum"}).output("sum"), "RmsNorm", 0);
}

Draft& erf_parts(Draft& d) {
  return d.input("x", {4, 8})
      .number("root2", 1.41421356f)
      .number("half", 0.5f)
      .number("one", 1)
      .node("Div", {"x", "root2"}, {"u"})
      .node("Erf", {"u"}, {"e"})
      .node("Add", {"e", "one"}, {"a"});
}

TEST(OnnxFuse, GeluInAnyOrderOfItsFactors) {
  Draft first, second, third;
  erf_parts(first).node("Mul", {"x", "a"}, {"m"}).node("Mul", {"m", "half"}, {"y"}).output("y");
  erf_parts(second).node("Mul", {"x", "half"}, {"h"}).node("Mul", {"h", "a"}, {"y"}).output("y");
  erf_parts(third).node("Mul", {"half", "a"}, {"m"}).node("Mul", {"m", "x"}, {"y"}).output("y");
  for (const Draft* d : {&first, &second, &third}) expect_fused(*d, "Gelu", 1);
}

TEST(OnnxFuse, NoGeluWhereANumberDiffers) {
  Draft d;
  erf_parts(d).number("other", 0.6f).node("Mul", {"x", "a"}, {"m"}).node("Mul", {"m", "other"}, {"y"}).output("y");
  expect_fused(d, "Gelu", 0);
}

Draft& tanh_numbers(Draft& d) {
  return d.input("x", {4, 8})
      .number("half", 0.5f)
      .number("one", 1)
      .number("three", 3)
      .number("c", 0.044715f)
      .number("s", 0.7978845608f);
}

TEST(OnnxFuse, GeluByTanhWithAPowerOrProducts) {
  Draft power, products;
  tanh_numbers(power)
      .node("Pow", {"x", "three"}, {"cube"})
      .node("Mul", {"c", "cube"}, {"term"})
      .node("Add", {"x", "term"}, {"sum"})
      .node("Mul", {"s", "sum"}, {"u"});
  tanh_numbers(products)
      .node("Mul", {"x", "s"}, {"sx"})
      .node("Mul", {"x", "c"}, {"cx"})
      .node("Mul", {"cx", "x"}, {"cxx"})
      .node("Add", {"cxx", "one"}, {"sum"})
      .node("Mul", {"sx", "sum"}, {"u"});
  for (Draft* d : {&power, &products}) {
    d->node("Tanh", {"u"}, {"t"}).node("Add", {"one", "t"}, {"a"});
    d->node("Mul", {"half", "x"}, {"h"}).node("Mul", {"h", "a"}, {"y"}).output("y");
    expect_fused(*d, "GeluTanh", 1);
  }
}

Draft& products(Draft& d, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> order(dims.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.end()[-1], order.end()[-2]);
  return d.input("q", dims)
      .input("k", dims)
      .input("v", dims)
      .number("divisor", 2)
      .number("low", -1e4f)
      .node("Transpose", {"k"}, {"kt"}, {draft_integers("perm", order)});
}

Draft& weigh(Draft& d, const std::string& scores) {
  return d.node("Softmax", {scores}, {"p"}, {draft_integer("axis", -1)}).node("MatMul", {"p", "v"}, {"y"}).output("y");
}

TEST(OnnxFuse, AttentionWithAnAdditiveMask) {
  Draft d;
  products(d, {2, 3, 5, 4}).input("mask", {2, 1, 1, 5});
  d.node("MatMul", {"q", "kt"}, {"s"}).node("Div", {"s", "divisor"}, {"scaled"}).node("Add", {"scaled", "mask"}, {"m"});
  expect_fused(weigh(d, "m"), "Attention", 1);
}

TEST(OnnxFuse, AttentionWithMasksOfOtherBatchesKeepsItsMeaning) {
  Draft d;
  products(d, {1, 2, 5, 4}).input("mask", {3, 1, 5, 5}).node("MatMul", {"q", "kt"}, {"s"});
  expect_fused(weigh(d.node("Add", {"s", "mask"}, {"m"}), "m"), "Attention", 1);
}

// As PyTorch writes baddbmm: both parts times a one that was an integer.
TEST(OnnxFuse, AttentionScaledByACastNumber) {
  Draft d;
  products(d, {6, 5, 4})
      .input("mask", {6, 1, 5})
      .integers("one", {1})
      .node("Cast", {"one"}, {"factor"}, {draft_integer("to", 1)});
  d.node("MatMul", {"q", "kt"}, {"s"}).node("Mul", {"s", "factor"}, {"f"}).node("Mul", {"mask", "factor"}, {"m"});
  expect_fused(weigh(d.node("Add", {"f", "m"}, {"masked"}), "masked"), "Attention", 1);
}

TEST(OnnxFuse, AttentionOverBatchesOfMatrices) {
  Draft d;
  products(d, {6, 5, 4}).number("factor", 0.5f);
  d.node("MatMul", {"q", "kt"}, {"s"}).node("Mul", {"factor", "s"}, {"scaled"});
  expect_fused(weigh(d, "scaled"), "Attention", 1);
  Draft scaled_before;
  products(scaled_before, {6, 5, 4}).node("Div", {"q", "divisor"}, {"qs"}).node("MatMul", {"qs", "kt"}, {"s"});
  expect_fused(weigh(scaled_before, "s"), "Attention", 1);
}

std::string triangle_bytes(int n, char below, char above) {
  std::string bytes;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) bytes += j <= i ? below : above;
  return bytes;
}

int count_ops(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::ranges::count_if(graph.nodes(), [&](const reprise::Node& n) { return n.op->name == op; }));
}

TEST(OnnxFuse, AttentionThatHidesTheFutureBecomesCausal) {
  Draft keeps, hides;
  products(keeps, {2, 2, 5, 4}).truths("seen", {1, 1, 5, 5}, triangle_bytes(5, '\1', '\0'));
  keeps.node("MatMul", {"q", "kt"}, {"s"})
      .node("Div", {"s", "divisor"}, {"f"})
      .node("Where", {"seen", "f", "low"}, {"m"});
  products(hides, {2, 2, 5, 4}).truths("future", {5, 5}, triangle_bytes(5, '\0', '\1'));
  hides.node("MatMul", {"q", "kt"}, {"s"}).node("Where", {"future", "low", "s"}, {"m"});
  for (Draft* d : {&keeps, &hides}) {
    expect_fused(weigh(*d, "m"), "Attention", 1);
    Network network(d->document());
    Graph graph = run_network(network, numbers_for(network)).graph;
    EXPECT_EQ(count_ops(graph, "attention"), 1);
    EXPECT_EQ(count_ops(graph, "where"), 0);
  }
}

TEST(OnnxFuse, AttentionWithAMaskThatMayHideEverythingKeepsItsMeaning) {
  Draft d;
  products(d, {1, 2, 3, 4}).truths("seen", {3, 3}, std::string("\0\0\0\1\1\0\1\1\1", 9));
  d.node("MatMul", {"q", "kt"}, {"s"}).node("Where", {"seen", "s", "low"}, {"m"});
  expect_fused(weigh(d, "m"), "Attention", 1);
}

TEST(OnnxFuse, AttentionWithDropoutIsFusedOnlyWhereItIsOff) {
  Draft d;
  products(d, {2, 2, 5, 4}).number("ratio", 0.5f).truth("live", true).node("MatMul", {"q", "kt"}, {"s"});
  d.node("Softmax", {"s"}, {"p"}).node("Dropout", {"p", "ratio", "live"}, {"kept"});
  d.node("MatMul", {"kept", "v"}, {"y"}).output("y");
  Network network(d.document());
  EXPECT_FALSE(network.fused().contains("Attention"));
  Graph graph = run_network(network, numbers_for(network), false).graph;
  EXPECT_EQ(count_ops(graph, "attention"), 1);
}

TEST(OnnxFuse, NoAttentionWhereAMaskIsScaledToo) {
  Draft d;
  products(d, {2, 2, 5, 4}).input("mask", {5, 5}).node("MatMul", {"q", "kt"}, {"s"}).node("Add", {"s", "mask"}, {"m"});
  expect_fused(weigh(d.node("Div", {"m", "divisor"}, {"scaled"}), "scaled"), "Attention", 0);
}

TEST(OnnxFuse, ProductsWithATransposedWeight) {
  Draft d;
  d.input("x", {2, 3, 8}).weight("w", {4, 8}).weight("b", {4});
  d.node("Transpose", {"w"}, {"wt"}, {draft_integers("perm", {1, 0})}).node("MatMul", {"x", "wt"}, {"p"});
  expect_fused(d.node("Add", {"b", "p"}, {"y"}).output("y"), "Linear", 1);
}

struct Exported {
  std::string name;
  std::map<std::string, int> fused;
};

void expect_exported(const Exported& e) {
  std::string base = std::string(REPRISE_SOURCE_DIR) + "/tests/onnx/fixtures/" + e.name;
  auto document = std::make_shared<const Document>(read_document(base + ".onnx"));
  std::map<std::string, Tensor> batch;
  for (const auto& [name, tensor] : io::load_npz(base + ".npz")) batch[name] = tensor;
  std::int64_t rows = batch.begin()->second.shape()[0];
  Network fused(document, {.batch = rows}), plain(document, {.batch = rows, .fuse = false});
  for (const auto& [op, count] : e.fused) EXPECT_EQ(fused.fused().at(op), count) << e.name << ": " << op;
  std::vector<Tensor> inputs;
  for (const auto& [name, type] : fused.inputs()) inputs.push_back(batch.at(name));
  expect_alike(run_network(fused, inputs), run_network(plain, inputs), 2e-5);
}

TEST(OnnxFuse, EncodersAndDecodersAsPyTorchExportsThem) {
  expect_exported({"bert", {{"Attention", 2}, {"Gelu", 2}, {"LayerNorm", 5}}});
  expect_exported({"gpt", {{"Attention", 2}, {"GeluTanh", 2}, {"LayerNorm", 5}}});
}

}  // namespace
}  // namespace reprise::onnx
