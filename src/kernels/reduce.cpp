// SPDX-License-Identifier: Apache-2.0
#include "kernels/reduce.h"

namespace reprise::kernels {
namespace {

struct Dim {
  std::int64_t size, stride;
  bool reduced;
};

// Outermost first; sizes 1 dropped, neighbours of one kind merged.
std::vector<Dim> merged_dims(const Shape& shape, std::span<const int> axes) {
  std::vector<Dim> dims;
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

// Few tasks are cut into tiles, so that several threads have something to do.
void cut_into_tiles(Reduction& r, std::int64_t unit_elements) {
  constexpr std::int64_t enough_tasks = 64, tile_elements = 1 << 16;
  r.units_per_tile = std::max<std::int64_t>(1, r.units);
  if (r.tasks >= enough_tasks) return;
  r.units_per_tile = std::max<std::int64_t>(1, tile_elements / std::max<std::int64_t>(1, unit_elements));
  r.tiles = std::max<std::int64_t>(1, (r.units + r.units_per_tile - 1) / r.units_per_tile);
}

}  // namespace

Reduction plan_reduction(const Shape& shape, std::span<const int> axes) {
  std::vector<Dim> dims = merged_dims(shape, axes);
  Reduction r;
  for (const Dim& d : dims) (d.reduced ? r.count : r.outputs) *= d.size;
  if (!dims.empty()) {
    r.along_rows = dims.back().reduced;
    r.inner = dims.back().size;
    dims.pop_back();
  }
  if (!r.along_rows && !dims.empty()) {
    r.rows = dims.back().size;
    dims.pop_back();
  }
  for (const Dim& d : dims) {
    (d.reduced ? r.reduced : r.kept).push_back(d.size);
    (d.reduced ? r.reduced_strides : r.kept_strides).push_back(d.stride);
  }
  std::int64_t outer = r.reduced.elements();
  r.units = r.along_rows ? outer * r.pieces() : outer * r.rows;
  r.tasks = r.along_rows ? r.outputs : r.kept.elements() * r.blocks();
  cut_into_tiles(r, r.along_rows ? std::min(r.inner, Reduction::piece) : std::min(r.inner, Reduction::block));
  return r;
}

}  // namespace reprise::kernels
