// SPDX-License-Identifier: Apache-2.0
// Random buffers for tests and benchmarks: arbitrary ones, and the lifetimes of training steps.
#pragma once

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "reprise/memory.h"

namespace reprise::memory {

inline std::vector<Buffer> random_buffers(Random& random, int count, std::int64_t moments, std::int64_t largest) {
  std::vector<Buffer> buffers;
  for (int i = 0; i < count; ++i) {
    std::int64_t a = random.below(moments), b = random.below(moments);
    buffers.push_back({"b" + std::to_string(i), std::min(a, b), std::max(a, b) + 1, random.between(1, largest)});
  }
  return buffers;
}

/// Short lives added as long as no moment holds more than `height` bytes: nearly full everywhere, so that the least
/// height is often above the largest live sum.
inline std::vector<Buffer> dense_buffers(Random& random, std::int64_t moments, std::int64_t height) {
  std::vector<Buffer> buffers;
  for (int attempts = 0; attempts < 100; ++attempts) {
    std::int64_t lower = random.below(moments), upper = std::min(moments, lower + random.between(1, 5));
    buffers.push_back({"b" + std::to_string(buffers.size()), lower, upper, random.between(1, 1 + height / 3)});
    if (largest_live_sum(buffers) > height) buffers.pop_back();
  }
  std::ranges::sort(buffers, {}, &Buffer::lower);
  return buffers;
}

struct TrainingShape {
  int layers = 100;
  double skip_chance = 0.2;  // that a layer also reads an earlier one
  double budget = 1;         // share of what keeping everything would need; values are dropped and made again to fit
  int distinct_sizes = 8;    // layers repeat a few sizes, as real nets do; 0: every size is its own
};

/// One training step, simulated run by run: a random forward graph, then its mirror image. When memory is full an
/// activation whose use is far off is dropped, and made again with its inputs when it is needed. A value lives from the
/// run that makes it to its last use before it is made again.
class TrainingStep {
 public:
  TrainingStep(Random& random, const TrainingShape& shape) : random_(random), shape_(shape) {
    std::vector<std::int64_t> sizes;
    for (int k = 0; k < shape.distinct_sizes; ++k) sizes.push_back(random_size());
    for (int i = 0; i < shape.layers; ++i) {
      Node node{{},
                sizes.empty() ? random_size() : sizes[static_cast<std::size_t>(random.below(shape.distinct_sizes))]};
      if (i > 0) node.inputs.push_back(i - 1);
      if (i > 1 && random.chance(shape.skip_chance))
        node.inputs.push_back(i - 2 - static_cast<int>(random.below(std::min(i - 1, 6))));
      limit_ += static_cast<double>(node.bytes) * shape.budget;
      nodes_.push_back(node);
    }
  }

  std::vector<Buffer> run() {
    for (int i = 0; i < shape_.layers; ++i) forward(i);
    nodes_.back().gradient = make(nodes_.back().bytes);
    for (int i = shape_.layers - 1; i >= 0; --i) backward(i);
    return buffers_;
  }

 private:
  struct Node {
    std::vector<int> inputs;
    std::int64_t bytes;
    int value = -1, gradient = -1;  // buffers that hold them now
    int locks = 0;
  };
  Node& node(int i) { return nodes_[static_cast<std::size_t>(i)]; }
  std::int64_t random_size() { return 4 * random_.between(1, std::int64_t{1} << random_.between(4, 20)); }

  int make(std::int64_t bytes) {
    buffers_.push_back({"v" + std::to_string(buffers_.size()), now_, now_ + 1, bytes});
    return static_cast<int>(buffers_.size()) - 1;
  }
  void use(int buffer) { buffers_[static_cast<std::size_t>(buffer)].upper = now_ + 1; }

  /// Makes value i from its inputs, which are made first where they were dropped.
  void forward(int i) {
    for (int p : node(i).inputs) need(p);
    drop_for(node(i).bytes);
    for (int p : node(i).inputs) use(node(p).value), --node(p).locks;
    node(i).value = make(node(i).bytes);
    live_ += static_cast<double>(node(i).bytes);
    if (i % 8 != 0) held_.push_back(i);  // every eighth stays, so that recomputing ends soon
    ++now_;
  }
  void need(int i) {
    ++node(i).locks;
    if (node(i).value < 0) forward(i);
  }
  void drop_for(std::int64_t bytes) {
    for (int attempts = 0; attempts < 100 && live_ + static_cast<double>(bytes) > limit_ && !held_.empty();
         ++attempts) {
      std::size_t chosen = 0;
      for (int k = 0; k < 6; ++k) {
        auto other = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(held_.size())));
        if (k == 0 || held_[other] < held_[chosen]) chosen = other;  // used late in the backward pass
      }
      if (node(held_[chosen]).locks == 0) drop(chosen);
    }
  }
  void drop(std::size_t at) {
    live_ -= static_cast<double>(node(held_[at]).bytes);
    node(held_[at]).value = -1;
    held_[at] = held_.back();
    held_.pop_back();
  }
  void backward(int i) {
    need(i);
    for (int p : node(i).inputs) need(p);
    use(node(i).value), use(node(i).gradient);
    for (int p : node(i).inputs) {
      use(node(p).value);
      if (node(p).gradient < 0) node(p).gradient = make(node(p).bytes);  // lives until its own node's turn
      use(node(p).gradient);
      --node(p).locks;
    }
    if (random_.chance(0.3)) make(std::max<std::int64_t>(4, node(i).bytes / random_.between(1, 64)));  // scratch
    --node(i).locks;
    auto held = std::ranges::find(held_.rbegin(), held_.rend(), i);
    if (held != held_.rend()) drop(static_cast<std::size_t>(held_.rend() - held) - 1);
    ++now_;
  }

  Random& random_;
  TrainingShape shape_;
  std::vector<Node> nodes_;
  std::vector<Buffer> buffers_;
  std::vector<int> held_;  // activations that may be dropped
  double limit_ = 0, live_ = 0;
  std::int64_t now_ = 0;
};

inline std::vector<Buffer> training_lifetimes(Random& random, const TrainingShape& shape) {
  return TrainingStep(random, shape).run();
}

}  // namespace reprise::memory
