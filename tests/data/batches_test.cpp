// SPDX-License-Identifier: Apache-2.0
#include "reprise/data.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/permutation.h"
#include "message.h"

namespace reprise::data {
namespace {

// x of sample i is i, y is 2 i.
Dataset counting(std::int64_t size) {
  std::vector<float> x(static_cast<std::size_t>(size));
  std::iota(x.begin(), x.end(), 0.0f);
  Tensor numbers = Tensor::from(x, {size}), doubled = numbers.clone();
  for (float& v : doubled.span<float>()) v *= 2;
  return from_tensors("numbers", numbers, doubled);
}

struct Pair {
  std::vector<Tensor> xy;
  explicit Pair(std::int64_t batch) : xy{Tensor::empty({DType::f32, {batch}}), Tensor::empty({DType::f32, {batch}})} {}
};

std::vector<float> next(Batches& batches, std::int64_t size) {
  Pair pair(size);
  batches.next(pair.xy);
  for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
    EXPECT_EQ(pair.xy[1].span<float>()[i], 2 * pair.xy[0].span<float>()[i]);
  return pair.xy[0].to_vector<float>();
}

TEST(Permutation, VisitsEveryPlaceOnce) {
  for (std::int64_t size : {1, 2, 3, 5, 16, 17, 1000, 4097}) {
    Permutation p(size, 7, 3);
    std::vector<int> seen(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) ++seen[static_cast<std::size_t>(p(i))];
    EXPECT_EQ(std::ranges::count(seen, 1), size) << size;
  }
}

TEST(Permutation, ReachesEveryOrderOfFourAboutAsOften) {
  std::map<std::vector<std::int64_t>, int> orders;
  for (std::uint64_t stream = 0; stream < 24000; ++stream) {
    Permutation p(4, 1, stream);
    ++orders[{p(0), p(1), p(2), p(3)}];
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 160);  // five standard deviations
}

TEST(Permutation, SpreadsNeighboursOverTheWholeRange) {
  Permutation p(1 << 20, 5, 0);
  double sum = 0;
  for (std::int64_t i = 0; i + 1 < 20000; ++i) sum += static_cast<double>(std::abs(p(i + 1) - p(i)));
  EXPECT_NEAR(sum / 20000 / (1 << 20), 1.0 / 3, 0.01);  // the mean distance of two points
}

TEST(Batches, GiveEachSampleAtMostOnceAnEpochInAnotherOrderEach) {
  Batches batches(counting(107), 10, 4);
  EXPECT_EQ(batches.per_epoch(), 10);
  EXPECT_EQ(batches.buffer_bytes(), 2 * 10 * 4);
  std::set<std::vector<float>> orders;
  std::set<float> ever;
  for (int epoch = 0; epoch < 12; ++epoch) {
    std::vector<float> order;
    for (int i = 0; i < 10; ++i)
      for (float x : next(batches, 10)) order.push_back(x);
    EXPECT_EQ(std::set(order.begin(), order.end()).size(), 100u);
    ever.insert(order.begin(), order.end());
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 12u);
  EXPECT_EQ(ever.size(), 107u);  // those that were left out come later
}

TEST(Batches, GoOnFromAnywhereAsIfNeverStopped) {
  Batches all(counting(50), 8, 9);
  std::vector<std::vector<float>> wanted;
  for (int i = 0; i < 40; ++i) wanted.push_back(next(all, 8));
  Batches again(counting(50), 8, 9), other(counting(50), 8, 10);
  for (std::size_t at : {23, 22, 39, 0, 0, 7, 6}) {
    again.seek(static_cast<std::int64_t>(at));
    EXPECT_EQ(again.position(), static_cast<std::int64_t>(at));
    EXPECT_EQ(next(again, 8), wanted[at]);
  }
  EXPECT_EQ(next(again, 8), wanted[7]);
  EXPECT_NE(next(other, 8), wanted[0]);
}

TEST(Batches, CanBeSoughtWhileTheThreadReads) {
  Batches batches(counting(64), 4, 1);
  std::vector<std::vector<float>> wanted;
  for (int i = 0; i < 30; ++i) wanted.push_back(next(batches, 4));
  for (std::size_t i = 0; i < 2000; ++i) {
    std::size_t at = i * 7919 % 30;
    batches.seek(static_cast<std::int64_t>((at + 11) % 30));
    batches.seek(static_cast<std::int64_t>(at));
    ASSERT_EQ(next(batches, 4), wanted[at]);
  }
}

TEST(Batches, HandOnWhatReadingThrewAndCanTryAgain) {
  auto is_broken = std::make_shared<std::atomic<bool>>(true);
  Dataset data = counting(8);
  data.read = [read = data.read, is_broken](std::int64_t i, void* x, void* y) {
    if (*is_broken) throw Error("the disk is on fire");
    read(i, x, y);
  };
  Batches batches(data, 8, 1);
  Pair pair(8);
  EXPECT_EQ(message_of([&] { batches.next(pair.xy); }), "the disk is on fire");
  EXPECT_EQ(message_of([&] { batches.next(pair.xy); }), "the disk is on fire");
  *is_broken = false;
  message_of([&] { batches.next(pair.xy); });  // may have been read before it was mended
  EXPECT_EQ(next(batches, 8).size(), 8u);
}

TEST(Batches, EndAtAnyTime) {
  for (int i = 0; i < 50; ++i) {
    Batches batches(counting(100), 10, 1), moved = std::move(batches);
    if (i % 2) next(moved, 10);
    moved = Batches(counting(20), 2, 3);
    next(moved, 2);
  }
}

TEST(Batches, RefuseWhatDoesNotFit) {
  EXPECT_EQ(message_of([] { Batches(counting(5), 6, 1); }),
            "[data] numbers has 5 samples, which do not fill a batch of 6: use a smaller batch");
  EXPECT_EQ(message_of([] { Batches(counting(5), 0, 1); }), "[data] a batch of 0 samples: it must be positive");
  Batches batches(counting(5), 2, 1);
  EXPECT_EQ(message_of([&] { batches.seek(-1); }), "[data] batch -1: batches count from 0");
  Pair pair(3);
  EXPECT_EQ(message_of([&] { batches.next(pair.xy); }),
            "[data] a batch of numbers is f32[2], which cannot be copied to f32[3]");
  EXPECT_EQ(message_of([&] { batches.next({}); }), "[data] a batch is copied to 2 tensors, x and y, not to 0");
}

std::vector<float> values(const Dataset& data) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < data.size; ++i) {
    float x, y;
    data.read(i, &x, &y);
    all.push_back(x);
  }
  return all;
}

