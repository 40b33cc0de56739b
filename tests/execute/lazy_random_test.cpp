// SPDX-License-Identifier: Apache-2.0
// Random programs, in any order of recording, setting, evaluating, putting and invalidating, against a reference that
// recomputes everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/random.h"
#include "graph/builtin.h"
#include "reprise/lazy.h"

namespace reprise {
namespace {

using Bits = std::vector<char>;

Bits bits(const Tensor& t) {
  Bits b(static_cast<std::size_t>(t.bytes()));
  if (!b.empty()) std::memcpy(b.data(), t.data(), b.size());
  return b;
}

// What the reference knows: the numbers of inputs, and of values that were put.
class Reference {
 public:
  explicit Reference(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}

  void set_input(Ref r, const Tensor& t) {
    inputs_[r] = t;
    forget_after(r.node);
  }
  void put(Ref r, const Tensor& t) {
    forget_after(r.node, r.output);
    puts_[r] = t;
  }
  void invalidate(Ref r) {
    while (graph_->node(r.node).op->view_of >= 0) r = graph_->node(r.node).inputs[0];
    forget(r.node);
    forget_after(r.node);
  }
  void invalidate_all() { puts_.clear(); }

  Bits evaluate(Ref wanted) const {
    Graph graph;
    std::map<Ref, Ref> places;
    for (std::int32_t i = 0; i <= wanted.node; ++i) {
      Node node = graph_->node(i);
      for (Ref& r : node.inputs) r = places.at(r);
      std::int32_t place = graph.append(node);
      for (Ref r{i, 0}; r.output < static_cast<std::int32_t>(node.outputs.size()); ++r.output)
        places[r] = find(r) ? constant(graph, *find(r)) : Ref{place, r.output};
    }
    graph.outputs = {places.at(wanted)};
    return bits(reprise::evaluate(eliminate_dead_code(graph), {})[0]);
  }

 private:
  static Ref constant(Graph& graph, const Tensor& t) {
    return {graph.append({&constant_op, {}, {{"value", t}}, {t.type()}}), 0};
  }
  const Tensor* find(Ref r) const {
    if (auto at = puts_.find(r); at != puts_.end()) return &at->second;
    if (auto at = inputs_.find(r); at != inputs_.end()) return &at->second;
    return nullptr;
  }
  void forget(std::int32_t node) {
    std::erase_if(puts_, [&](const auto& put) { return put.first.node == node; });
  }
  // What depends on a node, or on one output of it.
  void forget_after(std::int32_t node, std::int32_t output = -1) {
    std::vector<bool> depends(static_cast<std::size_t>(graph_->size()), false);
    auto is_changed = [&](Ref r) {
      if (r.node == node) return output < 0 || r.output == output;
      return bool{depends[static_cast<std::size_t>(r.node)]};
    };
    for (std::int32_t i = node + 1; i < graph_->size(); ++i) {
      if (!std::ranges::any_of(graph_->node(i).inputs, is_changed)) continue;
      depends[static_cast<std::size_t>(i)] = true;
      forget(i);
    }
  }

  std::shared_ptr<Graph> graph_;
  std::map<Ref, Tensor> inputs_, puts_;
};

// Square matrices; now and then a view of their elements, or the means of a batch norm, which broadcast.
class Generator {
 public:
  Generator(std::uint64_t seed, std::int64_t side, std::shared_ptr<Graph> graph)
      : random(seed), side_(side), graph_(std::move(graph)) {
    for (int i = 0; i < 3; ++i) squares_.emplace_back(graph_, graph_->add_input({DType::f32, {side, side}}));
    all_ = inputs_ = squares_;
  }

  void record_op() {
    const Value &a = pick(squares_), &b = pick(squares_);
    switch (random.below(8)) {
      case 0: return add(a + b);
      case 1: return add(tanh(a));
      case 2: return add(a * tanh(b));
      case 3: return add(sin(matmul(a, b)));
      case 4: return add(reshape(sin(reshape(a, {side_ * side_})), {side_, side_}));
      case 5: return add(a + mean(b, {0}));
      case 6: {
        auto [out, mean, variance] = batch_norm(a, sum(b, {0}), mean_row(a));
        all_.push_back(mean);
        return add(out + variance);
      }
      default: {
        Value view = reshape(a, {2, side_ * side_ / 2});
        all_.push_back(view);
        return add(reshape(view + view, {side_, side_}));
      }
    }
  }

