// SPDX-License-Identifier: Apache-2.0
// Which layers of a chain to keep, and how many bytes that may take.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "reprise/export.h"

namespace reprise {

/// Counts bytes against a maximum.
class REPRISE_API CheckpointBudget {
 public:
  /// Without a maximum everything fits.
  CheckpointBudget() = default;
  explicit CheckpointBudget(std::int64_t max_bytes);

  std::int64_t max_bytes() const { return max_bytes_; }
  std::int64_t used_bytes() const { return used_bytes_; }
  std::int64_t remaining() const { return max_bytes_ - used_bytes_; }
  /// The used share of the maximum; 0 where the maximum is 0.
  double utilization() const;
  /// Whether allocate(bytes) would succeed; no negative size does.
  bool can_allocate(std::int64_t bytes) const { return bytes >= 0 && bytes <= remaining(); }
  /// Throws BudgetExceeded, and takes nothing, where `bytes` do not fit.
  void allocate(std::int64_t bytes);
  /// Gives bytes back; never to less than nothing used.
  void free(std::int64_t bytes);

 private:
  std::int64_t max_bytes_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t used_bytes_ = 0;
};

/// Which layers' inputs are kept. The input of the first layer is kept by every driver, whatever the strategy says.
class REPRISE_API CheckpointStrategy {
 public:
  static CheckpointStrategy every() { return {Kind::nth, 1}; }
  /// Layers 0, n, 2n, …; 0 means never.
  static CheckpointStrategy every_nth(std::int64_t n);
  /// About √total layers, evenly spread.
  static CheckpointStrategy sqrt() { return {Kind::sqrt, 0}; }
  static CheckpointStrategy none() { return {Kind::nth, 0}; }

  /// Sorted indices below `total`.
  std::vector<std::int64_t> select_layers(std::int64_t total) const;

  friend bool operator==(const CheckpointStrategy&, const CheckpointStrategy&) = default;

 private:
  enum class Kind { nth, sqrt };
  CheckpointStrategy(Kind kind, std::int64_t n) : kind_(kind), n_(n) {}
  Kind kind_;
  std::int64_t n_;
};

}  // namespace reprise
