// SPDX-License-Identifier: Apache-2.0
// Shapes: views, and ops that move elements around.
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// The same elements under another shape; costs nothing. One size may be -1: it follows from the others.
REPRISE_API Value reshape(const Value& x, std::span<const std::int64_t> shape);
REPRISE_API Value reshape(const Value& x, const Shape& shape);
inline Value reshape(const Value& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, std::span(shape.begin(), shape.size()));
}
/// x broadcast to `shape`.
REPRISE_API Value expand(const Value& x, const Shape& shape);
/// The same value; no gradient flows back through it.
REPRISE_API Value stop_gradient(const Value& x);

}  // namespace reprise
