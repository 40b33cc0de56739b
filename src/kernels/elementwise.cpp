// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <algorithm>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/strided.h"

namespace reprise::kernels {
namespace {

using Strides = std::array<std::int64_t, most_arrays>;

struct Dim {
  std::int64_t size;
  Strides strides;  // 0 where an array repeats
};

// The dimension continues the inner one in every array.
bool continues(const Dim& inner, const Strides& strides, int arrays) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(arrays); ++k)
    if (strides[k] != inner.strides[k] * inner.size) return false;
  return true;
}

// Innermost first; sizes 1 dropped, dimensions that continue each other merged.
std::vector<Dim> merged_dims(std::initializer_list<Shape> inputs, const Shape& out) {
  std::vector<Shape> strides;
  for (const Shape& shape : inputs) strides.push_back(broadcast_strides(shape, out));
  std::vector<Dim> dims;
  for (int axis = out.rank() - 1; axis >= 0; --axis) {
    if (out[axis] == 1) continue;
    Strides own{};
    for (std::size_t k = 0; k < strides.size(); ++k) own[k] = strides[k][axis];
    if (!dims.empty() && continues(dims.back(), own, static_cast<int>(strides.size())))
      dims.back().size *= out[axis];
    else
      dims.push_back({out[axis], own});
  }
  return dims;
}

// Long enough to hide what it costs to begin one, short enough for an element that stays to be repeated in the cache.
constexpr std::int64_t piece_of_row = 1 << 14, fixed_elements = 256;

template <class T>
void repeat(const void* element, void* to, std::int64_t count) {
  std::fill_n(static_cast<T*>(to), count, *static_cast<const T*>(element));
}

void repeat(int bytes, const void* element, void* to, std::int64_t count) {
  switch (bytes) {
    case 1: return repeat<std::uint8_t>(element, to, count);
    case 2: return repeat<std::uint16_t>(element, to, count);
    case 4: return repeat<std::uint32_t>(element, to, count);
    default: return repeat<std::uint64_t>(element, to, count);
  }
}

// One piece of a row. An array that stays is read from memory that repeats its element, so that one loop serves every
// kind of broadcasting.
void run_piece(const Broadcast& plan, const ElementLoop& loop, std::array<const void*, most_arrays> in, char* out,
               std::int64_t count) {
  alignas(64) std::byte fixed[most_arrays][fixed_elements * 8];
  bool all_move = true;
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.arrays); ++k) {
    if (plan.moves[k]) continue;
    all_move = false;
    repeat(loop.in_bytes[k], in[k], fixed[k], std::min(count, fixed_elements));
    in[k] = fixed[k];
  }
  std::int64_t step = all_move ? count : fixed_elements;
  for (std::int64_t from = 0; from < count; from += step) {
    loop(in.data(), out + from * loop.out_bytes, std::min(step, count - from));
    for (std::size_t k = 0; k < static_cast<std::size_t>(plan.arrays); ++k)
      if (plan.moves[k]) in[k] = static_cast<const char*>(in[k]) + step * loop.in_bytes[k];
  }
}

}  // namespace

Broadcast plan_broadcast(std::initializer_list<Shape> inputs, const Shape& out) {
  std::vector<Dim> dims = merged_dims(inputs, out);
  Broadcast plan{.elements = out.elements(), .arrays = static_cast<int>(inputs.size())};
  if (dims.empty()) return plan;
  auto arrays = inputs.size();
  plan.length = dims[0].size;
  for (std::size_t k = 0; k < arrays; ++k) plan.moves[k] = dims[0].strides[k] != 0;
  for (std::size_t d = dims.size() - 1; d > 0; --d) {
    plan.rows *= dims[d].size;
    plan.outer.push_back(dims[d].size);
    for (std::size_t k = 0; k < arrays; ++k) plan.outer_strides[k].push_back(dims[d].strides[k]);
  }
  return plan;
}

void run_elements(const Broadcast& plan, const ElementLoop& loop, std::span<const void* const> in, void* out) {
  if (plan.elements == 0) return;
  std::int64_t pieces = (plan.length + piece_of_row - 1) / piece_of_row, most = std::min(plan.length, piece_of_row);
  auto tasks = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t row = task / pieces, from = task % pieces * piece_of_row;
      std::array<const void*, most_arrays> first{};
      for (std::size_t k = 0; k < in.size(); ++k) {
        std::int64_t at = offset_of(row, plan.outer, plan.outer_strides[k]) + (plan.moves[k] ? from : 0);
        first[k] = static_cast<const char*>(in[k]) + at * loop.in_bytes[k];
      }
      run_piece(plan, loop, first, static_cast<char*>(out) + (row * plan.length + from) * loop.out_bytes,
                std::min(piece_of_row, plan.length - from));
    }
  };
  parallel_ranges(plan.rows * pieces, std::max<std::int64_t>(1, elementwise_grain / most), tasks);
}

void run_elements(std::int64_t count, const ElementLoop& loop, const void* in, void* out) {
  run_elements({.elements = count, .length = count, .arrays = 1, .moves = {true}}, loop, std::span(&in, 1), out);
}

}  // namespace reprise::kernels
