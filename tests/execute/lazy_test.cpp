// SPDX-License-Identifier: Apache-2.0
#include "reprise/lazy.h"

#include <gtest/gtest.h>

#include "message.h"
#include "reprise/autodiff.h"

namespace reprise::lazy_tests {
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

TEST(LazyExecutor, TellsOneGraphFromAnother) {
  LazyExecutor lazy;
  auto make = [&](double value) {
    auto graph = std::make_shared<Graph>();
    Value x(graph, graph->add_input({DType::f32, {1}}));
    lazy.set_input(x, Tensor{value});
    return square(x);
  };
  Value a = make(2), b = make(3);
  EXPECT_EQ(lazy.evaluate(a).item(), 4);
  EXPECT_EQ(lazy.evaluate(b).item(), 9);
  EXPECT_EQ(lazy.evaluate(a).item(), 4);
  EXPECT_EQ(lazy.cached_count(), 2);
}

TEST(LazyExecutor, TakesNoGraphForOneThatDiedAtItsAddress) {
  LazyExecutor lazy;
  for (int i = 0; i < 100; ++i) {
    auto graph = std::make_shared<Graph>();
    Value x(graph, graph->add_input({DType::f32, {1}}));
    EXPECT_FALSE(lazy.get_cached(x));
    lazy.set_input(x, Tensor{i});
    EXPECT_EQ(lazy.evaluate(square(x)).item(), i * i);
    EXPECT_EQ(lazy.cached_count(), 1);  // those of dead graphs are gone
  }
}

TEST(LazyExecutor, GivesWhatIsCachedAndNothingElse) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{1, 2});
  Value y = exp(x), z = exp(y);
  EXPECT_FALSE(lazy.get_cached(y));
  lazy.evaluate(z);
  EXPECT_TRUE(same_bits(*lazy.get_cached(y), lazy.evaluate(y)));
  EXPECT_EQ(lazy.cached_count(), 2);
  lazy.invalidate_cache();
  EXPECT_EQ(lazy.cached_count(), 0);
  EXPECT_FALSE(lazy.get_cached(z));
  EXPECT_EQ(floats(*lazy.get_cached(x)), (Floats{1, 2}));
}

TEST(LazyExecutor, CountsAnInvalidatedNodeAsRecomputed) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{1, 2});
  Value a = exp(x), b = sin(a), c = cos(x);
  lazy.evaluate(Values{b, c});
  lazy.invalidate_node(a);  // and so b
  lazy.evaluate(Values{b, c});
  EXPECT_EQ(lazy.stats().executed, 5);
  EXPECT_EQ(lazy.stats().recomputed, 2);
}

TEST(LazyExecutor, UsesWhatWasPutInPlaceOfANode) {
  LazyExecutor lazy{{.cache = 64}};
  Value x = lazy.input(Tensor{1, 2});
  Value y = square(x), z = y + y;
  EXPECT_EQ(floats(lazy.evaluate(z)), (Floats{2, 8}));
  lazy.put_cached(y, Tensor{10, 20});
  EXPECT_EQ(floats(lazy.evaluate(z)), (Floats{20, 40}));
  lazy.set_input(x, Tensor{3, 4});  // y depends on x
  EXPECT_EQ(floats(lazy.evaluate(z)), (Floats{18, 32}));
  lazy.put_cached(y, Tensor{10, 20});
  lazy.invalidate_node(y);
  EXPECT_EQ(floats(lazy.evaluate(z)), (Floats{18, 32}));
}

TEST(LazyExecutor, TakesOneOfSeveralOutputsAsPut) {
  LazyExecutor lazy;
  Value x = lazy.input(Tensor{{1, 2}, {3, 4}}), one = lazy.input(Tensor{1, 1}), zero = lazy.input(Tensor{0, 0});
  auto [out, mean, variance] = batch_norm(x, one, zero);
  EXPECT_EQ(floats(lazy.evaluate(mean + mean)), (Floats{4, 6}));
  lazy.put_cached(mean, Tensor{7, 8});
  EXPECT_EQ(floats(lazy.evaluate(mean + mean)), (Floats{14, 16}));
  EXPECT_EQ(floats(lazy.evaluate(variance)), (Floats{1, 1}));
  lazy.invalidate_node(mean);
  EXPECT_EQ(floats(lazy.evaluate(mean)), (Floats{2, 3}));
}

