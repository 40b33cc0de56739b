// SPDX-License-Identifier: Apache-2.0
// The bytes that an executor holds. Tensors that share memory count once, as they do in the allocator's meter.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "reprise/tensor.h"

namespace reprise {

class Ledger {
 public:
  void hold(const Tensor& t) { hold(t.data(), t.bytes()); }
  void release(const Tensor& t) { release(t.data()); }

  void hold(const void* data, std::int64_t bytes) {
    if (!data) return;
    auto [at, is_new] = blocks_.try_emplace(data, Block{bytes, 0});
    ++at->second.count;
    if (is_new) add(bytes);
  }
  void release(const void* data) {
    auto at = blocks_.find(data);
    if (at == blocks_.end() || --at->second.count > 0) return;
    held_ -= at->second.bytes;
    blocks_.erase(at);
  }
  /// Memory for the length of one run.
  void add(std::int64_t bytes) { peak_ = std::max(peak_, held_ += bytes); }
  void subtract(std::int64_t bytes) { held_ -= bytes; }
  bool is_held(const Tensor& t) const { return blocks_.contains(t.data()); }
  /// Releasing it would free it.
  bool is_held_once(const Tensor& t) const {
    auto at = blocks_.find(t.data());
    return at != blocks_.end() && at->second.count == 1;
  }

  std::int64_t held() const { return held_; }
  std::int64_t peak() const { return peak_; }
  void forget_peak() { peak_ = held_; }

 private:
  struct Block {
    std::int64_t bytes;
    std::int64_t count;
  };
  std::unordered_map<const void*, Block> blocks_;
  std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace reprise
