// SPDX-License-Identifier: Apache-2.0
#include "reprise/lazy_ops.h"

#include <gtest/gtest.h>

#include "message.h"
#include "reprise/autodiff.h"
#include "reprise/lazy.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

TEST(LazyOps, ElementOpsByEnumAndByNameInAnyCase) {
  LazyExecutor lazy;
  EXPECT_EQ(floats(lazy.elem_op(ElemOp::relu, Tensor{-1, 2})), (Floats{0, 2}));
  EXPECT_EQ(floats(lazy.elem_op("ReLU", Tensor{-1, 2})), (Floats{0, 2}));
  EXPECT_EQ(floats(lazy.elem_op("OneMinus", Tensor{.25})), (Floats{.75}));
  EXPECT_EQ(floats(lazy.elem_op("SIGMOID", Tensor{0})), (Floats{.5}));
}

TEST(LazyOps, BinaryOpsGiveTheirTableOfTruth) {
  LazyExecutor lazy;
  Tensor a{0, .5, 1}, b{1, .5, .25};
  auto check = [&](const std::vector<std::string_view>& names, const Floats& wanted) {
    for (auto name : names) EXPECT_EQ(floats(lazy.elem_op_binary(name, a, b)), wanted) << name;
  };
  check({"add", "Plus"}, {1, 1, 1.25});
  check({"subtract", "sub", "SUB", "minus"}, {-1, 0, .75});
  check({"multiply", "mul", "prod"}, {0, .25, .25});
  check({"divide", "div"}, {0, 1, 4});
  check({"min", "minimum"}, {0, .5, .25});
  check({"max"}, {1, .5, 1});
  check({"eq", "Equal"}, {0, 1, 0});
  check({"lt", "less"}, {1, 0, 0});
  check({"gt"}, {0, 0, 1});
  check({"lte", "le"}, {1, 1, 0});
  check({"gte", "ge"}, {0, 1, 1});
  check({"or_max", "OrMax"}, {1, .5, 1});
  check({"or_prob_sum", "OrProbSum"}, {1, .75, 1});
  check({"nand"}, {1, .75, .75});
  check({"nor"}, {0, .5, 0});
  check({"xor", "exclusive_or"}, {1, .5, .75});
}

TEST(LazyOps, EqualHoldsWithinAHairsBreadth) {
  LazyExecutor lazy;
  Tensor a = Tensor::scalar(1, DType::f64), b = Tensor::scalar(1 + 5e-11, DType::f64);
  EXPECT_EQ(lazy.elem_op_binary("eq", a, b).item(), 1);
  EXPECT_EQ(lazy.elem_op_binary("eq", a, Tensor::scalar(1 + 5e-10, DType::f64)).item(), 0);
}

TEST(LazyOps, BinaryOpsBroadcast) {
  LazyExecutor lazy;
  EXPECT_EQ(floats(lazy.elem_op_binary(BinaryOp::add, Tensor{{1}, {2}}, Tensor{10, 20})), (Floats{11, 21, 12, 22}));
}

TEST(LazyOps, TheFirstOperandTakesTheGradientOfATie) {
  for (BinaryOp op : {BinaryOp::min, BinaryOp::max}) {
    auto g = grad([&](const Value& a, const Value& b) { return sum(elem_op_binary(op, a, b)); }, {0, 1})(Tensor{1, 1},
                                                                                                         Tensor{1, 1});
    EXPECT_EQ(floats(g[0]), (Floats{1, 1}));
    EXPECT_EQ(floats(g[1]), (Floats{0, 0}));
  }
}

