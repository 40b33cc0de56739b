// SPDX-License-Identifier: Apache-2.0
// Other shapes and places for the same elements: views, joins, cuts, padding.
#include <algorithm>
#include <numeric>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

Values same_value(const NodeCall& c) { return {c.in(0)}; }

// 0 takes over x's size (unless `allowzero`), -1 follows from the others.
Values reshaped(const NodeCall& c) {
  Value x = c.in(0);
  std::vector<std::int64_t> sizes = c.integers_of(1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0 && !c.flag("allowzero")) {
      if (static_cast<int>(i) >= x.rank())
        fail("[onnx] size {} of Reshape is taken over from {}", i, to_string(x.type()));
      sizes[i] = x.shape()[static_cast<int>(i)];
    }
  return {reshape(x, std::span<const std::int64_t>(sizes))};
}

Values flattened(const NodeCall& c) {
  Value x = c.in(0);
  std::int64_t axis = c.integer("axis", 1);
  int at = axis == x.rank() ? x.rank() : axis == 0 ? 0 : axis_of(c, axis, x.rank());
  Shape rows(std::span(x.shape().begin(), x.shape().begin() + at));
  Shape columns(std::span(x.shape().begin() + at, x.shape().end()));
  return {reshape(x, Shape{rows.elements(), columns.elements()})};
}

Values squeezed(const NodeCall& c) {
  std::vector<std::int64_t> axes = c.integers_at("axes", 12, 1);
  return {axes.empty() ? squeeze(c.in(0)) : squeeze(c.in(0), axes)};
}
Values unsqueezed(const NodeCall& c) {
  std::vector<std::int64_t> axes = c.integers_at("axes", 12, 1);
  if (axes.size() > static_cast<std::size_t>(Shape::max_rank)) fail("[onnx] {} new axes are too many", axes.size());
  return {unsqueeze(c.in(0), axes)};
}
Values transposed(const NodeCall& c) {
  std::vector<std::int64_t> order = c.integers("perm");
  return {order.empty() ? transpose(c.in(0)) : transpose(c.in(0), order)};
}

// The shape that both broadcast to: a size of 1 in the list keeps x's.
Values expanded(const NodeCall& c) {
  Value x = c.in(0);
  std::vector<std::int64_t> sizes = c.integers_of(1), own = x.shape().sizes();
  std::size_t rank = std::max(sizes.size(), own.size());
  sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  own.insert(own.begin(), rank - own.size(), 1);
  for (std::size_t i = 0; i < rank; ++i)
    if (sizes[i] == 1) sizes[i] = own[i];
  return {expand(x, checked_shape(c, sizes))};
}

Values tiled(const NodeCall& c) {
  Value x = c.in(0);
  std::vector<std::int64_t> counts = c.integers_of(1), sizes;
  if (static_cast<int>(counts.size()) != x.rank())
    fail("[onnx] {} counts for {}: Tile takes one a dimension", counts.size(), to_string(x.type()));
  for (int i = 0; i < x.rank(); ++i) {
    std::int64_t size = 0;
    if (__builtin_mul_overflow(x.shape()[i], counts[static_cast<std::size_t>(i)], &size))
      fail("[onnx] {} tiled {} times cannot be counted", to_string(x.type()), counts[static_cast<std::size_t>(i)]);
    sizes.push_back(size);
  }
  checked_shape(c, sizes);
  return {tile(x, counts)};
}

Values joined(const NodeCall& c) {
  Values parts = c.all();
  return {concat(parts, axis_of(c, c.integer("axis", c.opset() < 4 ? 1 : 0), parts[0].rank()))};
}

std::vector<std::int64_t> even_parts(const NodeCall& c, std::int64_t size, std::int64_t count) {
  if (count < 1) fail("[onnx] Split into {} parts: there must be one or more", count);
  std::int64_t each = (size + count - 1) / count;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), each);
  sizes.back() = size - each * (count - 1);
  if (sizes.back() < 0 || (c.opset() < 18 && sizes.back() != each))
    fail("[onnx] a size of {} does not split into {} parts", size, count);
  return sizes;
}

Values parted(const NodeCall& c) {
  Value x = c.in(0);
  int axis = axis_of(c, c.integer("axis", 0), x.rank());
  std::vector<std::int64_t> sizes = c.integers_at("split", 12, 1);
  if (sizes.empty()) sizes = even_parts(c, x.shape()[axis], c.outputs());
  if (static_cast<int>(sizes.size()) != c.outputs())
    fail("[onnx] Split has {} outputs for {} sizes", c.outputs(), sizes.size());
  return split(x, sizes, axis);
}