TEST(Split, SharesEverySampleOut) {
  Dataset data = counting(101);
  Split parts = split(data, 0.2, 3), same = split(data, 0.2, 3), other = split(data, 0.2, 4);
  EXPECT_EQ(parts.validation.size, 20);
  EXPECT_EQ(parts.train.size, 81);
  std::vector<float> all = values(parts.train), validation = values(parts.validation);
  EXPECT_EQ(validation, values(same.validation));
  EXPECT_NE(validation, values(other.validation));
  all.insert(all.end(), validation.begin(), validation.end());
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 101u);
}

TEST(Split, TakesTheEndOfWhatIsOrdered) {
  Dataset data = counting(10);
  data.is_ordered = true;
  Split parts = split(data, 0.25, 3);
  EXPECT_EQ(values(parts.validation), (std::vector<float>{7, 8, 9}));
  EXPECT_EQ(values(parts.train).size(), 7u);
}

TEST(Split, LeavesBothPartsSomething) {
  EXPECT_EQ(split(counting(10), 0, 1).validation.size, 0);
  EXPECT_EQ(split(counting(10), 0.001, 1).validation.size, 1);
  EXPECT_NE(message_of([] { split(counting(1), 0.5, 1); }).find("too few to set 0.5 of them aside"), std::string::npos);
  for (double share : {-0.1, 1.0, std::nan("")})
    EXPECT_NE(message_of([&] { split(counting(9), share, 1); }).find("at least 0 and less than 1"), std::string::npos);
}

TEST(FromTensors, ChecksLabelsAgainstTheirClasses) {
  Tensor x = Tensor::zeros({DType::f32, {3, 2}}), y = Tensor::from(std::vector<std::int32_t>{0, 4, 1}, {3});
  Dataset data = from_tensors("pairs", x, y);
  EXPECT_EQ(data.classes.size(), 5u);
  EXPECT_EQ(data.y, (Type{DType::i64, {}}));
  EXPECT_EQ(data.bytes, 3 * 2 * 4 + 3 * 8);
  EXPECT_EQ(message_of([&] {
              from_tensors("pairs", x, y, {"a", "b"});
            }),
            "[data] pairs: label 4 of sample 1 is out of range: classes are numbered from 0 to 1");
  EXPECT_NE(message_of([&] {
              from_tensors("pairs", x, Tensor::zeros({DType::f32, {2}}));
            }).find("the first dimension of both"),
            std::string::npos);
  EXPECT_NE(message_of([&] { from_tensors("pairs", Tensor(), Tensor()); }).find("no samples"), std::string::npos);
}

}  // namespace
}  // namespace reprise::data
