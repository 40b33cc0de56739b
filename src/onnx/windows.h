// SPDX-License-Identifier: Apache-2.0
// Windows as ONNX describes those of convolutions and pools.
#pragma once

#include "onnx/operators.h"

namespace reprise::onnx {

/// One number a spatial dimension; pads have all beginnings before all ends.
struct Sliding {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  std::string auto_pad;
  std::size_t rank() const { return kernel.size(); }
};

/// The attributes, checked for range, with what is left out filled in; auto_pad is not worked out yet. `kernel` is what
/// the weights say, or empty.
Sliding sliding_of(const NodeCall& c, const Value& x, std::vector<std::int64_t> kernel);
/// Pads that auto_pad asks for, so that a window's count is the size over the stride, rounded up.
void pad_automatically(const NodeCall& c, const Value& x, Sliding& s);
/// `total` parted into beginning and end of dimension i.
void part_pads(Sliding& s, std::size_t i, std::int64_t total, bool more_at_end);

}  // namespace reprise::onnx
