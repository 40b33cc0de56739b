// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "graph/text.h"
#include "message.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

Graph small_graph() {
  Type types[] = {{DType::f32, {2, 3}}};
  return trace([](const Values& v) -> Values { return {sum(keep(named(tanh(v[0]), "a \"name\"")) * 2.0)}; }, types);
}

TEST(GraphText, ReadsAsOneLineANode) {
  EXPECT_EQ(to_string(small_graph()),
            "%0 = input() {dtype=\"f32\", shape=[2,3]} : f32[2,3]\n"
            "%1 = tanh(%0) : f32[2,3] keep \"a \\\"name\\\"\"\n"
            "%2 = constant() {value=f32[]#00000040} : f32[]\n"
            "%3 = multiply(%1, %2) : f32[2,3]\n"
            "%4 = sum(%3) {axes=[0,1], keepdims=0} : f32[]\n"
            "return %4\n");
}

TEST(GraphText, ParsesBackToTheSameGraph) {
  Graph graph = small_graph(), again = parse_graph(to_string(graph));
  EXPECT_EQ(to_string(again), to_string(graph));
  EXPECT_EQ(hash(again), hash(graph));
  EXPECT_EQ(again.node(1).name, "a \"name\"");
  EXPECT_EQ(again.node(1).hint, Hint::keep);
}

TEST(GraphText, KeepsEveryKindOfAttributeExactly) {
  const Attribute all[] = {std::int64_t{-7},
                           0.1,
                           1e300,
                           INFINITY,
                           -0.0,
                           3.0,
                           std::string("a\n\"b\\"),
                           std::vector<std::int64_t>{},
                           std::vector<std::int64_t>{1, -2},
                           std::vector<double>{},
                           std::vector<double>{0.1, 2},
                           Tensor{1.5, -2},
                           Tensor::zeros({DType::f64, {2, 0}})};
  for (const Attribute& a : all) {
    std::string text = to_string(a);
    Attribute read = Scanner(text).attribute();
    EXPECT_EQ(Attributes({{"x", a}}), Attributes({{"x", read}})) << text;
  }
}

TEST(GraphText, SaysWhereItCannotRead) {
  EXPECT_EQ(message_of([] { parse_graph("%0 = nothing() : f32[2]\nreturn %0"); }), "[parse] there is no op 'nothing'");
  EXPECT_EQ(message_of([] { parse_graph("%1 = full() : f32[2]"); }),
            "[parse] nodes must be numbered in order: %0 comes next");
  EXPECT_EQ(message_of([] { parse_graph("return %3"); }), "[parse] %3:0 is not a value of a node above");
  EXPECT_EQ(message_of([] { parse_graph("%0 = input() {dtype=\"f32\", shape=[2]} : f64[2]\nreturn"); }),
            "[parse] %0 = input makes f32[2], not f64[2]");
  EXPECT_EQ(message_of([] { parse_graph("\n%0 input"); }), "[parse] line 2: expected '=' at 'input'");
}

// Under AddressSanitizer this also shows that no mutation reads out of bounds.
TEST(GraphText, MutationsAreReadOrRefusedNeverACrash) {
  std::string text = to_string(gradient(small_graph(), std::vector<int>{0}));
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string mutated = text;
    for (std::int64_t k = random.between(1, 3); k > 0; --k) {
      auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(mutated.size())));
      if (random.chance(0.3))
        mutated.erase(at, static_cast<std::size_t>(random.between(1, 9)));
      else
        mutated[at] = text[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())))];
    }
    refused += message_of([&] { verify(parse_graph(mutated)); }) != "no error";
  }
  EXPECT_GT(refused, 2500);
}

}  // namespace
}  // namespace reprise
