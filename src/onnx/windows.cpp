// SPDX-License-Identifier: Apache-2.0
#include "onnx/windows.h"

#include <algorithm>

namespace reprise::onnx {
namespace {

constexpr std::int64_t widest_window = 1 << 24;

std::vector<std::int64_t> window_numbers(const NodeCall& c, std::string_view name, std::size_t count,
                                         std::int64_t least, std::int64_t otherwise) {
  std::vector<std::int64_t> numbers = c.integers(name);
  if (numbers.empty()) numbers.assign(count, otherwise);
  if (numbers.size() != count) fail("[onnx] {} has {} numbers, {} are needed", name, numbers.size(), count);
  for (std::int64_t n : numbers) {
    if (n < 0 && least == 0) unsupported("negative {} are not supported: slice before it", name);
    if (n < least || n > widest_window) fail("[onnx] {} holds {}, which is out of range", name, n);
  }
  return numbers;
}

}  // namespace

Sliding sliding_of(const NodeCall& c, const Value& x, std::vector<std::int64_t> kernel) {
  if (x.rank() < 3) fail("[onnx] {} takes [n, channels, spatial...], not {}", c.node().op, to_string(x.type()));
  auto rank = static_cast<std::size_t>(x.rank()) - 2;
  if (rank > 3) unsupported("{} spatial dimensions are not supported: one to three are", rank);
  for (int i = 2; i < x.rank(); ++i)
    if (x.shape()[i] > std::int64_t{1} << 31) fail("[onnx] {} is too large for {}", to_string(x.type()), c.node().op);
  Sliding s;
  bool has_kernel = !kernel.empty();
  if (has_kernel && kernel.size() != rank)
    fail("[onnx] {} moves a weight of {} spatial dimensions over {}", c.node().op, kernel.size(), to_string(x.type()));
  s.kernel = has_kernel && !c.has_attribute("kernel_shape") ? kernel : window_numbers(c, "kernel_shape", rank, 1, 0);
  if (has_kernel && s.kernel != kernel) fail("[onnx] kernel_shape contradicts the weight of {}", c.node().op);
  s.strides = window_numbers(c, "strides", rank, 1, 1);
  s.dilations = window_numbers(c, "dilations", rank, 1, 1);
  s.pads = window_numbers(c, "pads", 2 * rank, 0, 0);
  s.auto_pad = c.text("auto_pad", "NOTSET");
  if (s.auto_pad != "NOTSET" && s.auto_pad != "VALID" && s.auto_pad != "SAME_UPPER" && s.auto_pad != "SAME_LOWER")
    unsupported("auto_pad=\"{}\" is not supported", s.auto_pad);
  if (s.auto_pad != "NOTSET") std::ranges::fill(s.pads, 0);
  return s;
}

void part_pads(Sliding& s, std::size_t i, std::int64_t total, bool more_at_end) {
  std::int64_t less = total / 2, more = total - less;
  s.pads[i] = more_at_end ? less : more;
  s.pads[i + s.rank()] = more_at_end ? more : less;
}

void pad_automatically(const NodeCall&, const Value& x, Sliding& s) {
  if (!s.auto_pad.starts_with("SAME")) return;
  for (std::size_t i = 0; i < s.rank(); ++i) {
    std::int64_t size = x.shape()[static_cast<int>(i) + 2], count = (size + s.strides[i] - 1) / s.strides[i];
    std::int64_t reach = (count - 1) * s.strides[i] + (s.kernel[i] - 1) * s.dilations[i] + 1;
    part_pads(s, i, std::max<std::int64_t>(0, reach - size), s.auto_pad == "SAME_UPPER");
  }
}

}  // namespace reprise::onnx
