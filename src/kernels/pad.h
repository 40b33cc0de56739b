// SPDX-License-Identifier: Apache-2.0
// Padding that repeats what is there: mirrored, or the border. Each axis has a table that says which source index a
// target index shows.
#pragma once

#include <vector>

#include "kernels/parallel.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

struct MirrorPad {
  Shape small, large;                             // without and with padding, of the same rank
  std::vector<std::vector<std::int64_t>> source;  // per axis: large index -> small index
  int batch_axes = 0;                             // leading axes without padding: independent of each other

  std::int64_t batches() const { return product(large, 0, batch_axes); }
  std::int64_t large_block() const { return product(large, batch_axes, large.rank()); }
  std::int64_t small_block() const { return product(small, batch_axes, small.rank()); }

  /// Calls f(large offset, small offset) for every element of one batch, in order.
  template <class F>
  void each(const F& f) const {
    walk(batch_axes, 0, 0, f);
  }

 private:
  static std::int64_t product(const Shape& shape, int from, int to) {
    std::int64_t n = 1;
    for (int axis = from; axis < to; ++axis) n *= shape[axis];
    return n;
  }
  // As deep as there are axes.
  template <class F>
  void walk(int axis, std::int64_t large_at, std::int64_t small_at, const F& f) const {
    if (axis == large.rank()) return f(large_at, small_at);
    const auto& from = source[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < large[axis]; ++i)
      walk(axis + 1, large_at * large[axis] + i, small_at * small[axis] + from[static_cast<std::size_t>(i)], f);
  }
};

/// y = x with its borders.
template <class T>
void mirror_pad(const MirrorPad& p, const T* x, T* y) {
  std::int64_t ny = p.large_block(), nx = p.small_block();
  parallel_ranges(p.batches(), std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, ny)),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t b = begin; b < end; ++b)
                      p.each([&](std::int64_t to, std::int64_t from) { y[b * ny + to] = x[b * nx + from]; });
                  });
}

/// The adjoint: dx sums what its element was shown as.
template <class T>
void mirror_pad_adjoint(const MirrorPad& p, const T* dy, T* dx) {
  std::int64_t ny = p.large_block(), nx = p.small_block();
  parallel_ranges(p.batches(), std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(1, ny)),
                  [&](std::int64_t begin, std::int64_t end) {
                    std::fill(dx + begin * nx, dx + end * nx, T(0));
                    for (std::int64_t b = begin; b < end; ++b)
                      p.each([&](std::int64_t from, std::int64_t to) { dx[b * nx + to] += dy[b * ny + from]; });
                  });
}

}  // namespace reprise::kernels