  const Value& pick(const Values& from) {
    return from[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(from.size())))];
  }
  const Values& all() const { return all_; }
  const Values& inputs() const { return inputs_; }

  Random random;

 private:
  Value mean_row(const Value& x) { return mean(x, {1}); }
  void add(const Value& v) {
    squares_.push_back(v);
    all_.push_back(v);
  }

  std::int64_t side_;
  std::shared_ptr<Graph> graph_;
  Values squares_, all_, inputs_;
};

Tensor draw_values(Random& random, const Shape& shape) {
  Tensor t = Tensor::empty({DType::f32, shape});
  for (float& x : t.span<float>()) x = static_cast<float>(random.uniform(-1, 1));
  return t;
}

bool can_be_put(const Value& v) {
  const Node& node = v.graph()->node(v.ref().node);
  return node.op != &input_op && node.op->view_of < 0;
}

struct Outcome {
  std::vector<Bits> seen, wanted;
  std::int64_t measured_peak = 0;
  LazyStats stats;
};

// Only the executor allocates inside the scope; results leave it as plain bytes.
Outcome run_random_program(std::uint64_t seed, std::int64_t side, const LazyOptions& options, int actions) {
  auto graph = std::make_shared<Graph>();
  Generator generator(seed, side, graph);
  Random& random = generator.random;
  Reference reference(graph);
  LazyExecutor lazy(options);
  Outcome outcome;
  for (const Value& x : generator.inputs()) {
    Tensor t = draw_values(random, x.shape());
    lazy.set_input(x, t);
    reference.set_input(x.ref(), t);
  }
  for (int i = 0; i < actions; ++i) {
    const Value& v = generator.pick(generator.all());
    double what = random.unit();
    if (what < 0.45 || i < 6) {
      generator.record_op();
    } else if (what < 0.85) {
      MemoryScope scope;
      std::int64_t held = lazy.stats().bytes;
      outcome.seen.push_back(bits(lazy.evaluate(v)));
      outcome.measured_peak = std::max(outcome.measured_peak, scope.use().peak_bytes);
      EXPECT_LE(scope.use().live_bytes, lazy.stats().bytes) << "held before: " << held;
      outcome.wanted.push_back(reference.evaluate(v.ref()));
    } else if (what < 0.93) {
      const Value& x = generator.pick(generator.inputs());
      Tensor t = draw_values(random, x.shape());
      lazy.set_input(x, t);
      reference.set_input(x.ref(), t);
    } else if (what < 0.96) {
      lazy.invalidate_node(v);
      reference.invalidate(v.ref());
    } else if (what < 0.98 && can_be_put(v)) {
      Tensor t = draw_values(random, v.shape());
      lazy.put_cached(v, t);
      reference.put(v.ref(), t);
    } else if (what > 0.99) {
      lazy.invalidate_cache();
      reference.invalidate_all();
    }
  }
  outcome.stats = lazy.stats();
  return outcome;
}

TEST(LazyRandom, NeverGivesAStaleValueNorExceedsTheLimit) {
  constexpr CachePolicy policies[] = {CachePolicy::cost_aware, CachePolicy::lru, CachePolicy::fifo, CachePolicy::lfu,
                                      CachePolicy::none};
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LazyOptions options{.policy = policies[seed % 5]};
    if (seed % 3 != 0) options.cache = 1024 + static_cast<std::int64_t>(seed % 7) * 512;
    if (seed % 4 == 1) options.entries = 6 + static_cast<std::int64_t>(seed % 5);
    Outcome outcome = run_random_program(seed, 4, options, 90);
    EXPECT_EQ(outcome.seen, outcome.wanted);
    EXPECT_LE(outcome.measured_peak, options.cache);
    EXPECT_LE(outcome.stats.peak_bytes, options.cache);
    EXPECT_LE(outcome.stats.entries, options.entries);
  }
}

// Matrices so large that levels of several products are worth more than one thread.
TEST(LazyRandom, SeveralThreadsGiveTheSameBits) {
  for (std::uint64_t seed = 1000; seed < 1012; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Outcome outcome = run_random_program(seed, 48, {.threads = 3}, 100);
    EXPECT_EQ(outcome.seen, outcome.wanted);
  }
}

}  // namespace
}  // namespace reprise