TEST(LazyExecutor, APutOutputIsThereAtOnceAndLeavesTheOthersClean) {
  for (bool runs_before : {false, true}) {
    LazyExecutor lazy;
    Value x = lazy.input(Tensor{{1, 2}, {3, 4}}), one = lazy.input(Tensor{1, 1}), zero = lazy.input(Tensor{0, 0});
    auto [out, mean, variance] = batch_norm(x, one, zero);
    Value of_mean = mean + mean, of_variance = variance + variance;
    if (runs_before) lazy.evaluate(Values{of_mean, of_variance});
    auto before = lazy.stats().executed;
    lazy.put_cached(mean, Tensor{7, 8});
    EXPECT_EQ(floats(*lazy.get_cached(mean)), (Floats{7, 8}));
    EXPECT_EQ(floats(lazy.evaluate(mean)), (Floats{7, 8}));
    EXPECT_EQ(lazy.stats().executed, before);
    EXPECT_EQ(lazy.cached_count(), runs_before ? 2 : 1);
    EXPECT_EQ(floats(lazy.evaluate(of_mean)), (Floats{14, 16}));
    EXPECT_EQ(floats(lazy.evaluate(of_variance)), (Floats{2, 2}));
    EXPECT_EQ(lazy.stats().executed, before + (runs_before ? 1 : 3));  // what reads the mean
    lazy.put_cached(mean, Tensor{1, 0});
    EXPECT_EQ(floats(lazy.evaluate(of_mean)), (Floats{2, 0}));
    lazy.invalidate_cache();
    EXPECT_EQ(lazy.stats().bytes, 0);
    EXPECT_EQ(floats(lazy.evaluate(mean)), (Floats{2, 3}));
  }
}

TEST(LazyExecutor, PutValuesStayWithinTheLimit) {
  LazyExecutor lazy{{.cache = 3 * 400}};
  Value x = lazy.input(Tensor::full({DType::f32, {100}}, 0.5));
  Value h = sin(sin(sin(x))), other = cos(x);
  lazy.evaluate(h);
  lazy.put_cached(other, Tensor::full({DType::f32, {100}}, 2));
  EXPECT_EQ(lazy.stats().peak_bytes, 1200);
  EXPECT_EQ(lazy.evaluate(other).span<float>()[0], 2);
}

TEST(LazyExecutor, GivesTheGradientsOfInputsThatCameLater) {
  auto graph = std::make_shared<Graph>();
  Value x(graph, graph->add_input({DType::f32, {2}}));
  Value y = sum(square(x));
  graph->outputs = {y.ref()};
  LazyExecutor lazy;
  lazy.set_input(x, Tensor{1, 2});
  EXPECT_EQ(lazy.backward(graph, Tensor::scalar(1)).size(), 1u);
  Value z(graph, graph->add_input({DType::f32, {2}}));
  lazy.set_input(z, Tensor{3, 4});
  auto gradients = lazy.backward(graph, Tensor::scalar(1));
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_EQ(floats(gradients[0]), (Floats{2, 4}));
  EXPECT_EQ(floats(gradients[1]), (Floats{0, 0}));
}

TEST(LazyExecutor, EstimatesWhatItWillHold) {
  auto graph = std::make_shared<Graph>(trace(
      [](const Values& v) -> Values {
        Value h = matmul(v[0], v[1]);
        exp(h);  // nobody asks for it
        return {sum(reshape(tanh(h), {12})), h};
      },
      std::vector<Type>{{DType::f32, {3, 5}}, {DType::f32, {5, 4}}}));
  LazyExecutor lazy;
  EXPECT_EQ(lazy.memory_estimate_for(graph), 4 * (12 + 12 + 1));
  Tensor a = Tensor::full({DType::f32, {3, 5}}, 1), b = Tensor::full({DType::f32, {5, 4}}, 2);
  MemoryScope scope;
  lazy.forward(graph, std::array{a, b});
  EXPECT_EQ(scope.use().live_bytes, lazy.memory_estimate_for(graph));
  EXPECT_EQ(lazy.stats().bytes, lazy.memory_estimate_for(graph));
}

