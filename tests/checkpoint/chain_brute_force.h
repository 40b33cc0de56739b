// SPDX-License-Identifier: Apache-2.0
// The least cost of reversing a small chain, by Dijkstra's algorithm over everything that can be in hand and in the
// stores. Written from the rules alone: it knows no schedule and saves, drops and copies as freely as the rules allow.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <unordered_map>
#include <vector>

#include "reprise/chain.h"

namespace reprise::chain {

class BruteForce {
 public:
  /// `is_persistent`: a saved state stays until its step is reversed.
  explicit BruteForce(Chain chain, bool is_persistent = false) : chain_(std::move(chain)), persistent_(is_persistent) {}

  double least_cost() {
    relax(Node{.end = static_cast<int>(chain_.steps), .at = 0}, 0);
    while (!queue_.empty()) {
      auto [negative, key] = queue_.top();
      queue_.pop();
      double cost = -negative;
      if (cost > best_[key]) continue;
      Node node = unpack(key);
      if (node.end == 0) return cost;
      expand(node, cost);
    }
    return std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr int nothing = 15;
  struct Node {
    int end, at = nothing, data = nothing;  // steps left, state in hand, data in hand
    std::uint64_t held = 0;                 // bit (kind * 8 + step), kind 0..stores-1 a state in that store, last: data
  };

  int data_kind() const { return static_cast<int>(chain_.stores.size()); }
  static std::uint64_t bit(int kind, int step) { return std::uint64_t{1} << (kind * 8 + step); }
  static std::uint64_t pack(const Node& n) {
    return n.held | static_cast<std::uint64_t>(n.end) << 48 | static_cast<std::uint64_t>(n.at) << 52 |
           static_cast<std::uint64_t>(n.data) << 56;
  }
  static Node unpack(std::uint64_t key) {
    auto digit = [key](int shift) { return static_cast<int>(key >> shift & 15); };
    return {digit(48), digit(52), digit(56), key & ((std::uint64_t{1} << 48) - 1)};
  }

  void relax(const Node& node, double cost) {
    std::uint64_t key = pack(node);
    auto [place, is_new] = best_.try_emplace(key, cost);
    if (!is_new && place->second <= cost) return;
    place->second = cost;
    queue_.push({-cost, key});
  }

  double step_cost(int i) const {
    return chain_.step_costs.empty() ? 1 : chain_.step_costs[static_cast<std::size_t>(i)];
  }
  std::int64_t state_size(int i) const {
    return chain_.sizes.empty() ? chain_.state_size : chain_.sizes[static_cast<std::size_t>(i)];
  }
  std::int64_t filled(const Node& n, int store) const {
    std::int64_t sum = 0;
    for (int i = 0; i < 8; ++i) {
      if (n.held & bit(store, i)) sum += state_size(i);
      if (store == 0 && n.held & bit(data_kind(), i)) sum += chain_.data_size;  // data go to store 0
    }
    return sum;
  }

  void expand(const Node& n, double cost) {
    run(n, cost);
    for (int k = 0; k < data_kind(); ++k) exchange(n, cost, k);
    if (chain_.needs_data) exchange_data(n, cost);
    if ((chain_.needs_data ? n.data : n.at) == n.end - 1)
      relax(without_reversed({n.end - 1, nothing, nothing, n.held}), cost);
  }
  Node without_reversed(Node n) const {
    for (int kind = 0; kind <= data_kind(); ++kind) n.held &= ~bit(kind, n.end);
    return n;
  }
  void run(const Node& n, double cost) {
    if (n.at >= n.end) return;
    relax({n.end, n.at + 1, nothing, n.held}, cost + step_cost(n.at));
    if (chain_.needs_data) relax({n.end, n.at + 1, n.at, n.held}, cost + step_cost(n.at));
  }
  void exchange(const Node& n, double cost, int k) {
    const Store& store = chain_.stores[static_cast<std::size_t>(k)];
    if (n.at < n.end && !(n.held & bit(k, n.at)) && filled(n, k) + state_size(n.at) <= store.capacity)
      relax({n.end, n.at, n.data, n.held | bit(k, n.at)}, cost + store.write_cost);
    for (int i = 0; i < n.end; ++i) {
      if (!(n.held & bit(k, i))) continue;
      relax({n.end, i, nothing, n.held}, cost + store.read_cost);
      if (!persistent_) relax({n.end, n.at, n.data, n.held & ~bit(k, i)}, cost);
    }
  }
  void exchange_data(const Node& n, double cost) {
    int k = data_kind();
    if (n.data < n.end && !(n.held & bit(k, n.data)) && filled(n, 0) + chain_.data_size <= chain_.stores[0].capacity)
      relax({n.end, n.at, n.data, n.held | bit(k, n.data)}, cost);
    for (int i = 0; i < n.end; ++i) {
      if (!(n.held & bit(k, i))) continue;
      relax({n.end, nothing, i, n.held}, cost);
      relax({n.end, n.at, n.data, n.held & ~bit(k, i)}, cost);
    }
  }

  Chain chain_;
  bool persistent_;
  std::unordered_map<std::uint64_t, double> best_;
  std::priority_queue<std::pair<double, std::uint64_t>> queue_;
};

}  // namespace reprise::chain
