// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "checkpoint/messages.h"
#include "reprise/checkpointed_network.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;
using Network = CheckpointedNetwork<LinearSegment>;

std::vector<LinearSegment> chain(const std::vector<std::int64_t>& sizes) {
  std::vector<LinearSegment> segments;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    segments.push_back(LinearSegment::random_init(sizes[i], sizes[i + 1], 10 + i));
  return segments;
}

Floats ones(std::int64_t n) { return Floats(static_cast<std::size_t>(n), 1.f); }

// y = tanh(w x + layer), elementwise: the gradient needs the input, so a wrong recomputation shows.
struct Tanh {
  using Input = Floats;
  using Output = Floats;
  float weight;

  Output forward(const Input& x) const {
    Output y;
    for (float v : x) y.push_back(std::tanh(weight * v + 0.1f));
    return y;
  }
  std::pair<Input, float> vjp(const Input& x, const Output& dy) const {
    Input dx;
    float dw = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      float t = std::tanh(weight * x[i] + 0.1f), slope = (1 - t * t) * dy[i];
      dx.push_back(slope * weight);
      dw += slope * x[i];
    }
    return {dx, dw};
  }
  static std::int64_t input_memory_bytes(const Input& x) { return std::ssize(x) * 4; }
};

std::vector<Tanh> tanh_chain(std::int64_t layers) {
  std::vector<Tanh> chain;
  for (std::int64_t i = 0; i < layers; ++i) chain.push_back({0.7f + 0.01f * static_cast<float>(i)});
  return chain;
}

// What a tape that keeps everything computes.
template <class R>
NetworkGradients<R> plain_backward(const std::vector<R>& segments, const Floats& x, const Floats& dy) {
  std::vector<Floats> inputs{x};
  for (const R& segment : segments) inputs.push_back(segment.forward(inputs.back()));
  NetworkGradients<R> gradients{dy, {}};
  for (std::size_t i = segments.size(); i-- > 0;) {
    auto [dx, dw] = segments[i].vjp(inputs[i], gradients.input);
    gradients.input = dx;
    gradients.parameters.insert(gradients.parameters.begin(), dw);
  }
  return gradients;
}

TEST(LinearSegment, RandomInitIsTheKnownGenerator) {
  LinearSegment segment = LinearSegment::random_init(4, 8, 42);
  Floats first(segment.weights().begin(), segment.weights().begin() + 4);
  EXPECT_EQ(first, (Floats{0.09649223f, -0.38825333f, -0.12326527f, 0.18441069f}));
  EXPECT_EQ(segment.weights().size(), 32u);
}

TEST(LinearSegment, ForwardOfFourOnesIsKnown) {
  Floats y = LinearSegment::random_init(4, 8, 42).forward(ones(4));
  EXPECT_EQ(y.size(), 8u);
  EXPECT_EQ(Floats(y.begin(), y.begin() + 3), (Floats{-0.23061568f, -1.5830811f, -0.87057364f}));
}

TEST(LinearSegment, AWrongLengthIsAnErrorAndNeverATruncation) {
  LinearSegment segment({1, 2, 3, 4, 5, 6}, 3, 2);
  for (std::int64_t wrong : {0, 2, 4}) {
    try {
      segment.forward(ones(wrong));
      FAIL();
    } catch (const DimensionMismatch& e) {
      EXPECT_EQ(e.expected, 3);
      EXPECT_EQ(e.got, wrong);
    }
  }
  EXPECT_EQ(message([&] { segment.vjp(ones(3), ones(3)); }), "[linear segment] 3 elements as output gradient: give 2");
  EXPECT_EQ(message([] {
              LinearSegment({1, 2, 3}, 2, 2);
            }),
            "[linear segment] 3 elements as weights, which are out times in: give 4");
}

TEST(LinearSegment, RefusesSizesThatMakeNoMatrix) {
  EXPECT_EQ(message([] { LinearSegment::random_init(-1, 2, 1); }),
            "[linear segment] from -1 to 2 elements: give at least 1 of each");
  EXPECT_THROW(LinearSegment::random_init(0, 0, 1), BadRequest);
  EXPECT_THROW(LinearSegment({}, 0, 3), BadRequest);
  EXPECT_EQ(
      message([] { LinearSegment::random_init(INT64_MAX, 2, 1); }),
      "[linear segment] from 9223372036854775807 to 2 elements: give sizes whose product is at most 1099511627776");
}

