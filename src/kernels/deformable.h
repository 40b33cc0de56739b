// SPDX-License-Identifier: Apache-2.0
// Deformable convolution of images (Dai et al. 2017; with a mask Zhu et al. 2019): every tap of every output reads x at
// a place of its own, between elements by bilinear interpolation, zero outside.
#pragma once

#include "reprise/tensor.h"

namespace reprise::kernels {

/// x is [n, in, height, width], weight [out, in / groups, kernel...], y [n, out, height, width]. The in channels form
/// offset_groups groups; offsets is [n, offset_groups · taps · 2, y...] (down, then right), mask [n, offset_groups ·
/// taps, y...].
struct DeformableSizes {
  Shape x, weight, y;
  Shape strides, dilations, pads;  // pads before
  std::int64_t groups = 1, offset_groups = 1;

  std::int64_t taps() const { return weight[2] * weight[3]; }
  std::int64_t x_area() const { return x[2] * x[3]; }
  std::int64_t y_area() const { return y[2] * y[3]; }
  /// Elements of what one image unfolds to: a row for each in channel and tap, a column for each output position.
  std::int64_t unfolded() const { return x[1] * taps() * y_area(); }
};

template <class T>
struct DeformableInputs {
  const T *x, *offsets, *weight, *mask;  // mask may be null
};

template <class T>
struct DeformableGradients {
  T *x, *offsets, *weight, *mask;  // mask is null where there is none
};

/// Unfolded images, one for the forward and two for the backward pass.
template <class T>
std::int64_t deformable_scratch_bytes(const DeformableSizes& s, bool backward) {
  return static_cast<std::int64_t>(sizeof(T)) * s.unfolded() * (backward ? 2 : 1);
}

template <class T>
void deformable(const DeformableSizes& s, const DeformableInputs<T>& in, T* y, void* scratch);

template <class T>
void deformable_gradient(const DeformableSizes& s, const DeformableInputs<T>& in, const T* dy,
                         const DeformableGradients<T>& out, void* scratch);

}  // namespace reprise::kernels
