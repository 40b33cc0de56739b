// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include <numeric>

#include "onnx/windows.h"

namespace reprise::onnx {
namespace {

PoolOptions pool_options(const NodeCall& c, const Sliding& s) {
  return {.strides = s.strides,
          .dilations = s.dilations,
          .pads = s.pads,
          .ceil_mode = c.flag("ceil_mode"),
          .count_include_pad = c.flag("count_include_pad")};
}

// Where each element stands in memory; with storage_order 1 the last two spatial dimensions change places.
Value positions_in(const NodeCall& c, const Value& x) {
  Value flat = iota_like(reshape(x, {-1}), 0, DType::f64), places = reshape(flat, x.shape());
  std::int64_t order = c.integer("storage_order", 0);
  if (order == 0) return places;
  if (order != 1 || x.rank() != 4) unsupported("storage_order {} of {} is not supported", order, to_string(x.type()));
  const Shape& s = x.shape();
  return swap_axes(reshape(flat, Shape{s[0], s[1], s[3], s[2]}), 2, 3);
}

// Positions are numbers up to 2^53; max_pool_take brings those of the largest elements.
Value largest_places(const NodeCall& c, const Value& x, const Sliding& s) {
  Value wide = cast(x, DType::f64), pooled = max_pool(wide, s.kernel, pool_options(c, s));
  Attributes attributes = pooled.graph()->node(pooled.ref().node).attributes;  // a copy: more nodes are added below
  Value places = record("max_pool_take", {wide, positions_in(c, wide)}, attributes);
  return cast(places, DType::i64);
}

Values max_pooled(const NodeCall& c) {
  Value x = c.in(0);
  Sliding s = sliding_of(c, x, {});
  pad_automatically(c, x, s);
  Value numbers = is_float(x.dtype()) ? x : cast(x, DType::f64);
  Values results{cast(max_pool(numbers, s.kernel, pool_options(c, s)), x.dtype())};
  if (c.wants(1)) results.push_back(largest_places(c, x, s));
  return results;
}

Values mean_pooled(const NodeCall& c) {
  Sliding s = sliding_of(c, c.in(0), {});
  pad_automatically(c, c.in(0), s);
  return {avg_pool(c.in(0), s.kernel, pool_options(c, s))};
}

Axes spatial_axes(const Value& x) {
  if (x.rank() < 3) fail("[onnx] {} has no spatial dimensions", to_string(x.type()));
  Axes axes(static_cast<std::size_t>(x.rank()) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Values global_mean(const NodeCall& c) { return {mean(c.in(0), spatial_axes(c.in(0)), true)}; }
Values global_max(const NodeCall& c) { return {max(c.in(0), spatial_axes(c.in(0)), true)}; }

constexpr Operator pool_table[] = {
    {"AveragePool", 1, 21, computes, mean_pooled},
    {"GlobalAveragePool", 1, 21, computes, global_mean},
    {"GlobalMaxPool", 1, 21, computes, global_max},
    {"MaxPool", 1, 21, computes, max_pooled},
};

}  // namespace

std::span<const Operator> pool_operators() { return pool_table; }

}  // namespace reprise::onnx
