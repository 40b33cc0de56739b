// SPDX-License-Identifier: Apache-2.0
// Walking arrays whose dimensions are stepped by strides (0 where a dimension is broadcast): the common ground of
// broadcasting, transposing, slicing and reducing.
#pragma once

#include "reprise/tensor.h"

namespace reprise::kernels {

/// Strides, in elements, with which an array of shape `from` is read when broadcast to `to`: 0 where it repeats.
inline Shape broadcast_strides(const Shape& from, const Shape& to) {
  Shape own = from.strides(), strides = to;
  int extra = to.rank() - from.rank();
  for (int axis = 0; axis < to.rank(); ++axis)
    strides[axis] = axis < extra || from[axis - extra] == 1 ? 0 : own[axis - extra];
  return strides;
}

/// The offset of row-major position `at` of `shape` in an array with these strides.
inline std::int64_t offset_of(std::int64_t at, const Shape& shape, const Shape& strides) {
  std::int64_t offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += at % shape[axis] * strides[axis];
    at /= shape[axis];
  }
  return offset;
}

}  // namespace reprise::kernels