TEST(LazyExecutor, HoldsWhatTheAllocatorMeasures) {
  for (std::int64_t limit : {std::int64_t{4096}, std::int64_t{40000}}) {
    LazyExecutor lazy{{.cache = limit}};
    Value x = lazy.input(Tensor::full({DType::f32, {10, 10}}, 0.01));
    MemoryScope scope;
    Value h = x;
    for (int i = 0; i < 30; ++i) h = h + sin(matmul(h, x));
    lazy.evaluate(h);
    EXPECT_EQ(lazy.stats().peak_bytes, scope.use().peak_bytes);
    EXPECT_EQ(lazy.stats().bytes, scope.use().live_bytes);
    EXPECT_LE(lazy.stats().peak_bytes, limit);
  }
}

TEST(LazyExecutor, CountsHitsMissesAndEvictions) {
  LazyExecutor lazy{{.entries = 1}};
  Value x = lazy.input(Tensor{1});
  Value a = exp(x), b = sin(x);
  lazy.evaluate(a);
  lazy.evaluate(a);
  EXPECT_EQ(lazy.stats().hits, 1);
  EXPECT_EQ(lazy.stats().misses, 1);
  EXPECT_EQ(lazy.stats().hit_rate(), 0.5);
  lazy.evaluate(b);
  EXPECT_EQ(lazy.stats().evictions, 1);
  EXPECT_EQ(lazy.stats().entries, 1);
  lazy.evaluate(a);
  EXPECT_EQ(lazy.stats().recomputed, 1);
  EXPECT_GT(lazy.stats().recompute_seconds, 0);
  EXPECT_GE(lazy.stats().seconds, lazy.stats().recompute_seconds);
  lazy.reset_stats();
  EXPECT_EQ(lazy.stats().hits, 0);
}

TEST(LazyPolicy, EachDropsWhatItSays) {
  auto dropped = [](CachePolicy policy) {
    LazyExecutor lazy{{.entries = 3, .policy = policy}};
    Value x = lazy.input(Tensor{1});
    Values v{exp(x), sin(x), cos(x), tanh(x)};
    for (int i : {0, 0, 0, 1, 2, 1, 1, 1, 2, 0}) lazy.evaluate(v[static_cast<std::size_t>(i)]);
    lazy.evaluate(v[3]);
    for (int i = 0; i < 3; ++i)
      if (!lazy.get_cached(v[static_cast<std::size_t>(i)])) return i;
    return -1;
  };
  EXPECT_EQ(dropped(CachePolicy::lru), 1);
  EXPECT_EQ(dropped(CachePolicy::fifo), 0);
  EXPECT_EQ(dropped(CachePolicy::lfu), 2);
}

TEST(LazyPolicy, NoneKeepsNothingButRunsNothingTwiceInOneCall) {
  LazyExecutor lazy{{.policy = CachePolicy::none}};
  Value y = lazy.input(Tensor{1, 2});
  for (int i = 0; i < 30; ++i) y = sin(y) + cos(y);
  lazy.evaluate(y);
  EXPECT_EQ(lazy.stats().executed, 90);
  EXPECT_EQ(lazy.cached_count(), 0);
  EXPECT_EQ(lazy.stats().bytes, 0);
}

TEST(LazyExecutor, LetsWhatIsLargerThanTheLimitPassThrough) {
  LazyExecutor lazy{{.cache = 100}};
  Value x = lazy.input(Tensor::full({DType::f32, {100}}, 2));
  Value big = square(x), small = sum(big);
  EXPECT_EQ(lazy.evaluate(big).span<float>()[99], 4);
  EXPECT_EQ(lazy.cached_count(), 0);
  EXPECT_EQ(lazy.stats().bytes, 0);
  EXPECT_EQ(lazy.evaluate(small).item(), 400);
  EXPECT_EQ(lazy.cached_count(), 1);
  EXPECT_EQ(lazy.stats().bytes, 4);
}

