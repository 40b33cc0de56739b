// SPDX-License-Identifier: Apache-2.0
// Windows that slide over the spatial dimensions of [n, channels, spatial...]: attributes of convolution and pooling.
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// Strides, dilations and pads of a window, one number a spatial dimension.
struct Window {
  Shape strides, dilations, pads_begin, pads_end;
  int rank() const { return strides.rank(); }
};

/// The window an op's attributes describe: strides, dilations, and pads with all beginnings before all ends. An Error
/// that names the op where a number is missing or out of range.
Window window_of(const Signature& s, int spatial_rank);

/// How many positions a window of `kernel` taps has along a dimension; 0 where it does not fit. With ceil_mode a last
/// window that begins inside (the padding before included) counts even if it reaches past the end.
std::int64_t window_count(std::int64_t size, std::int64_t kernel, const Window& w, int axis, bool ceil_mode = false);

/// A window as users describe it.
struct WindowOptions {
  const std::vector<std::int64_t>&strides, &dilations, &pads;
};

/// The attributes for options as users give them: none means 1 (pads: 0), one number holds for every dimension, pads
/// may be one per dimension or one per side.
Attributes window_attributes(std::string_view who, const WindowOptions& options, int spatial_rank);

}  // namespace reprise
