// SPDX-License-Identifier: Apache-2.0
// Shapes: views, ops that move elements around, indexing, einsum. Axes and indices that are negative count from the
// back.
#pragma once

#include <limits>

#include "reprise/graph.h"

namespace reprise {

// Views: they cost and allocate nothing.

/// The same elements under another shape; costs nothing. One size may be -1: it follows from the others.
REPRISE_API Value reshape(const Value& x, std::span<const std::int64_t> shape);
REPRISE_API Value reshape(const Value& x, const Shape& shape);
inline Value reshape(const Value& x, std::initializer_list<std::int64_t> shape) {
  return reshape(x, std::span(shape.begin(), shape.size()));
}
/// The same value; no gradient flows back through it.
REPRISE_API Value stop_gradient(const Value& x);
/// Without its dimensions of size 1, or without those that `axes` name.
REPRISE_API Value squeeze(const Value& x);
REPRISE_API Value squeeze(const Value& x, const std::vector<std::int64_t>& axes);
/// With new dimensions of size 1, which stand at `axes` of the result.
REPRISE_API Value unsqueeze(const Value& x, const std::vector<std::int64_t>& axes);
/// Dimensions `first` to `last`, both included, become one.
REPRISE_API Value flatten(const Value& x, std::int64_t first = 0, std::int64_t last = -1);

// Moving.

/// x broadcast to `shape`.
REPRISE_API Value expand(const Value& x, const Shape& shape);
/// Dimension i of the result is dimension order[i] of x; without an order all are reversed.
REPRISE_API Value transpose(const Value& x);
REPRISE_API Value transpose(const Value& x, const std::vector<std::int64_t>& order);
/// Two dimensions exchanged.
REPRISE_API Value swap_axes(const Value& x, std::int64_t a, std::int64_t b);
/// Reversed along these axes.
REPRISE_API Value flip(const Value& x, const std::vector<std::int64_t>& axes);
/// Moved forwards by `shift` along `axis`; what leaves at the end returns at the front.
REPRISE_API Value roll(const Value& x, std::int64_t shift, std::int64_t axis);
/// x repeated counts[i] times along axis i, as a whole; one count per dimension, or more for new ones in front.
REPRISE_API Value tile(const Value& x, const std::vector<std::int64_t>& counts);
/// Every element repeated `count` times along `axis`.
REPRISE_API Value repeat(const Value& x, std::int64_t count, std::int64_t axis);
/// x[..., i, i + offset, ...]: the diagonal of two axes, as the last axis of the result.
REPRISE_API Value diagonal(const Value& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// The sum of the diagonal.
REPRISE_API Value trace(const Value& x, std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1);
/// Zero above (tril) or below (triu) the diagonal `offset` of the last two axes.
REPRISE_API Value tril(const Value& x, std::int64_t offset = 0);
REPRISE_API Value triu(const Value& x, std::int64_t offset = 0);
/// [N, C·r², H, W] to [N, C, H·r, W·r], and back.
REPRISE_API Value pixel_shuffle(const Value& x, std::int64_t r);
REPRISE_API Value pixel_unshuffle(const Value& x, std::int64_t r);
/// [N, r²·C, H, W] to [N, C, H·r, W·r], block-major; and back.
REPRISE_API Value depth_to_space(const Value& x, std::int64_t r);
REPRISE_API Value space_to_depth(const Value& x, std::int64_t r);

// Cutting and joining.

/// The end of a dimension: slice(x, 0, 2, to_end) is x[2:].
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
/// The beginning, for negative steps: slice(x, 0, -1, to_begin, -1) is x[::-1].
inline constexpr std::int64_t to_begin = std::numeric_limits<std::int64_t>::min();
/// x[start:stop:step] along one axis, with Python's rules.
REPRISE_API Value slice(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t stop,
                        std::int64_t step = 1);
/// The same along several axes at once; no steps: all 1.
REPRISE_API Value slice(const Value& x, const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& starts,
                        const std::vector<std::int64_t>& stops, const std::vector<std::int64_t>& steps = {});
/// `length` elements from `start` along `axis`; unlike slice it refuses what does not exist.
REPRISE_API Value narrow(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t length);
/// One index of an axis, which disappears.
REPRISE_API Value select(const Value& x, std::int64_t axis, std::int64_t index);
REPRISE_API Value concat(const Values& parts, std::int64_t axis);
/// As concat along a new axis.
REPRISE_API Value stack(const Values& parts, std::int64_t axis = 0);
/// Parts of the given sizes along `axis`, or that many equal parts.
REPRISE_API Values split(const Value& x, const std::vector<std::int64_t>& sizes, std::int64_t axis);
REPRISE_API Values split(const Value& x, std::int64_t parts, std::int64_t axis);
/// before[i] and after[i] elements more along axis i: of `value`, mirrored without the border ("reflect"), or repeating
/// it ("edge").
REPRISE_API Value pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
                      double value = 0);
REPRISE_API Value pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
                      std::string_view mode);

// Indexing. Indices are i32 or i64, negative ones count from the back; one that names nothing is an Error when the op
// runs, which says which.

/// x's rows along `axis` that `indices` name: the result has the indices' dimensions in place of that axis.
REPRISE_API Value gather(const Value& x, const Value& indices, std::int64_t axis = 0);
/// One element an index: y[i][j] = x[indices[i][j]][j] for axis 0.
REPRISE_API Value gather_elements(const Value& x, const Value& indices, std::int64_t axis = 0);
/// The last dimension of `indices` names leading dimensions of x: y[i] = x[indices[i, 0], indices[i, 1], ...].
REPRISE_API Value gather_nd(const Value& x, const Value& indices);
/// x with rows (or elements, or parts) replaced where `indices` say; the last of equal indices wins.
REPRISE_API Value index_copy(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0);
REPRISE_API Value scatter(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0);
REPRISE_API Value scatter_nd(const Value& x, const Value& indices, const Value& updates);
/// x with updates added where `indices` say, in the order of the indices whatever the number of threads.
REPRISE_API Value index_add(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0);
REPRISE_API Value scatter_add(const Value& x, const Value& indices, const Value& updates, std::int64_t axis = 0);
REPRISE_API Value scatter_nd_add(const Value& x, const Value& indices, const Value& updates);
/// Rows of weight [count, size] that indices name.
REPRISE_API Value embedding(const Value& weight, const Value& indices);
/// 0, 1, 2, ... along an axis of x's shape.
REPRISE_API Value iota_like(const Value& x, std::int64_t axis, DType dtype = DType::i64);
/// start, start + step, ... before stop.
REPRISE_API Value arange(double start, double stop, double step = 1, DType dtype = DType::i64);
/// A row of `depth` numbers an index: one where it says, zero elsewhere.
REPRISE_API Value one_hot(const Value& indices, std::int64_t depth, DType dtype = DType::f32);

/// NumPy's einsum: "ij,jk->ik", implicit outputs, "...", repeated indices, broadcasting of size 1, any number of
/// operands. Lowered here and now to diagonals, sums, transpositions and batched matrix products, in a contraction
/// order that is searched.
REPRISE_API Value einsum(std::string_view spec, const Values& operands);

}  // namespace reprise