TEST(LazyOps, ReductionsOverAxesInAnyOrder) {
  LazyExecutor lazy;
  Tensor x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(floats(lazy.reduce("sum", x, {1})), (Floats{6, 15}));
  EXPECT_EQ(floats(lazy.reduce("MAX", x, {0})), (Floats{4, 5, 6}));
  EXPECT_EQ(floats(lazy.reduce("min", x, {1, 0})), (Floats{1}));
  EXPECT_EQ(floats(lazy.reduce("avg", x, {0, 1})), (Floats{3.5}));
  EXPECT_EQ(floats(lazy.reduce("prod", x, {-1})), (Floats{6, 120}));
  EXPECT_EQ(lazy.reduce(ReduceOp::sum, x, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_TRUE(same_bits(lazy.reduce("sum", x, {}), x));
  EXPECT_THROW(lazy.reduce("sum", x, {2}), Error);
  EXPECT_THROW(lazy.reduce("sum", x, {0, 0}), Error);
}

TEST(LazyOps, AProductsGradientIsRightWithZeros) {
  auto g = grad([](const Value& x) { return sum(reduce(ReduceOp::product, x, {0})); })(Tensor{2, 0, 5});
  EXPECT_EQ(floats(g), (Floats{0, 10, 0}));
}

TEST(LazyOps, EinsumHasNumPysSemantics) {
  LazyExecutor lazy;
  Tensor x{{1, 2}, {3, 4}};
  EXPECT_EQ(floats(lazy.einsum("ij,jk->ik", {x, x})), (Floats{7, 10, 15, 22}));
  EXPECT_EQ(lazy.einsum("ii", {x}).item(), 5);
  EXPECT_EQ(floats(lazy.einsum("ii->i", {x})), (Floats{1, 4}));
  EXPECT_EQ(floats(lazy.einsum("...j->...", {x})), (Floats{3, 7}));
  EXPECT_EQ(lazy.einsum("ij,ij->", {x, x}).item(), 30);
}

TEST(LazyOps, NamesThatDoNotExistAreErrors) {
  EXPECT_EQ(message_of([] { parse_binary_op("multply"); }),
            "[elem_op_binary] there is no 'multply': did you mean 'multiply'?");
  EXPECT_EQ(message_of([] { parse_reduce_op("fold"); }), "[reduce] there is no 'fold'");
  for (auto op : {ElemOp::relu, ElemOp::sigmoid, ElemOp::one_minus}) EXPECT_EQ(parse_elem_op(to_string(op)), op);
  EXPECT_EQ(to_string(BinaryOp::exclusive_or), "exclusive_or");
}

EinsumGraph family() {
  EinsumGraph rules;
  rules.add_unary("stranger", "one_minus", "grandparent");  // before what it reads
  rules.add_einsum("grandparent", "ij,jk->ik", {"parent", "parent"});
  rules.add_reduce("count", "sum", "grandparent", {1});
  rules.add_binary("both", "or_max", "grandparent", "parent");
  rules.add_input("parent", {DType::f32, {3, 3}});
  rules.set_outputs({"stranger", "count", "both"});
  return rules;
}

TEST(EinsumGraph, RunsByNameInTopologicalOrder) {
  NamedGraph g = family().build();
  LazyExecutor lazy;
  lazy.set_input(g["parent"], Tensor{{0, 1, 0}, {0, 0, 1}, {0, 0, 0}});
  EXPECT_EQ(floats(lazy.evaluate(g["count"])), (Floats{1, 0, 0}));
  auto outputs = lazy.forward(g.graph);
  EXPECT_EQ(floats(outputs[0]), (Floats{1, 1, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(floats(outputs[2]), (Floats{0, 1, 1, 0, 0, 1, 0, 0, 0}));
}

TEST(EinsumGraph, IsCheckedBeforeItIsBuilt) {
  auto message = [](auto change) {
    EinsumGraph g = family();
    change(g);
    return message_of([&] { g.validate(); });
  };
  EXPECT_EQ(message([](auto&) {}), "no error");
  EXPECT_EQ(message([](auto& g) { g.add_unary("a", "relu", "nobody"); }),
            "[einsum_graph] 'a' reads 'nobody', which nothing makes");
  EXPECT_EQ(message([](auto& g) { g.add_unary("parent", "relu", "count"); }), "[einsum_graph] 'parent' is made twice");
  EXPECT_EQ(message([](auto& g) { g.add_unary("a", "rellu", "parent"); }),
            "[elem_op] there is no 'rellu': did you mean 'relu'?");
  EXPECT_EQ(message([](auto& g) { g.set_outputs({"missing"}); }), "[einsum_graph] nothing makes the output 'missing'");
  EXPECT_EQ(message([](auto& g) {
              g.add_unary("a", "relu", "b");
              g.add_unary("b", "relu", "a");
            }),
            "[einsum_graph] 'a' depends on itself: the nodes form a cycle");
}

TEST(EinsumGraph, RefusesRanksSizesAndAxesThatDoNotFit) {
  auto refuses = [](auto change) {
    EinsumGraph g = family();
    change(g);
    std::string message = message_of([&] { g.validate(); });
    EXPECT_EQ(message.find("[einsum_graph] 'a': ["), 0u) << message;
  };
  refuses([](auto& g) { g.add_einsum("a", "ijk->i", {"parent"}); });
  refuses([](auto& g) { g.add_einsum("a", "ij,jk->ik", {"parent"}); });
  refuses([](auto& g) { g.add_reduce("a", "sum", "parent", {2}); });
  refuses([](auto& g) {
    g.add_input("row", {DType::f32, {4}});
    g.add_binary("a", "add", "parent", "row");
  });
  EinsumGraph g = family();
  g.add_input("row", {DType::f32, {4}});
  g.add_binary("a", "add", "parent", "row");
  EXPECT_THROW(g.validate(), BroadcastError);
}

}  // namespace
}  // namespace reprise
