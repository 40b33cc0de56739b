// SPDX-License-Identifier: Apache-2.0
// Rearrangements that are a few views around one copy.
#include "base/error.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

void expect_image(std::string_view who, const Value& x, std::int64_t r) {
  if (x.rank() != 4) fail("[{}] {} is no batch of images: it takes [N,C,H,W], reshape it", who, to_string(x.type()));
  if (r < 1) fail("[{}] the factor is {}: give 1 or more", who, r);
}

void expect_divisible(std::string_view who, const Value& x, int axis, std::int64_t by) {
  if (x.shape()[axis] % by != 0)
    fail("[{}] axis {} of {} is not a multiple of {}: pad it, or take another factor", who, axis, to_string(x.type()),
         by);
}

// [N, r²·C, H, W] seen as [N, a, b, c, H, W] and put in `order`, then read as [N, C, H·r, W·r].
Value to_space(std::string_view who, const Value& x, std::int64_t r, bool block_first) {
  expect_image(who, x, r);
  expect_divisible(who, x, 1, r * r);
  std::int64_t n = x.shape()[0], c = x.shape()[1] / (r * r), h = x.shape()[2], w = x.shape()[3];
  Value parts = block_first ? transpose(reshape(x, {n, r, r, c, h, w}), {0, 3, 4, 1, 5, 2})
                            : transpose(reshape(x, {n, c, r, r, h, w}), {0, 1, 4, 2, 5, 3});
  return reshape(parts, Shape{n, c, h * r, w * r});
}

Value to_depth(std::string_view who, const Value& x, std::int64_t r, bool block_first) {
  expect_image(who, x, r);
  expect_divisible(who, x, 2, r);
  expect_divisible(who, x, 3, r);
  std::int64_t n = x.shape()[0], c = x.shape()[1], h = x.shape()[2] / r, w = x.shape()[3] / r;
  Value parts = reshape(x, Shape{n, c, h, r, w, r});
  std::vector<std::int64_t> order = {0, 1, 3, 5, 2, 4};
  if (block_first) order = {0, 3, 5, 1, 2, 4};
  return reshape(transpose(parts, order), Shape{n, c * r * r, h, w});
}

}  // namespace

Value tile(const Value& x, const std::vector<std::int64_t>& counts) {
  int extra = static_cast<int>(counts.size()) - x.rank();
  if (extra < 0) fail("[tile] {} counts for {}: give one an axis", counts.size(), to_string(x.type()));
  Shape open, wide, result;  // [a, b] -> [1, a, 1, b] -> [m, a, n, b] -> [m·a, n·b]
  for (int axis = 0; axis < std::ssize(counts); ++axis) {
    std::int64_t count = counts[static_cast<std::size_t>(axis)], size = axis < extra ? 1 : x.shape()[axis - extra];
    if (count < 0) fail("[tile] count {} of axis {} is negative: give 0 or more", count, axis);
    if (count != 1) open.push_back(1), wide.push_back(count);
    open.push_back(size), wide.push_back(size);
    result.push_back(size * count);
  }
  return reshape(expand(reshape(x, open), wide), result);
}

Value repeat(const Value& x, std::int64_t count, std::int64_t axis) {
  int at = normal_axis("repeat", axis, x.rank());
  if (count < 0) fail("[repeat] count {} is negative: give 0 or more", count);
  Value open = unsqueeze(x, {at + 1});
  Shape wide = open.shape(), result = x.shape();
  wide[at + 1] = count;
  result[at] *= count;
  return reshape(expand(open, wide), result);
}

Value pixel_shuffle(const Value& x, std::int64_t r) { return to_space("pixel_shuffle", x, r, false); }
Value pixel_unshuffle(const Value& x, std::int64_t r) { return to_depth("pixel_unshuffle", x, r, false); }
Value depth_to_space(const Value& x, std::int64_t r) { return to_space("depth_to_space", x, r, true); }
Value space_to_depth(const Value& x, std::int64_t r) { return to_depth("space_to_depth", x, r, true); }

}  // namespace reprise
