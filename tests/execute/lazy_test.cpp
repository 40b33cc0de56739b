// SPDX-License-Identifier: Apache-2.0
#include "reprise/lazy.h"

#include <gtest/gtest.h>

#include "message.h"
#include "reprise/autodiff.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;

Floats floats(const Tensor& t) { return t.to_vector<float>(); }

TEST(LazyExecutor, RunsNothingTwice) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{1, 2}, "x");
  Value h = exp(x);
  lazy.evaluate(h + x);
  EXPECT_EQ(lazy.stats().executed, 2);
  lazy.evaluate(h * x);
  EXPECT_EQ(lazy.stats().executed, 3);
  EXPECT_EQ(lazy.stats().recomputed, 0);
}

TEST(LazyExecutor, ASecondForwardRunsZeroOps) {
  LazyExecutor lazy;
  auto graph = std::make_shared<Graph>(trace(
      [](const Values& v) -> Values {
        return {sum(tanh(v[0] * v[1])), v[0] + v[1]};
      },
      std::vector<Type>{{DType::f32, {3}}, {DType::f32, {3}}}));
  std::vector<Tensor> inputs{Tensor{1, 2, 3}, Tensor{4, 5, 6}};
  auto first = lazy.forward(graph, inputs);
  EXPECT_EQ(lazy.stats().executed, 4);
  auto second = lazy.forward(graph);
  EXPECT_EQ(lazy.stats().executed, 4);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(first[i], second[i]));
  EXPECT_TRUE(same_bits(first[0], evaluate(*graph, inputs)[0]));
}

TEST(LazyExecutor, OneChangedInputRunsExactlyItsDescendants) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{1, 2}), y = lazy.input(Tensor{3, 4});
  Value a = exp(x), b = exp(y), c = a + b, d = a * a;
  lazy.evaluate(Values{c, d});
  EXPECT_EQ(lazy.stats().executed, 4);
  lazy.set_input(y, Tensor{0, 0});
  lazy.evaluate(Values{c, d});
  EXPECT_EQ(lazy.stats().executed, 6);  // b and c
  EXPECT_EQ(lazy.stats().recomputed, 0);
  EXPECT_EQ(floats(lazy.evaluate(b)), (Floats{1, 1}));
}

TEST(LazyExecutor, EvaluatesAChainOf100000NodesUnderATightLimit) {
  LazyExecutor lazy{{.cache = 64}};
  Value x = lazy.input(Tensor{1, 2});
  Value y = x;
  for (int i = 0; i < 100000; ++i) y = y + x;
  EXPECT_EQ(floats(lazy.evaluate(y)), (Floats{100001, 200002}));
  EXPECT_LE(lazy.stats().peak_bytes, 64);
}

TEST(LazyExecutor, DropsAndRecomputesUnderTheLimit) {
  for (CachePolicy policy : {CachePolicy::cost_aware, CachePolicy::lru, CachePolicy::fifo, CachePolicy::lfu}) {
    LazyExecutor lazy{{.cache = 4 * 8, .policy = policy}};
    Value x = lazy.input(Tensor{0.5, 0.25});
    Values chain{x};
    for (int i = 0; i < 20; ++i) chain.push_back(sin(chain.back()));
    Tensor all = lazy.evaluate(chain.back());
    MemoryScope scope;
    for (std::size_t i = 20; i > 0; --i) {
      LazyExecutor fresh;
      Value z = fresh.input(Tensor{0.5, 0.25});
      for (std::size_t k = 0; k < i; ++k) z = sin(z);
      EXPECT_TRUE(same_bits(lazy.evaluate(chain[i]), fresh.evaluate(z)));
    }
    EXPECT_LE(lazy.stats().peak_bytes, 32);
    EXPECT_GT(lazy.stats().recomputed, 0);
    EXPECT_GT(lazy.stats().evictions, 0);
  }
}

}  // namespace
}  // namespace reprise
