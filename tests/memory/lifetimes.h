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
  int layers = 100;          // forward nodes
  double skip_chance = 0.2;  // that a layer also reads an earlier one
  double recompute = 0.3;    // share of activations that are dropped and made again in the backward pass
  int distinct_sizes = 8;    // layers repeat a few sizes, as real nets do; 0: every size is its own
};

/// One training step: a random forward graph, its mirror image, and activations recomputed shortly before their use.
/// The schedule is simulated run by run; a value lives from the run that makes it to its last use before it is made
/// again.
inline std::vector<Buffer> training_lifetimes(Random& random, const TrainingShape& shape) {
  struct Node {
    std::vector<int> inputs;  // forward nodes
    std::int64_t bytes;
    bool recomputed;
  };
  std::vector<std::int64_t> sizes;
  for (int k = 0; k < shape.distinct_sizes; ++k) sizes.push_back(4 * random.between(1, 1 << random.between(4, 20)));
  std::vector<Node> nodes;
  for (int i = 0; i < shape.layers; ++i) {
    Node node{{}, 4 * random.between(1, 1 << random.between(4, 20)), random.chance(shape.recompute)};
    if (!sizes.empty()) node.bytes = sizes[static_cast<std::size_t>(random.below(shape.distinct_sizes))];
    if (i > 0) node.inputs.push_back(i - 1);
    if (i > 1 && random.chance(shape.skip_chance))
      node.inputs.push_back(static_cast<int>(i - 2 - random.below(std::min(i - 1, 12))));
    nodes.push_back(node);
  }

  std::vector<Buffer> buffers;
  std::vector<int> value(nodes.size(), -1), gradient(nodes.size(), -1);  // buffers that hold them now
  std::int64_t now = 0;
  auto make = [&](std::int64_t bytes) {
    buffers.push_back({"v" + std::to_string(buffers.size()), now, now + 1, bytes});
    return static_cast<int>(buffers.size()) - 1;
  };
  auto use = [&](int buffer) { buffers[static_cast<std::size_t>(buffer)].upper = now + 1; };
  auto forward = [&](auto& self, int i) -> void {  // makes value i from its inputs, which are made first where dropped
    const Node& node = nodes[static_cast<std::size_t>(i)];
    for (int p : node.inputs)
      if (value[static_cast<std::size_t>(p)] < 0) self(self, p);
    for (int p : node.inputs) use(value[static_cast<std::size_t>(p)]);
    value[static_cast<std::size_t>(i)] = make(node.bytes);
    ++now;
  };
  for (int i = 0; i < shape.layers; ++i) forward(forward, i);
  for (int i = 0; i < shape.layers; ++i)  // dropped: the next use makes them again
    if (nodes[static_cast<std::size_t>(i)].recomputed && i + 1 < shape.layers) value[static_cast<std::size_t>(i)] = -1;
  gradient.back() = make(nodes.back().bytes);
  ++now;
  for (int i = shape.layers - 1; i >= 0; --i) {
    const Node& node = nodes[static_cast<std::size_t>(i)];
    if (value[static_cast<std::size_t>(i)] < 0) forward(forward, i);
    for (int p : node.inputs)
      if (value[static_cast<std::size_t>(p)] < 0) forward(forward, p);
    for (int p : node.inputs) use(value[static_cast<std::size_t>(p)]);
    use(value[static_cast<std::size_t>(i)]);
    use(gradient[static_cast<std::size_t>(i)]);
    for (int p : node.inputs) {  // a gradient lives from its first contribution to the run of its own node
      int& g = gradient[static_cast<std::size_t>(p)];
      if (g < 0) g = make(nodes[static_cast<std::size_t>(p)].bytes);
      use(g);
    }
    if (random.chance(0.3)) make(std::max<std::int64_t>(4, node.bytes / random.between(1, 64)));  // scratch
    ++now;
  }
  return buffers;
}

}  // namespace reprise::memory