TEST(LinearSegment, TheGradientIsThatOfAMatrixProduct) {
  LinearSegment segment({1, 2, 3, 4, 5, 6}, 3, 2);
  auto [dx, dw] = segment.vjp({1, 10, 100}, {2, -1});
  EXPECT_EQ(dx, (Floats{-2, -1, 0}));
  EXPECT_EQ(dw, (Floats{2, 20, 200, -1, -10, -100}));
}

TEST(Checkpoint, RecomputesAndHoldsTheInputOnly) {
  LinearSegment segment = LinearSegment::random_init(5, 10, 7);
  Checkpoint<LinearSegment> checkpoint(segment, ones(5));
  EXPECT_EQ(checkpoint.recompute(), segment.forward(ones(5)));
  EXPECT_EQ(checkpoint.memory_bytes(), 20);
}

TEST(Checkpoint, SharesTheSegmentInsteadOfCopyingIt) {
  auto segment = std::make_shared<const LinearSegment>(LinearSegment::random_init(5, 10, 7));
  Checkpoint<LinearSegment> first(segment, ones(5)), second = first;
  EXPECT_EQ(&first.segment(), segment.get());
  EXPECT_EQ(&second.segment(), segment.get());
  Network network({segment, std::make_shared<const LinearSegment>(LinearSegment::random_init(10, 5, 8))});
  network.forward(ones(5));
  EXPECT_EQ(&network.checkpoint(0).segment(), segment.get());
}

TEST(Network, FourSixteenSixtyFourKeeps80BytesOf320OfOutputs) {
  Network network(chain({4, 16, 64}));
  network.forward(ones(4));
  EXPECT_EQ(network.memory_bytes(), 80);
  EXPECT_EQ(network.output_memory_bytes(), 320);
  EXPECT_EQ(network.full_memory_bytes(), 336);  // the input too: a plain tape holds it
  EXPECT_DOUBLE_EQ(network.memory_savings(), 1 - 80. / 336);
}

TEST(Network, SavingsAreFromZeroToBelowOneForEveryShapeAndStrategy) {
  for (auto sizes : std::vector<std::vector<std::int64_t>>{{4, 4}, {64, 16, 4}, {4, 16, 64}, {3, 3, 3, 3, 3, 3}})
    for (auto strategy : {CheckpointStrategy::every(), CheckpointStrategy::sqrt(), CheckpointStrategy::none()}) {
      Network network(chain(sizes), {.strategy = strategy});
      EXPECT_EQ(network.memory_savings(), 0);
      network.forward(ones(sizes[0]));
      EXPECT_GE(network.memory_savings(), 0);
      EXPECT_LT(network.memory_savings(), 1);
    }
}

TEST(Network, UsesItsInputAndChainsItsSegments) {
  auto segments = chain({4, 8, 3});
  Network network(segments);
  Floats a = network.forward({1, 2, 3, 4}), b = network.forward({4, 3, 2, 1});
  EXPECT_NE(a, b);
  EXPECT_EQ(b, segments[1].forward(segments[0].forward({4, 3, 2, 1})));
}

TEST(Network, WithoutSegmentsIsAnError) {
  EXPECT_THROW(Network(std::vector<LinearSegment>{}), EmptyNetwork);
  EXPECT_EQ(message([] { Network(std::vector<LinearSegment>{}); }),
            "[network] has no segments: build it from at least one");
}

TEST(Network, ASegmentOfWrongSizeIsAnErrorThatLeavesNothingKept) {
  Network network(chain({4, 8, 3}));
  network.forward(ones(4));
  EXPECT_EQ(message([&] { network.forward(ones(5)); }),
            "[network] segment 0: [linear segment] 5 elements as input: give 4");
  EXPECT_EQ(network.memory_bytes(), 0);
  EXPECT_EQ(message([&] { network.backward(ones(3)); }), "[network] backward needs a forward before it");
}