Values sliced(const NodeCall& c) {
  bool as_inputs = c.opset() >= 10;
  auto starts = as_inputs ? c.integers_of(1) : c.integers("starts");
  auto stops = as_inputs ? c.integers_of(2) : c.integers("ends");
  auto axes = c.integers_at("axes", 9, 3), steps = c.integers_at("steps", 9, 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  return {slice(c.in(0), axes, starts, stops, steps)};
}

struct Pads {
  std::vector<std::int64_t> before, after;  // one an axis
};

Pads pads_of(const NodeCall& c, int rank) {
  std::vector<std::int64_t> pads = c.integers_at("pads", 10, 1), axes;
  if (c.has(3)) axes = c.integers_of(3);
  if (!c.has(3)) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size())
    fail("[onnx] {} pads for {} axes: two an axis are needed", pads.size(), axes.size());
  Pads result{std::vector<std::int64_t>(static_cast<std::size_t>(rank)), {}};
  result.after = result.before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<std::size_t>(axis_of(c, axes[i], rank));
    result.before[axis] = pads[i];
    result.after[axis] = pads[i + axes.size()];
  }
  return result;
}

double pad_value(const NodeCall& c) {
  if (c.opset() < 11) return c.real("value", 0);
  return c.has(2) && c.tensor_of(2).elements() > 0 ? c.real_of(2) : 0;
}

// Negative pads cut.
Values padded(const NodeCall& c) {
  Value x = c.in(0);
  Pads pads = pads_of(c, x.rank());
  std::string mode = c.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    unsupported("mode \"{}\" is not supported: constant, reflect and edge are", mode);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  for (int axis = 0; axis < x.rank(); ++axis)
    for (std::vector<std::int64_t>* side : {&pads.before, &pads.after}) {
      std::int64_t& pad = (*side)[static_cast<std::size_t>(axis)];
      if (pad < -most || pad > most) fail("[onnx] a pad of {} is out of reach", pad);
      bool at_front = side == &pads.before;
      if (pad < 0) x = at_front ? slice(x, axis, -pad, to_end) : slice(x, axis, 0, x.shape()[axis] + pad);
      pad = std::max<std::int64_t>(pad, 0);
    }
  std::vector<std::int64_t> sizes = x.shape().sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] += pads.before[i] + pads.after[i];
  checked_shape(c, sizes);
  return {mode == "constant" ? pad(x, pads.before, pads.after, pad_value(c)) : pad(x, pads.before, pads.after, mode)};
}

Values depth_to_space_of(const NodeCall& c) {
  std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") unsupported("mode \"{}\" is not supported: DCR and CRD are", mode);
  std::int64_t r = c.integer("blocksize", 0);
  if (r < 1 || r > 1 << 10) fail("[onnx] blocksize {} of DepthToSpace is out of range", r);
  return {mode == "DCR" ? depth_to_space(c.in(0), r) : pixel_shuffle(c.in(0), r)};
}
Values space_to_depth_of(const NodeCall& c) {
  std::int64_t r = c.integer("blocksize", 0);
  if (r < 1 || r > 1 << 10) fail("[onnx] blocksize {} of SpaceToDepth is out of range", r);
  return {space_to_depth(c.in(0), r)};
}

Values triangle(const NodeCall& c) {
  Value x = c.in(0);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t k = std::clamp(c.has(1) ? c.integer_of(1) : 0, -most, most);
  Value numbers = x.dtype() == DType::boolean ? cast(x, DType::i32) : x;
  return {cast(c.flag("upper", true) ? triu(numbers, k) : tril(numbers, k), x.dtype())};
}

constexpr Operator shape_table[] = {
    {"Concat", 4, 21, moves, joined},
    {"DepthToSpace", 1, 21, moves, depth_to_space_of},
    {"Expand", 8, 21, moves, expanded},
    {"Flatten", 1, 21, moves, flattened},
    {"Identity", 1, 21, moves, same_value},
    {"Pad", 2, 21, moves, padded, 0b1110},
    {"Reshape", 5, 21, moves, reshaped},
    {"Slice", 1, 21, moves, sliced},
    {"SpaceToDepth", 1, 21, moves, space_to_depth_of},
    {"Split", 2, 21, moves, parted},
    {"Squeeze", 1, 21, moves, squeezed},
    {"Tile", 6, 21, moves, tiled},
    {"Transpose", 1, 21, moves, transposed},
    {"Trilu", 14, 21, moves, triangle},
    {"Unsqueeze", 1, 21, moves, unsqueezed},
};

}  // namespace

std::span<const Operator> shape_operators() { return shape_table; }

}  // namespace reprise::onnx
