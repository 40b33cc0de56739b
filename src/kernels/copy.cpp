// SPDX-License-Identifier: Apache-2.0
// A copy is a nest of loops. Loops of one iteration are dropped, neighbours that walk both sides evenly are merged, and
// the rest is ordered so that the target is written forwards. The two innermost loops are a rectangle: rows that are
// contiguous, repeated or strided; or, where the two sides are contiguous along different loops, a transposition in
// tiles. Rectangles are cut into units of work that threads share.
#include "kernels/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/parallel.h"
#include "kernels/strided.h"

namespace reprise::kernels {
namespace {

using Loop = StridedCopy::Loop;

constexpr std::int64_t unit_bytes = 1 << 16;   // a rectangle is cut to about this size
constexpr std::int64_t grain_bytes = 1 << 17;  // work worth a thread of its own
constexpr std::int64_t tile = 32;              // elements; both sides of a tile stay in the first-level cache

template <class T>
void copy_row(Loop row, const T* from, T* to) {
  if (row.to != 1) {
    for (std::int64_t i = 0; i < row.count; ++i) to[i * row.to] = from[i * row.from];
  } else if (row.from == 0) {
    std::fill_n(to, row.count, *from);
  } else if (row.from != 1 || row.count < 16) {
    for (std::int64_t i = 0; i < row.count; ++i) to[i] = from[i * row.from];
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(row.count) * sizeof(T));
  }
}

template <class T>
void transpose_small(Loop across, Loop row, const T* from, T* to) {
  for (std::int64_t j = 0; j < across.count; ++j)
    for (std::int64_t i = 0; i < row.count; ++i) to[j * across.to + i] = from[j + i * row.from];
}

#ifdef __clang__
#define REPRISE_SHUFFLE(x, y, a, b, c, d) __builtin_shufflevector(x, y, a, b, c, d)
#else
#define REPRISE_SHUFFLE(x, y, a, b, c, d) __builtin_shuffle(x, y, Mask{a, b, c, d})
#endif

// A 4×4 block of 4-byte elements through vector registers: four loads, four stores.
void transpose4(std::int64_t from_stride, std::int64_t to_stride, const std::uint32_t* from, std::uint32_t* to) {
  typedef std::uint32_t Four __attribute__((vector_size(16), aligned(4), may_alias));
  [[maybe_unused]] typedef int Mask __attribute__((vector_size(16)));
  auto load = [&](int i) { return *reinterpret_cast<const Four*>(from + i * from_stride); };
  auto store = [&](int j, Four v) { *reinterpret_cast<Four*>(to + j * to_stride) = v; };
  Four a = load(0), b = load(1), c = load(2), d = load(3);
  Four ab = REPRISE_SHUFFLE(a, b, 0, 4, 1, 5), cd = REPRISE_SHUFFLE(c, d, 0, 4, 1, 5);
  store(0, REPRISE_SHUFFLE(ab, cd, 0, 1, 4, 5));
  store(1, REPRISE_SHUFFLE(ab, cd, 2, 3, 6, 7));
  ab = REPRISE_SHUFFLE(a, b, 2, 6, 3, 7), cd = REPRISE_SHUFFLE(c, d, 2, 6, 3, 7);
  store(2, REPRISE_SHUFFLE(ab, cd, 0, 1, 4, 5));
  store(3, REPRISE_SHUFFLE(ab, cd, 2, 3, 6, 7));
}

#undef REPRISE_SHUFFLE

template <class T>
void transpose_tile(Loop across, Loop row, const T* from, T* to) {
  std::int64_t columns = 0, rows = 0;
  if constexpr (sizeof(T) == 4) {
    columns = across.count / 4 * 4, rows = row.count / 4 * 4;
    for (std::int64_t j = 0; j < columns; j += 4)
      for (std::int64_t i = 0; i < rows; i += 4)
        transpose4(row.from, across.to, from + j + i * row.from, to + j * across.to + i);
    transpose_small({columns, 1, across.to}, {row.count - rows, row.from, 1}, from + rows * row.from, to + rows);
  }
  transpose_small({across.count - columns, 1, across.to}, row, from + columns, to + columns * across.to);
}

template <class T>
void transpose_rectangle(Loop across, Loop row, const T* from, T* to) {
  for (std::int64_t j = 0; j < across.count; j += tile)
    for (std::int64_t i = 0; i < row.count; i += tile)
      transpose_tile<T>({std::min(tile, across.count - j), 1, across.to}, {std::min(tile, row.count - i), row.from, 1},
                        from + j + i * row.from, to + j * across.to + i);
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

StridedCopy::StridedCopy(std::int64_t element_bytes, const Shape& shape, const Shape& from, const Shape& to)
    : element_bytes_(element_bytes) {
  if (shape.elements() == 0) return;
  std::array<Loop, Shape::max_rank> loops;
  auto end = loops.begin();
  for (int axis = 0; axis < shape.rank(); ++axis) *end++ = {shape[axis], from[axis], to[axis]};
  std::stable_sort(loops.begin(), end, [](Loop a, Loop b) { return std::abs(a.to) > std::abs(b.to); });
  for (auto loop = loops.begin(); loop != end; ++loop) add_loop(*loop);
  choose_inner();
}

void StridedCopy::add_loop(Loop loop) {
  if (loop.count == 1) return;
  Loop& last = outer_[static_cast<std::size_t>(std::max(0, outer_count_ - 1))];
  if (outer_count_ > 0 && last.from == loop.from * loop.count && last.to == loop.to * loop.count)
    last = {last.count * loop.count, loop.from, loop.to};
  else
    outer_[static_cast<std::size_t>(outer_count_++)] = loop;
}

void StridedCopy::choose_inner() {
  row_ = outer_count_ > 0 ? outer_[static_cast<std::size_t>(--outer_count_)] : Loop{1, 1, 1};
  auto begin = outer_.begin(), end = begin + outer_count_;
  auto across = std::find_if(begin, end, [](Loop l) { return l.from == 1; });
  transposes_ = row_.to == 1 && row_.from != 1 && row_.from != 0 && across != end;
  if (transposes_) std::rotate(across, across + 1, end);
  if (outer_count_ > 0) across_ = outer_[static_cast<std::size_t>(--outer_count_)];

  std::int64_t most = std::max(tile * tile, unit_bytes / element_bytes_);
  piece_ = std::min(row_.count, transposes_ ? 8 * tile : most);
  strip_ = std::min(across_.count, std::max<std::int64_t>(1, most / piece_));
  if (transposes_) strip_ = std::min(across_.count, divide_up(strip_, tile) * tile);
  pieces_ = divide_up(row_.count, piece_);
  strips_ = divide_up(across_.count, strip_);
  units_ = pieces_ * strips_;
  for (int i = 0; i < outer_count_; ++i) units_ *= outer_[static_cast<std::size_t>(i)].count;
}

template <class T>
void StridedCopy::run_unit(std::int64_t unit, const T* from, T* to) const {
  Loop row = row_, across = across_;
  std::int64_t i = unit % pieces_ * piece_, j = unit / pieces_ % strips_ * strip_;
  row.count = std::min(piece_, row_.count - i);
  across.count = std::min(strip_, across_.count - j);
  from += i * row.from + j * across.from;
  to += i * row.to + j * across.to;
  std::int64_t rest = unit / (pieces_ * strips_);
  for (int k = outer_count_ - 1; k >= 0; --k) {
    const Loop& loop = outer_[static_cast<std::size_t>(k)];
    from += rest % loop.count * loop.from;
    to += rest % loop.count * loop.to;
    rest /= loop.count;
  }
  if (transposes_) return transpose_rectangle(across, row, from, to);
  for (std::int64_t k = 0; k < across.count; ++k) copy_row(row, from + k * across.from, to + k * across.to);
}

template <class T>
void StridedCopy::run_as(const T* from, T* to) const {
  std::int64_t bytes = strip_ * piece_ * element_bytes_;
  parallel_ranges(units_, divide_up(grain_bytes, std::max<std::int64_t>(1, bytes)),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t unit = begin; unit < end; ++unit) run_unit(unit, from, to);
                  });
}

void StridedCopy::run(const void* from, void* to) const {
  auto as = [&]<class T>(T) { run_as(static_cast<const T*>(from), static_cast<T*>(to)); };
  switch (element_bytes_) {
    case 1: return as(std::uint8_t{});
    case 2: return as(std::uint16_t{});
    case 4: return as(std::uint32_t{});
    default: return as(std::uint64_t{});
  }
}

void strided_copy_naive(std::int64_t element_bytes, const Shape& shape, const Shape& from_strides,
                        const Shape& to_strides, const void* from, void* to) {
  for (std::int64_t i = 0; i < shape.elements(); ++i)
    std::memcpy(static_cast<std::byte*>(to) + offset_of(i, shape, to_strides) * element_bytes,
                static_cast<const std::byte*>(from) + offset_of(i, shape, from_strides) * element_bytes,
                static_cast<std::size_t>(element_bytes));
}

void fill_zero(void* data, std::int64_t bytes) {
  parallel_ranges(bytes, grain_bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memset(static_cast<std::byte*>(data) + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace reprise::kernels
