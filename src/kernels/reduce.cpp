// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce.h"

#include <vector>

#include "kernels/elementwise.h"
#include "kernels/parallel.h"
#include "kernels/strided.h"

namespace reprise::kernels {
namespace {

struct ReducedDim {
  std::int64_t size, stride;
  bool reduced;
};

// Outermost first; sizes 1 dropped, neighbours of one kind merged.
std::vector<ReducedDim> merged_dims_of(const Shape& shape, std::span<const int> axes) {
  std::vector<ReducedDim> dims;
  Shape strides = shape.strides();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    bool reduced = std::ranges::binary_search(axes, axis);
    if (shape[axis] == 1) continue;
    if (!dims.empty() && dims.back().reduced == reduced)
      dims.back() = {dims.back().size * shape[axis], strides[axis], reduced};
    else
      dims.push_back({shape[axis], strides[axis], reduced});
  }
  return dims;
}

// Few tasks are cut into tiles, so that several threads have something to do. Rows that lie far apart are cut into
// tiles of a few rows each: the tasks of one tile, taken in turn, read memory in order.
void cut_into_tiles(Reduction& r, std::int64_t unit_elements) {
  constexpr std::int64_t enough_tasks = 64, tile_elements = 1 << 16;
  bool scattered = r.along_rows && r.reduced.rank() > 0;
  r.units_per_tile = std::max<std::int64_t>(1, r.units);
  if (r.tasks >= enough_tasks && !scattered) return;
  if (scattered && r.tasks > 1)
    r.units_per_tile =
        std::max<std::int64_t>(1, r.pieces()) * (1 + Reduction::piece / std::max<std::int64_t>(1, r.inner));
  else
    r.units_per_tile = std::max<std::int64_t>(1, tile_elements / std::max<std::int64_t>(1, unit_elements));
  r.tiles = std::max<std::int64_t>(1, (r.units + r.units_per_tile - 1) / r.units_per_tile);
}

constexpr std::int64_t page = 4096;  // at whose end the CPU stops to look ahead by itself

// Units begin..end of one output, whose first element is x.
template <class Acc>
Acc row_tile(const Reduction& r, const Reducer<Acc>& by, const char* x, std::int64_t begin, std::int64_t end) {
  Acc acc = by.identity;
  std::int64_t pieces = r.pieces();
  for (std::int64_t unit = begin; unit < end; ++unit) {
    std::int64_t from = unit % pieces * Reduction::piece;
    const char* row = x + (offset_of(unit / pieces, r.reduced, r.reduced_strides) + from) * by.bytes;
    std::int64_t count = std::min(Reduction::piece, r.inner - from);
    fetch_ahead(row + page, count * by.bytes);  // what follows is mostly what is read next
    Acc next = by.along(row, count);
    by.merge(&next, 1, &acc);
  }
  return acc;
}

// Rows begin..end of `width` columns, the first of which begins at x, into acc.
template <class Acc>
void column_tile(const Reduction& r, const Reducer<Acc>& by, const char* x, std::int64_t width, std::int64_t begin,
                 std::int64_t end, Acc* acc) {
  std::fill_n(acc, width, by.identity);
  std::int64_t joined = r.inner <= 32 ? 64 / r.inner : 1;
  for (std::int64_t row = begin; row < end;) {
    std::int64_t at = row % r.rows, take = std::min({end - row, r.rows - at, 32 * joined});
    std::int64_t first = offset_of(row / r.rows, r.reduced, r.reduced_strides) + at * r.inner;
    by.across(x + first * by.bytes, take, r.inner, width, joined, acc);
    row += take;
  }
}

// One tile of one task: calls emit(values, count, first output).
template <class Acc, class Emit>
void reduce_tile(const Reduction& r, const Reducer<Acc>& by, const char* x, std::int64_t task, std::int64_t tile,
                 const Emit& emit) {
  std::int64_t begin = tile * r.units_per_tile, end = std::min(r.units, begin + r.units_per_tile);
  if (r.along_rows) {
    Acc value = row_tile(r, by, x + offset_of(task, r.kept, r.kept_strides) * by.bytes, begin, end);
    return emit(&value, 1, task);
  }
  std::int64_t group = task / r.blocks(), from = task % r.blocks() * Reduction::block;
  std::int64_t width = std::min(Reduction::block, r.inner - from);
  Acc acc[Reduction::block];
  column_tile(r, by, x + (offset_of(group, r.kept, r.kept_strides) + from) * by.bytes, width, begin, end, acc);
  emit(acc, width, group * r.inner + from);
}

}  // namespace

Reduction plan_reduction(const Shape& shape, std::span<const int> axes) {
  std::vector<ReducedDim> dims = merged_dims_of(shape, axes);
  Reduction r;
  for (const ReducedDim& d : dims) (d.reduced ? r.count : r.outputs) *= d.size;
  if (!dims.empty()) {
    r.along_rows = dims.back().reduced;
    r.inner = dims.back().size;
    dims.pop_back();
  }
  if (!r.along_rows && !dims.empty()) {
    r.rows = dims.back().size;
    dims.pop_back();
  }
  for (const ReducedDim& d : dims) {
    (d.reduced ? r.reduced : r.kept).push_back(d.size);
    (d.reduced ? r.reduced_strides : r.kept_strides).push_back(d.stride);
  }
  std::int64_t outer = r.reduced.elements();
  r.units = r.along_rows ? outer * r.pieces() : outer * r.rows;
  r.tasks = r.along_rows ? r.outputs : r.kept.elements() * r.blocks();
  cut_into_tiles(r, r.along_rows ? std::min(r.inner, Reduction::piece) : std::min(r.inner, Reduction::block));
  return r;
}

template <class Acc>
void reduce(const Reduction& r, const Reducer<Acc>& by, const void* x, void* y, Acc* partial) {
  if (r.outputs == 0) return;
  auto store = [&](const Acc* values, std::int64_t count, std::int64_t first) {
    by.store(values, count, by.divisor, static_cast<char*>(y) + first * by.bytes);
  };
  std::int64_t work = std::max<std::int64_t>(1, r.count * r.outputs / (r.tasks * r.tiles));
  parallel_ranges(r.tasks * r.tiles, elementwise_grain / work + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t task = i % r.tasks, tile = i / r.tasks;
      reduce_tile(r, by, static_cast<const char*>(x), task, tile,
                  [&](const Acc* values, std::int64_t count, std::int64_t first) {
                    if (r.tiles == 1) return store(values, count, first);
                    std::copy_n(values, count, partial + tile * r.outputs + first);
                  });
    }
  });
  if (r.tiles == 1) return;
  for (std::int64_t tile = 1; tile < r.tiles; ++tile) by.merge(partial + tile * r.outputs, r.outputs, partial);
  store(partial, r.outputs, 0);
}

template void reduce(const Reduction&, const Reducer<double>&, const void*, void*, double*);
template void reduce(const Reduction&, const Reducer<std::int64_t>&, const void*, void*, std::int64_t*);

}  // namespace reprise::kernels
