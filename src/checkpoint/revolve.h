// SPDX-License-Identifier: Apache-2.0
// Revolve's choices, for the families that use them inside their own.
#pragma once

#include "checkpoint/binomial.h"
#include "checkpoint/walker.h"

namespace reprise::chain {

/// Revolve in what is free of `capacity` slots of store 0.
inline Move revolve_move(const View& view, std::int64_t capacity) {
  std::int64_t slots = capacity - view.filled(0) + (view.is_saved() ? 1 : 0);
  return {0, view.at + split(view.length(), slots)};
}

struct RevolvePolicy {
  static constexpr bool needs_data = false;
  std::int64_t slots;

  Move move(const View& view) const { return revolve_move(view, slots); }
  bool release(const View&) const { return false; }
};

}  // namespace reprise::chain
