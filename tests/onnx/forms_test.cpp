// SPDX-License-Identifier: Apache-2.0
// One meaning written in two ways gives the same numbers: forms that the cases of ONNX 1.12 do not have.
#include <gtest/gtest.h>

#include "onnx/draft.h"

namespace reprise::onnx {
namespace {

void expect_same(const Draft& a, const Draft& b) {
  Network first(a.document()), second(b.document());
  std::vector<Tensor> inputs;
  for (const auto& [name, type] : first.inputs()) inputs.push_back(draft_numbers(type, 3 + inputs.size()));
  expect_alike(run_network(first, inputs), run_network(second, inputs), 1e-6);
}

TEST(OnnxForms, AxesOfReductionsAreAttributesOrInputs) {
  for (std::string op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                         "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    Draft attribute(11), input(18);
    attribute.input("x", {2, 3, 4})
        .node(op, {"x"}, {"y"}, {draft_integers("axes", {0, -1}), draft_integer("keepdims", 0)});
    input.input("x", {2, 3, 4})
        .integers("axes", {0, -1})
        .node(op, {"x", "axes"}, {"y"}, {draft_integer("keepdims", 0)});
    SCOPED_TRACE(op);
    expect_same(attribute.output("y"), input.output("y"));
  }
}

TEST(OnnxForms, NoAxesMeanAllOrNone) {
  Draft all(18), each(18), none(18), same(18);
  all.input("x", {2, 3}).node("ReduceSum", {"x"}, {"y"}).output("y");
  each.input("x", {2, 3}).integers("axes", {0, 1}).node("ReduceSum", {"x", "axes"}, {"y"}).output("y");
  expect_same(all, each);
  none.input("x", {2, 3}).node("ReduceSum", {"x"}, {"y"}, {draft_integer("noop_with_empty_axes", 1)}).output("y");
  same.input("x", {2, 3}).node("Identity", {"x"}, {"y"}).output("y");
  expect_same(none, same);
}

TEST(OnnxForms, SplitsMayBeUneven) {
  Draft counted(18), sized(13);
  counted.input("x", {2, 7})
      .node("Split", {"x"}, {"a", "b", "c"}, {draft_integer("axis", 1), draft_integer("num_outputs", 3)});
  sized.input("x", {2, 7})
      .integers("sizes", {3, 3, 1})
      .node("Split", {"x", "sizes"}, {"a", "b", "c"}, {draft_integer("axis", 1)});
  for (Draft* d : {&counted, &sized}) d->output("a").output("b").output("c");
  expect_same(counted, sized);
}

TEST(OnnxForms, PadsOfSomeAxesAndNegativeOnes) {
  Draft some(18), all(11), cut(13);
  some.input("x", {2, 3, 4}).integers("pads", {1, 2}).floats("v", {}, {5}).integers("axes", {-1});
  some.node("Pad", {"x", "pads", "v", "axes"}, {"y"}).output("y");
  all.input("x", {2, 3, 4})
      .integers("pads", {0, 0, 1, 0, 0, 2})
      .floats("v", {}, {5})
      .node("Pad", {"x", "pads", "v"}, {"y"})
      .output("y");
  expect_same(some, all);
  Draft shorter(13);
  shorter.input("x", {2, 5}).integers("pads", {0, -1, 1, -2}).node("Pad", {"x", "pads"}, {"y"}).output("y");
  cut.input("x", {2, 5}).integers("a", {1}).integers("b", {3}).integers("axis", {1}).integers("pads", {0, 0, 1, 0});
  cut.node("Slice", {"x", "a", "b", "axis"}, {"s"}).node("Pad", {"s", "pads"}, {"y"}).output("y");
  expect_same(shorter, cut);
}

TEST(OnnxForms, ResizesByMatricesAsByOurOwnOp) {
  for (std::string coordinates : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"})
    for (std::string mode : {"linear", "nearest"}) {
      std::vector<WireMessage> attributes{
          draft_text("mode", mode), draft_text("coordinate_transformation_mode", coordinates),
          draft_text("nearest_mode", coordinates == "asymmetric" ? "floor" : "round_prefer_floor")};
      Draft images(13), matrices(13);
      images.input("x", {1, 1, 4, 6})
          .integers("n", {1, 1, 7, 3})
          .node("Resize", {"x", "", "", "n"}, {"y"}, attributes)
          .output("y");
      matrices.input("x", {1, 1, 4, 6}).integers("flat", {4, 6}).integers("n", {7, 3}).integers("back", {1, 1, 7, 3});
      matrices.node("Reshape", {"x", "flat"}, {"f"}).node("Resize", {"f", "", "", "n"}, {"r"}, attributes);
      matrices.node("Reshape", {"r", "back"}, {"y"}).output("y");
      SCOPED_TRACE(mode + " " + coordinates);
      expect_same(images, matrices);
    }
}

TEST(OnnxForms, ResizesOfAllOpsets) {
  Draft ten(10), nine(9), eleven(11), axes(18);
  std::vector<WireMessage> edges{draft_text("coordinate_transformation_mode", "asymmetric"),
                                 draft_text("nearest_mode", "floor")};
  ten.input("x", {1, 2, 3, 4}).floats("s", {4}, {1, 1, 2, 2}).node("Resize", {"x", "s"}, {"y"}).output("y");
  nine.input("x", {1, 2, 3, 4}).floats("s", {4}, {1, 1, 2, 2}).node("Upsample", {"x", "s"}, {"y"}).output("y");
  eleven.input("x", {1, 2, 3, 4})
      .floats("s", {4}, {1, 1, 2, 2})
      .node("Resize", {"x", "", "s"}, {"y"}, edges)
      .output("y");
  edges.push_back(draft_integers("axes", {2, 3}));
  axes.input("x", {1, 2, 3, 4}).integers("n", {6, 8}).node("Resize", {"x", "", "", "n"}, {"y"}, edges).output("y");
  for (const Draft* d : {&nine, &eleven, &axes}) expect_same(ten, *d);
}

TEST(OnnxForms, GroupNormsHaveWeightsPerGroupThenPerChannel) {
  Draft groups(18), channels(21), instances(13);
  for (Draft* d : {&groups, &channels, &instances}) d->input("x", {2, 3, 5}).weight("w", {3}).weight("b", {3});
  for (Draft* d : {&groups, &channels})
    d->node("GroupNormalization", {"x", "w", "b"}, {"y"}, {draft_integer("num_groups", 3)}).output("y");
  instances.node("InstanceNormalization", {"x", "w", "b"}, {"y"}).output("y");
  expect_same(groups, instances);
  expect_same(channels, instances);
}

TEST(OnnxForms, SoftmaxOverAMatrixAndOverAnAxis) {
  Draft matrix(12), axis(13);
  matrix.input("x", {2, 3, 4}).node("Softmax", {"x"}, {"y"}, {draft_integer("axis", 1)}).output("y");
  axis.input("x", {2, 3, 4})
      .integers("flat", {2, 12})
      .integers("back", {2, 3, 4})
      .node("Reshape", {"x", "flat"}, {"f"});
  axis.node("Softmax", {"f"}, {"s"}).node("Reshape", {"s", "back"}, {"y"}).output("y");
  expect_same(matrix, axis);
}

TEST(OnnxForms, PadsThatFollowFromTheSizes) {
  struct Named {
    std::string name;
    std::vector<std::int64_t> pads;
  };
  for (const Named& n :
       {Named{"SAME_UPPER", {0, 1, 1, 1}}, Named{"SAME_LOWER", {1, 1, 0, 1}}, Named{"VALID", {0, 0, 0, 0}}}) {
    Draft named, given;
    std::vector<WireMessage> strides{draft_integers("strides", {2, 1})};
    named.input("x", {1, 2, 6, 5}).weight("w", {3, 2, 3, 3});
    given.input("x", {1, 2, 6, 5}).weight("w", {3, 2, 3, 3});
    named.node("Conv", {"x", "w"}, {"y"}, {strides[0], draft_text("auto_pad", n.name)}).output("y");
    given.node("Conv", {"x", "w"}, {"y"}, {strides[0], draft_integers("pads", n.pads)}).output("y");
    SCOPED_TRACE(n.name);
    expect_same(named, given);
  }
}

TEST(OnnxForms, LayerNormsWithoutBias) {
  Draft without(17), with(17);
  without.input("x", {2, 4}).weight("w", {4}).node("LayerNormalization", {"x", "w"}, {"y"}).output("y");
  with.input("x", {2, 4}).weight("w", {4}).node("ConstantOfShape", {"n"}, {"b"}).integers("n", {4});
  with.node("LayerNormalization", {"x", "w", "b"}, {"y"}).output("y");
  expect_same(without, with);
}

TEST(OnnxForms, ScattersThatAdd) {
  Draft elements(16), parts(16);
  elements.input("x", {4})
      .input("u", {3})
      .integers("i", {1, 1, 3})
      .node("ScatterElements", {"x", "i", "u"}, {"y"}, {draft_text("reduction", "add")});
  parts.input("x", {4})
      .input("u", {3})
      .integers("i", {1, 1, 3})
      .integers("column", {3, 1})
      .node("Reshape", {"i", "column"}, {"c"});
  parts.node("ScatterND", {"x", "c", "u"}, {"y"}, {draft_text("reduction", "add")});
  expect_same(elements.output("y"), parts.output("y"));
}

TEST(OnnxForms, LstmWithClippedGatesAndCoupledOnes) {
  std::vector<WireMessage> wide{draft_integer("hidden_size", 3), draft_real("clip", 1e6f)},
      plain{draft_integer("hidden_size", 3)};
  Draft clipped(14), usual(14);
  for (Draft* d : {&clipped, &usual})
    d->input("x", {4, 2, 5}).weight("w", {1, 12, 5}).weight("r", {1, 12, 3}).weight("b", {1, 24});
  clipped.node("LSTM", {"x", "w", "r", "b"}, {"y"}, wide).output("y");
  usual.node("LSTM", {"x", "w", "r", "b"}, {"y"}, plain).output("y");
  expect_same(clipped, usual);
  Draft coupled(14);  // i = sigmoid(0), f = 1 - i, g = tanh(x): the state is half of what comes
  coupled.input("x", {1, 1, 1}).floats("w", {1, 4, 1}, {0, 0, 9, 1}).floats("r", {1, 4, 1}, {0, 0, 0, 0});
  coupled
      .node("LSTM", {"x", "w", "r"}, {"", "", "c"}, {draft_integer("hidden_size", 1), draft_integer("input_forget", 1)})
      .output("c");
  Tensor c = run_network(Network(coupled.document()), {Tensor::full({DType::f32, {1, 1, 1}}, 0.5)}).outputs[0];
  EXPECT_NEAR(c.item(), 0.5 * std::tanh(0.5), 1e-6);
}

TEST(OnnxForms, MaxPoolTellsWhereItsElementsStand) {
  Draft d;
  d.input("x", {1, 2, 4, 4})
      .node("MaxPool", {"x"}, {"y", "i"}, {draft_integers("kernel_shape", {2, 2}), draft_integers("strides", {2, 2})});
  Network network(d.output("y").output("i").document());
  Tensor x = draft_numbers({DType::f32, {1, 2, 4, 4}}, 9);
  Ran ran = run_network(network, {x});
  for (std::size_t k = 0; k < 8; ++k)
    EXPECT_EQ(x.span<float>()[static_cast<std::size_t>(ran.outputs[1].span<std::int64_t>()[k])],
              ran.outputs[0].span<float>()[k]);
}

TEST(OnnxForms, HalfPrecisionIsComputedInSingle) {
  Draft d;
  d.input("x", {3})
      .node("Cast", {"x"}, {"h"}, {draft_integer("to", 10)})
      .node("Exp", {"h"}, {"e"})
      .node("Add", {"e", "h"}, {"s"});
  d.node("Cast", {"s"}, {"y"}, {draft_integer("to", 1)}).output("y").output("s");
  Ran ran = run_network(Network(d.document()), {Tensor{0.5, 1, 2}});
  EXPECT_EQ(ran.outputs[1].dtype(), DType::f16);
  EXPECT_NEAR(ran.outputs[0].to_vector<double>()[2], std::exp(2.0) + 2, 1e-2);
}

}  // namespace
}  // namespace reprise::onnx
