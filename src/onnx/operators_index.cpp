// SPDX-License-Identifier: Apache-2.0
// Taking elements by index, and putting them.
#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

Values gathered(const NodeCall& c) { return {gather(c.in(0), c.in(1), c.integer("axis", 0))}; }

// Along other axes the indices may be shorter than x: what they do not reach is cut off.
Value within_reach(const NodeCall& c, int axis) {
  Value x = c.in(0);
  for (int i = 0; i < x.rank() && x.rank() == c.in(1).rank(); ++i)
    if (i != axis && c.in(1).shape()[i] < x.shape()[i]) x = slice(x, i, 0, c.in(1).shape()[i]);
  return x;
}

Values gathered_elements(const NodeCall& c) {
  int axis = axis_of(c, c.integer("axis", 0), c.in(0).rank());
  return {gather_elements(within_reach(c, axis), c.in(1), axis)};
}

Values gathered_parts(const NodeCall& c) {
  if (c.integer("batch_dims", 0) != 0) unsupported("batch_dims is not supported: export without it");
  return {gather_nd(c.in(0), c.in(1))};
}

bool adds(const NodeCall& c) {
  std::string reduction = c.text("reduction", "none");
  if (reduction != "none" && reduction != "add")
    unsupported("reduction \"{}\" is not supported: none and add are", reduction);
  return reduction == "add";
}

Values scattered_elements(const NodeCall& c) {
  int axis = axis_of(c, c.integer("axis", 0), c.in(0).rank());
  if (within_reach(c, axis).shape() != c.in(0).shape())
    unsupported("indices {} that are shorter than the data {} along another axis are not supported",
                to_string(c.in(1).type()), to_string(c.in(0).type()));
  return {adds(c) ? scatter_add(c.in(0), c.in(1), c.in(2), axis) : scatter(c.in(0), c.in(1), c.in(2), axis)};
}

Values scattered_parts(const NodeCall& c) {
  return {adds(c) ? scatter_nd_add(c.in(0), c.in(1), c.in(2)) : scatter_nd(c.in(0), c.in(1), c.in(2))};
}

// An index that names nothing gives a row without the "on" value.
Values one_hot_rows(const NodeCall& c) {
  auto depth = static_cast<std::int64_t>(c.real_of(1));
  if (depth < 1 || depth > most_folded_bytes / 8) fail("[onnx] OneHot of depth {} is out of range", depth);
  Value index = cast(c.in(0), DType::i64);
  index = where(less(index, 0), index + static_cast<double>(depth), index);
  Value hit = equal(unsqueeze(index, {-1}), arange(0, static_cast<double>(depth)));
  Value values = c.in(2);
  Value rows = where(hit, select(values, 0, 1), select(values, 0, 0));
  return {end_to_axis(rows, axis_of(c, c.integer("axis", -1), rows.rank()))};
}
std::int32_t one_hot_element(const NodeCall& c) { return c.data_type(2); }

constexpr Operator index_table[] = {
    {"Gather", 1, 21, moves, gathered},
    {"GatherElements", 11, 21, moves, gathered_elements},
    {"GatherND", 11, 21, moves, gathered_parts},
    {"OneHot", 9, 21, moves, one_hot_rows, 0b110, one_hot_element},
    {"Scatter", 9, 21, moves, scattered_elements},
    {"ScatterElements", 11, 21, computes, scattered_elements},
    {"ScatterND", 11, 21, computes, scattered_parts},
};

}  // namespace

std::span<const Operator> index_operators() { return index_table; }

}  // namespace reprise::onnx
