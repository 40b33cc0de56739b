// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolution, pooling, attention, recurrent nets, dropout and random numbers.
#pragma once

#include "reprise/graph.h"
#include "reprise/ops_math.h"

namespace reprise {

/// NumPy's matrix product: vectors count as a row (a) or a column (b), batch dimensions broadcast. The flags use the
/// last two dimensions of an operand swapped, without storing them so; a vector ignores its flag.
REPRISE_API Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false);
/// x · weightᵀ + bias over the last dimension of x; weight is [out, in], bias [out].
REPRISE_API Value linear(const Value& x, const Value& weight);
REPRISE_API Value linear(const Value& x, const Value& weight, const Value& bias);

/// How a window slides over the spatial dimensions of [n, channels, spatial...]. Nothing given: step by one, no gaps,
/// no padding. One number holds for every dimension; `pads` may also be one per side, all beginnings before all ends.
struct ConvOptions {
  std::vector<std::int64_t> strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;  // as many as input channels: depthwise
};
struct ConvTransposeOptions {
  std::vector<std::int64_t> strides = {}, dilations = {}, pads = {};
  std::int64_t groups = 1;
  std::vector<std::int64_t> output_padding = {};  // extra elements at the end of each spatial dimension
};

/// Convolution over one to three spatial dimensions: weight is [out, in / groups, kernel...], bias [out].
///     conv(x, weight, {.strides = {2}, .pads = {1}, .groups = 4})
REPRISE_API Value conv(const Value& x, const Value& weight, const ConvOptions& options = {});
REPRISE_API Value conv(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options = {});
/// The transposed convolution, which grows its input by the stride: weight is [in, out / groups, kernel...].
REPRISE_API Value conv_transpose(const Value& x, const Value& weight, const ConvTransposeOptions& options = {});
REPRISE_API Value conv_transpose(const Value& x, const Value& weight, const Value& bias,
                                 const ConvTransposeOptions& options = {});

}  // namespace reprise