TEST(Network, AMismatchNamesTheSegmentInForwardAndBackward) {
  std::vector<LinearSegment> broken{LinearSegment::random_init(4, 8, 1), LinearSegment::random_init(7, 3, 2)};
  try {
    Network(broken).forward(ones(4));
    FAIL();
  } catch (const DimensionMismatch& e) {
    EXPECT_STREQ(e.what(), "[network] segment 1: [linear segment] 8 elements as input: give 7");
    EXPECT_EQ(e.expected, 7);
    EXPECT_EQ(e.got, 8);
  }
  Network network(chain({4, 8, 3}));
  network.forward(ones(4));
  EXPECT_EQ(message([&] { network.backward(ones(2)); }),
            "[network] segment 1: [linear segment] 2 elements as output gradient: give 3");
}

template <class Store, class MakeStore>
void expect_plain_gradients(MakeStore make_store) {
  Random random(40);
  for (std::int64_t layers : {1, 2, 3, 7, 16, 25}) {
    auto segments = tanh_chain(layers);
    Floats x, dy;
    for (int i = 0; i < 9; ++i) x.push_back(static_cast<float>(random.uniform(-1, 1))), dy.push_back(x.back() - 0.3f);
    auto plain = plain_backward(segments, x, dy);
    for (auto strategy : {CheckpointStrategy::every(), CheckpointStrategy::every_nth(2),
                          CheckpointStrategy::every_nth(5), CheckpointStrategy::sqrt(), CheckpointStrategy::none()}) {
      CheckpointedNetwork<Tanh, Store> network(segments, {.strategy = strategy, .check_determinism = true},
                                               make_store(layers));
      for (int repeat = 0; repeat < 2; ++repeat) {
        network.forward(x);
        auto gradients = network.backward(dy);
        EXPECT_EQ(gradients.input, plain.input);
        EXPECT_EQ(gradients.parameters, plain.parameters);
        EXPECT_EQ(network.backward(dy).input, plain.input);
      }
    }
  }
}

TEST(Network, GradientsAreBitEqualToPlainForEveryStrategyAndLosslessStore) {
  expect_plain_gradients<MemoryStore<Floats>>([](std::int64_t) { return MemoryStore<Floats>(); });
  using Encoded = EncodedStore<Floats>;
  expect_plain_gradients<Encoded>([](std::int64_t) { return Encoded({.encoding = Encoding::plain}); });
  expect_plain_gradients<Encoded>([](std::int64_t) { return Encoded({.encoding = Encoding::zstd}); });
  expect_plain_gradients<DiskStore<Floats>>(
      [](std::int64_t layers) { return DiskStore<Floats>({.slots = layers, .slot_bytes = 36}); });
}

TEST(Network, GradientsAgreeWithFiniteDifferences) {
  auto segments = tanh_chain(6);
  CheckpointedNetwork<Tanh> network(segments, {.strategy = CheckpointStrategy::sqrt()});
  network.forward({0.3f});
  auto gradients = network.backward({1.f});
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto loss = [&](float change) {
      auto changed = segments;
      changed[i].weight += change;
      return CheckpointedNetwork<Tanh>(changed).forward({0.3f})[0];
    };
    EXPECT_NEAR(gradients.parameters[i], (loss(1e-2f) - loss(-1e-2f)) / 2e-2f, 1e-4) << i;
  }
}

TEST(Network, RecomputesEachDroppedLayerOnceAndPeaksAtTheLongestSegment) {
  auto run = [](CheckpointStrategy strategy) {
    CheckpointedNetwork<Tanh> network(tanh_chain(16), {.strategy = strategy});
    network.forward(ones(10));
    network.backward(ones(10));
    return std::tuple(network.memory_bytes(), network.recomputed_segments(), network.backward_peak_bytes());
  };
  EXPECT_EQ(run(CheckpointStrategy::every()), std::tuple(640, 0, 640));
  EXPECT_EQ(run(CheckpointStrategy::sqrt()), std::tuple(160, 12, 280));
  EXPECT_EQ(run(CheckpointStrategy::none()), std::tuple(40, 15, 640));
}

