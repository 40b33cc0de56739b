// SPDX-License-Identifier: Apache-2.0
// Matrix products and convolutions.
#include <algorithm>

#include "onnx/windows.h"

namespace reprise::onnx {
namespace {

Values product(const NodeCall& c) { return {matmul(c.in(0), c.in(1))}; }

// alpha · A B + beta · C
Values general_product(const NodeCall& c) {
  Value a = c.in(0), b = c.in(1);
  if (a.rank() != 2 || b.rank() != 2)
    fail("[onnx] Gemm takes matrices, not {} and {}", to_string(a.type()), to_string(b.type()));
  bool ta = c.flag("transA"), tb = c.flag("transB");
  double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  Value bias = c.maybe(2);
  bool plain = alpha == 1 && beta == 1 && !ta && tb && bias;
  if (plain && bias.rank() == 1 && bias.shape()[0] == b.shape()[0] && is_float(a.dtype())) return {linear(a, b, bias)};
  Value y = matmul(a, b, ta, tb);
  if (alpha != 1) y = y * alpha;
  if (!bias || beta == 0) return {y};
  return {y + (beta == 1 ? bias : bias * beta)};
}

std::vector<std::int64_t> kernel_of(const Value& weight) {
  if (weight.rank() < 3) fail("[onnx] the weight {} has no kernel", to_string(weight.type()));
  return {weight.shape().begin() + 2, weight.shape().end()};
}

std::int64_t groups_of(const NodeCall& c) {
  std::int64_t groups = c.integer("group", 1);
  if (groups < 1 || groups > 1 << 24) fail("[onnx] group {} is out of range", groups);
  return groups;
}

Values convolved(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1);
  Sliding s = sliding_of(c, x, kernel_of(weight));
  pad_automatically(c, x, s);
  ConvOptions options{.strides = s.strides, .dilations = s.dilations, .pads = s.pads, .groups = groups_of(c)};
  return {c.has(2) ? conv(x, weight, c.in(2), options) : conv(x, weight, options)};
}

// Pads such that the result has these sizes; where even none are enough, more elements at the end.
void pad_to(const NodeCall& c, const Value& x, Sliding& s, std::vector<std::int64_t>& extra,
            const std::vector<std::int64_t>& sizes) {
  if (sizes.size() != s.rank())
    unsupported("output_shape with {} sizes is not supported: one a spatial dimension is", sizes.size());
  for (std::size_t i = 0; i < s.rank(); ++i) {
    if (sizes[i] < 1 || sizes[i] > std::int64_t{1} << 40)
      fail("[onnx] output_shape holds {}, which is out of range", sizes[i]);
    std::int64_t total = s.strides[i] * (x.shape()[static_cast<int>(i) + 2] - 1) + extra[i] +
                         (s.kernel[i] - 1) * s.dilations[i] + 1 - sizes[i];
    part_pads(s, i, std::max<std::int64_t>(0, total), s.auto_pad == "SAME_UPPER");
    if (total < 0) extra[i] -= total;
    if (extra[i] >= std::max(s.strides[i], s.dilations[i]))
      unsupported("output_shape {} of {} asks for more than a stride beyond the input", sizes[i], c.node().op);
  }
}

Values convolved_back(const NodeCall& c) {
  Value x = c.in(0), weight = c.in(1);
  Sliding s = sliding_of(c, x, kernel_of(weight));
  std::vector<std::int64_t> extra = c.integers("output_padding"), sizes = c.integers("output_shape");
  extra.resize(s.rank(), 0);
  if (sizes.empty() && s.auto_pad.starts_with("SAME"))
    for (std::size_t i = 0; i < s.rank(); ++i) sizes.push_back(x.shape()[static_cast<int>(i) + 2] * s.strides[i]);
  if (!sizes.empty()) pad_to(c, x, s, extra, sizes);
  ConvTransposeOptions options{
      .strides = s.strides, .dilations = s.dilations, .pads = s.pads, .groups = groups_of(c), .output_padding = extra};
  return {c.has(2) ? conv_transpose(x, weight, c.in(2), options) : conv_transpose(x, weight, options)};
}

constexpr Operator linear_table[] = {
    {"Conv", 1, 21, computes, convolved},
    {"ConvTranspose", 1, 21, computes, convolved_back},
    {"Gemm", 6, 21, computes, general_product},
    {"MatMul", 1, 21, computes, product},
};

}  // namespace

std::span<const Operator> linear_operators() { return linear_table; }

}  // namespace reprise::onnx
