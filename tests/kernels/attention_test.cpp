// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <cstring>
#include <thread>

#include "kernels/naive_attention.h"
#include "kernels/random_data.h"
#include "kernels/strided.h"

namespace reprise::kernels::attention_tests {
namespace {

using testing::expect_close;
using testing::RandomData;
using testing::rounding_bound;

template <class T>
struct Problem {
  AttentionSizes sizes;
  std::vector<T> q, k, v, additive;
  std::vector<char> boolean;

  Problem(RandomData& random, const AttentionSizes& s)
      : sizes(s),
        q(random.array<T>(s.batch * s.heads * s.queries * s.width)),
        k(random.array<T>(s.batch * s.kv_heads * s.keys * s.width)),
        v(random.array<T>(s.batch * s.kv_heads * s.keys * s.value_width)),
        additive(random.array<T>(s.batch * s.queries * s.keys)) {
    for (std::size_t i = 0; i < additive.size(); ++i) boolean.push_back(random.size(0, 3) > 0);
    Shape all{s.batch, s.heads, s.queries, s.keys};
    if (s.mask != MaskKind::none) sizes.mask_strides = broadcast_strides({s.batch, 1, s.queries, s.keys}, all);
  }
  AttentionInputs<T> inputs() const {
    const void* mask = sizes.mask == MaskKind::boolean ? static_cast<const void*>(boolean.data()) : additive.data();
    return {q.data(), k.data(), v.data(), mask};
  }
  std::size_t rows() const { return static_cast<std::size_t>(sizes.batch * sizes.heads * sizes.queries); }
  std::size_t out_elements() const { return rows() * static_cast<std::size_t>(sizes.value_width); }
  std::vector<char> scratch() const {
    return std::vector<char>(static_cast<std::size_t>(attention_scratch_bytes<T>(sizes)), '\xff');
  }
};

AttentionSizes random_sizes(RandomData& random, std::int64_t longest) {
  AttentionSizes s;
  s.batch = random.size(1, 2);
  s.kv_heads = random.size(1, 2);
  s.heads = s.kv_heads * random.size(1, 2);
  s.queries = random.size(1, longest);
  s.keys = random.size(1, longest);
  s.width = random.size(1, 20);
  s.value_width = random.size(1, 20);
  s.tokens_first = random.coin();
  s.causal = random.coin();
  s.scale = 0.7;
  s.mask = static_cast<MaskKind>(random.size(0, 2));
  return s;
}

template <class T>
void compare(RandomData& random, const AttentionSizes& sizes) {
  Problem<T> p(random, sizes);
  std::vector<T> out(p.out_elements(), NAN), want = out, log_sum(p.rows(), NAN), want_log = log_sum;
  auto scratch = p.scratch();
  attention(p.sizes, p.inputs(), out.data(), log_sum.data(), scratch.data());
  naive::attention(p.sizes, p.inputs(), want.data(), want_log.data());
  expect_close(out, want, rounding_bound<T>);
  expect_close(log_sum, want_log, rounding_bound<T>);

  auto gradient = random.array<T>(static_cast<std::int64_t>(out.size())),
       delta = random.array<T>(static_cast<std::int64_t>(p.rows()));
  AttentionGradientInputs<T> back{log_sum.data(), gradient.data(), delta.data()};
  std::vector<T> dq(p.q.size(), NAN), dk(p.k.size(), NAN), dv(p.v.size(), NAN);
  attention_gradient(p.sizes, p.inputs(), back, dq.data(), dk.data(), dv.data(), scratch.data());
  std::vector<T> nq(dq.size(), 0), nk(dk.size(), 0), nv(dv.size(), 0);
  naive::attention_gradient(p.sizes, p.inputs(), back, nq.data(), nk.data(), nv.data());
  expect_close(dq, nq, rounding_bound<T>);
  expect_close(dk, nk, rounding_bound<T>);
  expect_close(dv, nv, rounding_bound<T>);
}

TEST(Attention, AgreesWithTheNaiveLoopsOnRandomSizes) {
  RandomData random(7);
  for (int i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    compare<float>(random, random_sizes(random, i % 3 == 0 ? 140 : 20));
    compare<double>(random, random_sizes(random, 20));
  }
}

TEST(Attention, OfARowThatSeesNoKeyIsZero) {
  RandomData random(8);
  AttentionSizes s{1, 1, 1, 2, 3, 4, 4};
  s.mask = MaskKind::boolean;
  Problem<float> p(random, s);
  p.boolean = {0, 0, 0, 1, 1, 1};
  std::vector<float> out(8, NAN), log_sum(2, NAN);
  attention(p.sizes, p.inputs(), out.data(), log_sum.data(), p.scratch().data());
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 4), std::vector<float>(4, 0));
  EXPECT_EQ(log_sum[0], 0);
  for (float o : out) EXPECT_TRUE(std::isfinite(o));
}

TEST(Attention, StaysFiniteWithLargeScores) {
  RandomData random(9);
  AttentionSizes s{1, 2, 2, 5, 300, 8, 8};
  s.scale = 1000;
  Problem<float> p(random, s);
  std::vector<float> out(p.out_elements()), log_sum(p.rows());
  attention(p.sizes, p.inputs(), out.data(), log_sum.data(), p.scratch().data());
  for (float o : out) EXPECT_LE(std::abs(o), 1.001);
}

TEST(Attention, RunsInTwoThreadsAtOnceWithTheSameBits) {
  RandomData random(10);
  AttentionSizes s{1, 3, 3, 150, 150, 16, 16};
  s.causal = true;
  Problem<float> p(random, s);
  std::vector<float> first(p.out_elements()), second = first;
  auto repeat = [&](std::vector<float>& out) {
    auto scratch = p.scratch();
    std::vector<float> log_sum(p.rows());
    for (int i = 0; i < 10; ++i) attention(p.sizes, p.inputs(), out.data(), log_sum.data(), scratch.data());
  };
  std::thread other([&] { repeat(second); });
  repeat(first);
  other.join();
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

TEST(Attention, AsksForTheSameScratchHoweverManyTokensThereAre) {
  AttentionSizes few{1, 1, 1, 16, 16, 8, 8}, many{1, 1, 1, 16384, 16384, 8, 8};
  EXPECT_EQ(attention_scratch_bytes<float>(few), attention_scratch_bytes<float>(many));
}

}  // namespace
}  // namespace reprise::kernels::attention_tests