TEST(Network, MemoryIsWhatTheStoreHolds) {
  CheckpointedNetwork<Tanh, EncodedStore<Floats>> network(tanh_chain(8), {},
                                                          EncodedStore<Floats>({.encoding = Encoding::bf16}));
  network.forward(ones(10));
  EXPECT_EQ(network.memory_bytes(), 8 * 20);
}

TEST(Network, ConsultsItsBudget) {
  NetworkOptions options{.budget = CheckpointBudget(100)};
  CheckpointedNetwork<Tanh> network(tanh_chain(16), options);
  EXPECT_EQ(message([&] { network.forward(ones(10)); }),
            "[budget] exceeded: need 40 bytes, 20 are available: keep fewer checkpoints or raise the budget");
  EXPECT_EQ(network.budget().used_bytes(), 0);
  EXPECT_TRUE(network.kept_layers().empty());
  options.strategy = CheckpointStrategy::every_nth(8);
  CheckpointedNetwork<Tanh> frugal(tanh_chain(16), options);
  for (int i = 0; i < 5; ++i) frugal.forward(ones(10));  // passes do not add up
  EXPECT_EQ(frugal.budget().used_bytes(), 80);
}

TEST(Network, TwoForwardsLeaveNoStaleValue) {
  auto segments = tanh_chain(9);
  CheckpointedNetwork<Tanh> network(segments, {.strategy = CheckpointStrategy::every_nth(3)});
  network.forward(ones(20));
  network.forward({0.5f});
  EXPECT_EQ(network.memory_bytes(), 12);
  EXPECT_EQ(network.backward({1.f}).parameters, plain_backward(segments, {0.5f}, {1.f}).parameters);
}

// The third segment draws a new number at each run.
struct Noisy : Tanh {
  bool is_noisy = false;
  mutable Random random{1};
  Output forward(const Input& x) const {
    Output y = Tanh::forward(x);
    if (is_noisy) y[0] += static_cast<float>(random.unit());
    return y;
  }
};

TEST(Network, DebugModeNamesTheFirstSegmentThatIsNotDeterministic) {
  std::vector<Noisy> segments(6);
  for (auto& s : segments) s.weight = 1;
  segments[2].is_noisy = segments[4].is_noisy = true;
  for (auto strategy : {CheckpointStrategy::every(), CheckpointStrategy::sqrt(), CheckpointStrategy::none()}) {
    CheckpointedNetwork<Noisy> network(segments, {.strategy = strategy, .check_determinism = true});
    network.forward({1, 2});
    try {
      network.backward({1, 1});
      FAIL();
    } catch (const NotDeterministic& e) {
      EXPECT_EQ(e.index, 2);
      EXPECT_EQ(std::string(e.what()).substr(0, 43), "[network] segment 2 is not deterministic: t");
    }
  }
}

TEST(Network, DebugModeTakesNanForEqualToItself) {
  CheckpointedNetwork<Tanh> network(tanh_chain(3), {.check_determinism = true});
  network.forward({std::nanf("")});
  EXPECT_NO_THROW(network.backward({1.f}));
}

struct Word {  // any value type will do, and a segment need not be differentiable to be run and kept
  using Input = std::string;
  using Output = std::string;
  std::string letter;
  Output forward(const Input& x) const {
    if (x.size() > 3) throw std::length_error("too long");
    return x + letter;
  }
  std::int64_t input_memory_bytes(const Input& x) const { return std::ssize(x); }
};

TEST(Network, TakesAnyValueTypeAndLetsItsExceptionsPass) {
  static_assert(Recomputable<Word> && !DifferentiableSegment<Word> && DifferentiableSegment<LinearSegment>);
  CheckpointedNetwork<Word> network(std::vector<Word>{{"a"}, {"b"}, {"c"}});
  EXPECT_EQ(network.forward("x"), "xabc");
  EXPECT_EQ(network.memory_bytes(), 1 + 2 + 3);
  EXPECT_EQ(network.checkpoint(1).recompute(), "xab");
  EXPECT_THROW(network.forward("xyz"), std::length_error);
  EXPECT_EQ(message([&] { network.checkpoint(1); }),
            "[network] nothing is stored for 1: run a forward first, under a strategy that keeps this layer");
  EXPECT_THROW(network.checkpoint(3), IndexOutOfBounds);
}

}  // namespace
}  // namespace reprise
