// SPDX-License-Identifier: Apache-2.0
// Convolution over one, two or three spatial dimensions, and its gradients: f32 by oneDNN, f64 by matrix products.
#pragma once

#include <functional>

#include "reprise/tensor.h"

namespace reprise::kernels {

/// The three results of y = conv(x, weight); each is bilinear in the other two.
enum class ConvPass : std::uint8_t { forward, data_gradient, weight_gradient };

struct ConvSizes {
  Shape x;                                         // [n, in, spatial...]
  Shape weight;                                    // [out, in / groups, kernel...]
  Shape y;                                         // [n, out, spatial...]
  Shape strides, dilations, pads_begin, pads_end;  // per spatial dimension
  std::int64_t groups = 1;
};

/// A convolution prepared for its sizes. The operands are (x, weight) forward, (dy, weight) for dx, (x, dy) for
/// dweight. `bias` [out] is added in a forward run that gives one.
template <class T>
struct Convolution {
  std::function<void(const T* a, const T* b, const T* bias, T* result, void* scratch)> run;
  std::int64_t scratch_bytes = 0;
};

Convolution<float> prepare_convolution_f32(ConvPass pass, const ConvSizes& sizes, bool has_bias);
Convolution<double> prepare_convolution_f64(ConvPass pass, const ConvSizes& sizes);

}  // namespace reprise::kernels
