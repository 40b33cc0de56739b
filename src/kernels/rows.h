// SPDX-License-Identifier: Apache-2.0
// Rows named by indices: taking them, adding to them, setting them. The array is `groups` independent blocks of `rows`
// rows of `length` elements; each block has `positions` indices. Where several positions name one row, they are treated
// in ascending order whatever the number of threads, since each thread owns a range of rows.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/parallel.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

/// Indices below `size`, as i32 or i64; negative ones count from the back.
struct Indices {
  const void* data = nullptr;
  bool wide = true;
  std::int64_t size = 0;

  std::int64_t raw(std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
  std::int64_t operator[](std::int64_t i) const {
    std::int64_t k = raw(i);
    return k < 0 ? k + size : k;
  }
};

/// The position of the first index that names nothing, or -1.
inline std::int64_t find_outside(const Indices& indices, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if (std::int64_t k = indices.raw(i); k < -indices.size || k >= indices.size) return i;
  return -1;
}

struct Rows {
  std::int64_t groups = 1, positions = 0, rows = 0, length = 1;
  // 0: position q of every group names row indices[q]. Otherwise each group has its own indices, and its rows come in
  // runs of `inner`, within which a position keeps its place.
  std::int64_t inner = 0;
  Indices indices;

  std::int64_t row(std::int64_t group, std::int64_t q) const {
    return inner == 0 ? indices[q] : indices[group * positions + q] * inner + q % inner;
  }
  std::int64_t grain() const { return std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, length)); }
};

template <class T>
void copy_elements(std::int64_t length, const T* from, T* to) {
  if (length == 1)
    *to = *from;
  else
    std::memcpy(to, from, static_cast<std::size_t>(length) * sizeof(T));
}

/// y[p] = x[row named by p]
template <class T>
void take_rows(const Rows& r, const T* x, T* y) {
  parallel_ranges(r.groups * r.positions, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t group = begin / r.positions, q = begin % r.positions;
    for (std::int64_t p = begin; p < end; ++p) {
      copy_elements(r.length, x + (group * r.rows + r.row(group, q)) * r.length, y + p * r.length);
      if (++q == r.positions) q = 0, ++group;
    }
  });
}

/// Calls f(position, row), numbered across groups, for every position; threads own ranges of rows. Ascending within a
/// row, or descending.
template <bool ascending, class F>
void for_each_owned(const Rows& r, const F& f) {
  parallel_ranges(r.groups * r.rows, r.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin / r.rows; group * r.rows < end; ++group) {
      std::int64_t low = std::max<std::int64_t>(0, begin - group * r.rows), high = end - group * r.rows;
      for (std::int64_t i = 0; i < r.positions; ++i) {
        std::int64_t q = ascending ? i : r.positions - 1 - i, row = r.row(group, q);
        if (row >= low && row < high) f(group * r.positions + q, group * r.rows + row);
      }
    }
  });
}

/// y[row named by p] += u[p]
template <class T>
void add_rows(const Rows& r, const T* u, T* y) {
  for_each_owned<true>(r, [&](std::int64_t p, std::int64_t row) {
    const T* from = u + p * r.length;
    T* to = y + row * r.length;
    for (std::int64_t i = 0; i < r.length; ++i) to[i] += from[i];
  });
}

/// y[row named by p] = u[p]; the last position wins.
template <class T>
void set_rows(const Rows& r, const T* u, T* y) {
  for_each_owned<true>(
      r, [&](std::int64_t p, std::int64_t row) { copy_elements(r.length, u + p * r.length, y + row * r.length); });
}

/// The adjoint of set_rows: u[p] = dy[row named by p] where p won, zero elsewhere. `taken` has a byte a row.
template <class T>
void take_winners(const Rows& r, const T* dy, T* u, std::uint8_t* taken) {
  std::memset(taken, 0, static_cast<std::size_t>(r.groups * r.rows));
  for_each_owned<false>(r, [&](std::int64_t p, std::int64_t row) {
    if (taken[row])
      std::fill_n(u + p * r.length, r.length, T{});
    else
      copy_elements(r.length, dy + row * r.length, u + p * r.length);
    taken[row] = 1;
  });
}

}  // namespace reprise::kernels
