// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "reprise/tensor.h"

namespace reprise {
namespace {

Tensor of_bytes(std::int64_t bytes) { return Tensor::empty({DType::boolean, {bytes}}); }

TEST(Memory, EveryByteIsCountedWhileItLives) {
  std::int64_t before = memory_use().live_bytes;
  {
    Tensor t = of_bytes(1000);
    EXPECT_EQ(memory_use().live_bytes, before + 1000);
  }
  EXPECT_EQ(memory_use().live_bytes, before);
}

TEST(Memory, ThePeakStaysUntilItIsReset) {
  reset_memory_peak();
  std::int64_t before = memory_use().live_bytes;
  of_bytes(5000);
  EXPECT_EQ(memory_use().peak_bytes, before + 5000);
  reset_memory_peak();
  EXPECT_EQ(memory_use().peak_bytes, before);
}

TEST(Memory, ViewsAndCopiesCostNothing) {
  MemoryScope scope;
  Tensor t = of_bytes(64), copy = t, view = t.reshape({8, 8}), same = t.to(DType::boolean);
  EXPECT_EQ(scope.use().live_bytes, 64);
  Tensor clone = t.clone();
  EXPECT_EQ(scope.use().live_bytes, 128);
}

TEST(Memory, AScopeMetersWhatIsAllocatedInItWhereverItDies) {
  Tensor survivor, before = of_bytes(10);
  std::optional<MemoryScope> scope(std::in_place);
  {
    Tensor gone = of_bytes(300);
    survivor = of_bytes(40);
  }
  before = Tensor{};  // was not the scope's
  EXPECT_EQ(scope->use().live_bytes, 40);
  EXPECT_EQ(scope->use().peak_bytes, 340);
  scope.reset();
  survivor = Tensor{};  // dies after the scope
}

TEST(Memory, NestedScopesCountForTheirOuterOnes) {
  MemoryScope outer;
  Tensor a = of_bytes(100);
  {
    MemoryScope inner;
    Tensor b = of_bytes(50);
    EXPECT_EQ(inner.use().live_bytes, 50);
    EXPECT_EQ(outer.use().live_bytes, 150);
  }
  EXPECT_EQ(outer.use().live_bytes, 100);
  EXPECT_EQ(outer.use().peak_bytes, 150);
}

TEST(Memory, OtherThreadsCountForTheProcessButNotForThisThreadsScope) {
  MemoryScope scope;
  std::int64_t before = memory_use().live_bytes;
  Tensor made_there, own = of_bytes(7);
  std::thread([&] { made_there = of_bytes(20); }).join();
  EXPECT_EQ(memory_use().live_bytes, before + 27);
  EXPECT_EQ(scope.use().live_bytes, 7);
  std::thread([gone = std::move(own)]() mutable { gone = Tensor{}; }).join();
  EXPECT_EQ(scope.use().live_bytes, 0);
}

TEST(Memory, ManyThreadsLoseNoByte) {
  std::int64_t before = memory_use().live_bytes;
  reset_memory_peak();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int k = 0; k < 2000; ++k) of_bytes(16 + k % 7);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(memory_use().live_bytes, before);
  EXPECT_GE(memory_use().peak_bytes, before + 16);
  EXPECT_LE(memory_use().peak_bytes, before + 4 * 22);
}

}  // namespace
}  // namespace reprise
