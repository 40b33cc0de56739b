// SPDX-License-Identifier: Apache-2.0
// Drivers over stores and values of the user's own: what they count, what they need, and what happens when a disk
// fails.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "checkpoint/disk_faults.h"
#include "checkpoint/messages.h"
#include "reprise/checkpoint.h"

namespace reprise {
namespace {

using Floats = std::vector<float>;
using Layers = std::vector<std::int64_t>;
const Floats given_input{1.234f, 5.5345f, 9.12367f};
const Layers six_layers{0, 1, 2, 3, 4, 5};

Floats sine_layer(std::int64_t index, const Floats& x) {
  Floats y;
  for (float v : x) y.push_back(std::sin(v) + 0.1f * static_cast<float>(index));
  return y;
}
Floats sine_layer_vjp(std::int64_t, const Floats& x, const Floats& dy) {
  Floats dx;
  for (std::size_t i = 0; i < x.size(); ++i) dx.push_back(std::cos(x[i]) * dy[i]);
  return dx;
}

struct Field {  // neither operator== nor Serial
  std::vector<double> height, speed;
};
struct Wave {
  using Input = Field;
  using Output = Field;
  double c;
  Field forward(const Field& f) const { return {{f.height[0] + c * std::sin(f.speed[0])}, {f.speed[0]}}; }
  std::pair<Field, double> vjp(const Field& f, const Field& d) const {
    double slope = c * std::cos(f.speed[0]);
    return {{{d.height[0]}, {d.speed[0] + slope * d.height[0]}}, std::sin(f.speed[0]) * d.height[0]};
  }
  static std::int64_t input_memory_bytes(const Field&) { return 16; }
};

TEST(Network, TakesValuesThatCannotBeComparedUntilAskedToCompareThem) {
  std::vector<Wave> waves{{0.5}, {0.25}, {2}};
  CheckpointedNetwork<Wave> network(waves, {.strategy = CheckpointStrategy::none()});
  network.forward({{1}, {2}});
  EXPECT_DOUBLE_EQ(network.backward({{1}, {0}}).input.speed[0], 2.75 * std::cos(2));
  CheckpointedNetwork<Wave> checked(waves, {.check_determinism = true});
  checked.forward({{1}, {2}});
  EXPECT_EQ(message([&] {
              checked.backward({{1}, {0}});
            }),
            "[network] check_determinism compares values: they have to have operator== or reprise::Serial");
}

struct Particle {  // padding, no operator==
  double x;
  int charge;
};

TEST(ReverseSweep, TakesContainersOfStructsThatCannotBeCompared) {
  using Particles = std::vector<Particle>;
  auto move = [](Particles p) {
    for (Particle& one : p) one.x *= 1.5;
    return p;
  };
  auto reverse = [](const Particles&, double a) { return a * 1.5; };
  SweepOptions options{.steps = 4, .snapshots = 2};
  EXPECT_EQ(reverse_sweep(Particles(3, {1, 2}), options, move, 1.0, reverse), std::pow(1.5, 4));
  options.check_determinism = true;
  EXPECT_THROW(reverse_sweep(Particles(3, {1, 2}), options, move, 1.0, reverse), BadRequest);
}

TEST(Checkpointer, NeverHoldsMoreThanItsBudgetWhateverTheStoreMakesOfAValue) {
  for (Encoding encoding : {Encoding::plain, Encoding::f16, Encoding::int8, Encoding::zstd})
    for (std::int64_t budget : {80, 100, 200}) {
      using Store = EncodedStore<Floats>;
      ActivationCheckpointer<Floats, Store> checkpointer(
          {.checkpoint_every_n_layers = 1, .budget = CheckpointBudget(budget)}, Store({.encoding = encoding}));
      checkpointer.checkpointed_forward(given_input, six_layers, sine_layer);
      EXPECT_GT(checkpointer.num_checkpoints(), 0);
      EXPECT_LE(checkpointer.memory_stored_bytes(), budget);
      EXPECT_EQ(checkpointer.config().budget.used_bytes(), checkpointer.memory_stored_bytes());
    }
}

TEST(Checkpointer, HalfAValueFitsTwiceInItsBudget) {
  ActivationCheckpointer<Floats, EncodedStore<Floats>> checkpointer(
      {.checkpoint_every_n_layers = 1, .budget = CheckpointBudget(12)},
      EncodedStore<Floats>({.encoding = Encoding::f16}));
  checkpointer.checkpointed_forward(given_input, six_layers, sine_layer);
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
}

TEST(Checkpointer, DebugModeNamesTheFirstLayerThatIsNotDeterministic) {
  int calls = 0;
  auto noisy = [&](std::int64_t index, const Floats& x) {
    Floats y = sine_layer(index, x);
    if (index == 3 || index == 5) y[0] += static_cast<float>(++calls);
    return y;
  };
  for (std::int64_t every : {0, 1, 2, 4}) {
    ActivationCheckpointer checkpointer({.checkpoint_every_n_layers = every, .check_determinism = true});
    checkpointer.checkpointed_forward(given_input, six_layers, sine_layer);
    EXPECT_NO_THROW(checkpointer.checkpointed_backward(given_input, six_layers, sine_layer, sine_layer_vjp));
    try {
      checkpointer.checkpointed_backward(given_input, six_layers, noisy, sine_layer_vjp);
      FAIL() << "the noise went unnoticed";
    } catch (const NotDeterministic& e) {
      EXPECT_EQ(e.index, 3);
      EXPECT_EQ(std::string(e.what()).substr(0, 63), "[checkpointer] the layer at position 3 is not deterministic: tw");
    }
  }
}

int saves = 0;
struct Measured {  // counts how often it is turned into bytes
  Floats values;
};

}  // namespace

template <>
struct Serial<Measured> {
  static std::span<const std::byte> save(const Measured& m) { return ++saves, Serial<Floats>::save(m.values); }
  static Measured load(std::span<const std::byte> bytes) { return {Serial<Floats>::load(bytes)}; }
};

namespace {

TEST(Checkpointer, CountsItsBytesWithoutLookingAtWhatItHolds) {
  ActivationCheckpointer<Measured, MemoryStore<Measured>> checkpointer({}, {});
  for (std::int64_t l = 0; l < 50; ++l) checkpointer.save(l, {given_input});
  saves = 0;
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 600);
  EXPECT_EQ(checkpointer.memory_saved_bytes(), 0);
  EXPECT_EQ(checkpointer.num_checkpoints(), 50);
  EXPECT_EQ(saves, 0);
}

TEST(Checkpointer, ForgetsWhatADiskLostBehindIt) {
  using Disk = DiskStore<Floats>;
  ActivationCheckpointer<Floats, Disk> checkpointer(
      {.budget = CheckpointBudget(100)}, Disk({.slots = 6, .slot_bytes = 12, .write_behind = 1, .read_ahead = 0}));
  checkpointer.save(0, given_input);
  checkpointer.save(1, given_input);
  {
    FileSizeLimit limit(2 * 4096);
    checkpointer.save(2, given_input);
    EXPECT_THROW(checkpointer.save(3, given_input), StoreFailed);
  }
  EXPECT_EQ(checkpointer.num_checkpoints(), 2);
  EXPECT_EQ(checkpointer.memory_stored_bytes(), 24);
  EXPECT_EQ(checkpointer.config().budget.used_bytes(), 24);
  EXPECT_THROW(checkpointer.get(2), NothingStored);
  EXPECT_EQ(checkpointer.get(1), given_input);
}

TEST(DriverMisuse, AStoreThatHoldsSomethingIsRefused) {
  EncodedStore<Floats> used({.encoding = Encoding::plain});
  EXPECT_EQ(used.put(5, given_input), 12);
  EXPECT_EQ(message([&] { ActivationCheckpointer<Floats, EncodedStore<Floats>>({}, used); }),
            "[checkpointer] the store holds 12 bytes already: give an empty one");
  using Network = CheckpointedNetwork<LinearSegment, EncodedStore<Floats>>;
  EXPECT_THROW(Network(std::vector{LinearSegment::random_init(2, 2, 1)}, {}, used), BadRequest);
}

TEST(Checkpointer, ADiskThatFillsUpInTheMiddleIsAnErrorAndTheNextPassIsRight) {
  using Disk = DiskStore<Floats>;
  ActivationCheckpointer<Floats, Disk> checkpointer({.checkpoint_every_n_layers = 1},
                                                    Disk({.slots = 6, .slot_bytes = 12, .write_behind = 1}));
  for (rlim_t room : {rlim_t{0}, rlim_t{5}, rlim_t{2 * 4096 + 5}}) {
    FileSizeLimit limit(room);
    EXPECT_THROW(checkpointer.checkpointed_forward(given_input, six_layers, sine_layer), StoreFailed);
    EXPECT_EQ(checkpointer.num_checkpoints(), 0);
    EXPECT_EQ(checkpointer.memory_stored_bytes(), 0);
    EXPECT_EQ(checkpointer.config().budget.used_bytes(), 0);
  }
  checkpointer.checkpointed_forward(given_input, six_layers, sine_layer);
  ActivationCheckpointer plain;
  plain.checkpointed_forward(given_input, six_layers, sine_layer);
  EXPECT_EQ(checkpointer.checkpointed_backward(given_input, six_layers, sine_layer, sine_layer_vjp),
            plain.checkpointed_backward(given_input, six_layers, sine_layer, sine_layer_vjp));
}

TEST(Network, ADiskThatFillsUpInTheMiddleIsAnErrorAndTheNextForwardIsRight) {
  std::vector<LinearSegment> segments;
  for (std::uint64_t i = 0; i < 8; ++i) segments.push_back(LinearSegment::random_init(3, 3, i));
  CheckpointedNetwork<LinearSegment, DiskStore<Floats>> network(
      segments, {.budget = CheckpointBudget(1000)},
      DiskStore<Floats>({.slots = 8, .slot_bytes = 12, .write_behind = 1}));
  {
    FileSizeLimit limit(4096 + 5);
    EXPECT_THROW(network.forward(given_input), StoreFailed);
    EXPECT_EQ(network.memory_bytes(), 0);
    EXPECT_EQ(network.budget().used_bytes(), 0);
  }
  CheckpointedNetwork<LinearSegment> plain(segments);
  EXPECT_EQ(network.forward(given_input), plain.forward(given_input));
  EXPECT_EQ(network.backward(given_input).parameters, plain.backward(given_input).parameters);
  EXPECT_EQ(network.budget().used_bytes(), 8 * 12);
}

TEST(SweepOverStores, SweepsInSeveralThreadsWithStoresOfTheirOwnDoNotDisturbEachOther) {
  Parent parent;
  auto forward = [](std::int64_t step, const Floats& x) { return sine_layer(step % 7, x); };
  auto sweep = [&](auto&... stores) {
    return reverse_sweep(given_input, {.schedule = chain::multistage(40, {{"memory", 2}, {"disk", 4, 1, 1}})}, forward,
                         Floats{1, 1, 1}, sine_layer_vjp, stores...);
  };
  Floats expected = sweep();
  std::vector<Floats> gradients(3);
  {
    std::vector<std::jthread> threads;
    for (Floats& gradient : gradients)
      threads.emplace_back([&] {
        MemoryStore<Floats> memory;
        DiskStore<Floats> disk({.slots = 4, .slot_bytes = 12, .directory = parent.path});
        for (int i = 0; i < 5; ++i) gradient = sweep(memory, disk);
      });
  }
  for (const Floats& gradient : gradients) EXPECT_EQ(gradient, expected);
  EXPECT_TRUE(parent.is_empty());
}

}  // namespace
}  // namespace reprise