TEST(LazyExecutor, GivesTheGradientsOfAGraphAndSharesItsValues) {
  auto graph = std::make_shared<Graph>(trace([](const Values& v) -> Values { return {sum(tanh(matmul(v[0], v[1])))}; },
                                             std::vector<Type>{{DType::f32, {2, 3}}, {DType::f32, {3, 2}}}));
  std::vector<Tensor> inputs{Tensor{{1, 2, 3}, {.1, .2, .3}}, Tensor{{.1, .2}, {.3, .4}, {.5, .6}}};
  Graph both = gradient(*graph, std::vector<int>{0, 1});
  LazyExecutor lazy;
  lazy.forward(graph, inputs);
  auto before = lazy.stats().executed;
  auto gradients = lazy.backward(graph, Tensor::scalar(1));
  auto wanted = evaluate(both, inputs);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(gradients[i], wanted[i + 1]));
  EXPECT_EQ(lazy.stats().recomputed, 0);
  auto after = lazy.stats().executed;
  EXPECT_GT(after, before);
  lazy.backward(graph, Tensor::scalar(1));
  EXPECT_EQ(lazy.stats().executed, after);
  EXPECT_EQ(graph->inputs.size(), 2u);
  EXPECT_EQ(lazy.forward(graph, inputs).size(), 1u);
}

TEST(LazyExecutor, SaysWhatIsMissingOrWrong) {
  LazyExecutor lazy;
  auto graph = std::make_shared<Graph>();
  Value x(graph, graph->add_input({DType::f32, {2}}, "x"));
  EXPECT_EQ(message_of([&] { lazy.evaluate(exp(x)); }), "[lazy] input 'x' (f32[2]) has no tensor: set it first");
  EXPECT_EQ(message_of([&] {
              lazy.set_input(x, Tensor{1, 2, 3});
            }),
            "[set_input] the tensor is f32[3], the value is f32[2]");
  EXPECT_EQ(message_of([&] {
              lazy.set_input(exp(x), Tensor{1, 2});
            }),
            "[set_input] 'exp' is not an input: put_cached says what a computed value is");
  EXPECT_EQ(message_of([&] {
              lazy.put_cached(reshape(x, {2, 1}), Tensor{{1}, {2}});
            }),
            "[put_cached] 'reshape' computes nothing of its own: put the value it shows");
  EXPECT_EQ(message_of([&] { lazy.evaluate(Value()); }), "[lazy] the Value is empty: it was never assigned");
  EXPECT_THROW(LazyExecutor({.threads = 0}), Error);
}

TEST(LazyExecutor, AFailedOpLeavesTheRestAsItWas) {
  LazyExecutor lazy{{.cache = 4096}};
  Value x = lazy.input(Tensor{1, 2});
  Value i = lazy.input(Tensor::from<std::int64_t>(std::vector<std::int64_t>{9}, {1}));
  Value y = exp(x), bad = gather(y, i);
  EXPECT_THROW(lazy.evaluate(bad), Error);
  EXPECT_EQ(lazy.cached_count(), 1);
  lazy.set_input(i, Tensor::from<std::int64_t>(std::vector<std::int64_t>{1}, {1}));
  EXPECT_TRUE(same_bits(lazy.evaluate(bad), lazy.evaluate(slice(y, 0, 1, 2))));
}

TEST(LazyExecutor, KeepsATimelineWhenAsked) {
  LazyExecutor lazy{{.entries = 1, .keeps_timeline = true}};
  Value x = lazy.input(Tensor{1});
  lazy.evaluate(exp(x));
  lazy.evaluate(sin(x));
  ASSERT_EQ(lazy.timeline().size(), 3u);
  EXPECT_EQ(lazy.timeline()[0].op, "exp");
  EXPECT_EQ(lazy.timeline()[1].kind, LazyEvent::Kind::dropped);
  EXPECT_EQ(lazy.timeline()[2].op, "sin");
  EXPECT_EQ(lazy.timeline()[2].live_bytes, 4);
  EXPECT_LE(lazy.timeline()[0].begin, lazy.timeline()[2].begin);
}

}  // namespace
}  // namespace reprise::lazy_tests
