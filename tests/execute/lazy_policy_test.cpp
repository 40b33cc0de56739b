// SPDX-License-Identifier: Apache-2.0
// What the cost-aware policy drops, by a clock that only the ops of this test move.
#include <gtest/gtest.h>

#include <cstring>

#include "execute/lazy_store.h"

namespace reprise {
namespace {

double clock_seconds = 0;

// A copy of its input that takes as many seconds as its attribute says.
const Op timed{.name = "timed",
               .infer = [](const Signature& s) -> std::vector<Type> { return {s.in()}; },
               .forward = [](const Signature& s) -> Kernel {
                 return {[n = s.in().bytes(), seconds = s.real("seconds")](const Buffers& b) {
                   clock_seconds += seconds;
                   std::memcpy(b.outputs[0], b.inputs[0], static_cast<std::size_t>(n));
                 }};
               }};

// Values of 400 bytes by the seconds they take, each computed from the given ones.
class Fixture {
 public:
  explicit Fixture(std::int64_t limit) : store_({.limit = limit, .now = [] { return clock_seconds; }}) {
    input_ = graph_->add_input({DType::f32, {100}});
  }

  Ref add(double seconds, Ref from) { return {graph_->add(timed, {from}, {{"seconds", seconds}}), 0}; }
  Ref input() const { return input_; }
  void compute(Ref r) {
    Table& table = store_.table(graph_);
    if (!table.cell(input_.node).present) store_.give(table.cell(input_.node), Tensor::zeros({DType::f32, {100}}));
    store_.ensure(table, r.node);
  }
  void use(Ref r) { store_.touch(store_.table(graph_).cell(r.node)); }
  bool has(Ref r) { return store_.is_present(store_.table(graph_), r); }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Ref input_;
  LazyStore store_;
};

TEST(CostAware, DropsWhatIsCheapestToComputeAgain) {
  Fixture f(1300);  // three values
  Ref dear = f.add(5, f.input()), cheap = f.add(0.1, f.input()), middling = f.add(1, f.input()),
      next = f.add(1, f.input());
  for (Ref r : {dear, cheap, middling, next}) f.compute(r);
  EXPECT_TRUE(f.has(dear));
  EXPECT_FALSE(f.has(cheap));
  EXPECT_TRUE(f.has(middling));
}

TEST(CostAware, AmongEquallyDearOnesDropsWhatLayUnusedLongest) {
  Fixture f(1300);
  Ref a = f.add(1, f.input()), b = f.add(1, f.input()), c = f.add(1, f.input()), next = f.add(1, f.input());
  for (Ref r : {a, b, c}) f.compute(r);
  f.use(a);
  f.use(c);
  f.compute(next);
  EXPECT_TRUE(f.has(a));
  EXPECT_FALSE(f.has(b));
}

// Dropping the end of a chain whose middle is gone would make both come back: the neighbourhood counts.
TEST(CostAware, CountsTheDroppedNeighboursThatWouldHaveToComeBackToo) {
  Fixture f(1300);
  Ref middle = f.add(0.5, f.input()), end = f.add(1, middle), alone = f.add(1.2, f.input()), next = f.add(9, f.input()),
      last = f.add(9, f.input());
  for (Ref r : {middle, end, alone}) f.compute(r);
  f.compute(next);  // drops `middle`, the cheapest
  ASSERT_FALSE(f.has(middle));
  for (int i = 0; i < 100; ++i) f.use(next);  // so that `end` and `alone` are about equally stale: 1.5 s against 1.2 s
  f.compute(last);
  EXPECT_TRUE(f.has(end));
  EXPECT_FALSE(f.has(alone));
}

}  // namespace
}  // namespace reprise
