// SPDX-License-Identifier: Apache-2.0
// Values that are known while recording: constants, shapes, ranges.
#include <algorithm>
#include <cmath>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

template <class T>
Value list_of(const std::vector<T>& numbers) {
  return Tensor::from(numbers, {static_cast<std::int64_t>(numbers.size())});
}

Values constant_of(const NodeCall& c) {
  if (c.has_attribute("value")) return {c.tensor("value")};
  if (c.has_attribute("value_float")) return {Tensor::scalar(c.real("value_float", 0), DType::f32)};
  if (c.has_attribute("value_int")) return {Tensor::from(std::vector{c.integer("value_int", 0)}, {})};
  if (c.has_attribute("value_ints")) return {list_of(c.integers("value_ints"))};
  if (!c.has_attribute("value_floats")) unsupported("a constant of this kind is not supported: only numbers are");
  std::vector<double> numbers = c.reals("value_floats");
  return {list_of(std::vector<float>(numbers.begin(), numbers.end()))};
}

std::int32_t tensor_element(const NodeCall& c, std::int32_t otherwise) {
  for (const NodeAttribute& a : c.node().attributes) {
    if (const auto* t = std::get_if<FileTensor>(&a.value)) return t->data_type;
    if (a.name == "value_int" || a.name == "value_ints") return element_int64;
  }
  return otherwise;
}
std::int32_t constant_element(const NodeCall& c) { return tensor_element(c, element_float); }

Values filled(const NodeCall& c) {
  Shape shape = checked_shape(c, c.integers_of(0));
  Tensor value = c.has_attribute("value") ? c.tensor("value") : Tensor::scalar(0);
  if (value.elements() != 1) fail("[onnx] the value of ConstantOfShape has {} numbers: it takes one", value.elements());
  return {expand(Value(value.reshape({})), shape)};
}

Values shape_of(const NodeCall& c) {
  std::vector<std::int64_t> sizes = c.in(0).shape().sizes();
  auto rank = static_cast<std::int64_t>(sizes.size());
  auto clamped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  std::int64_t from = clamped(c.integer("start", 0)), to = std::max(from, clamped(c.integer("end", rank)));
  return {list_of(std::vector<std::int64_t>(sizes.begin() + from, sizes.begin() + to))};
}

Values size_of_value(const NodeCall& c) { return {Tensor::from(std::vector{c.in(0).type().elements()}, {})}; }

Values range(const NodeCall& c) {
  double start = c.real_of(0), stop = c.real_of(1), step = c.real_of(2);
  double count = std::ceil((stop - start) / step);
  if (step == 0 || !(count * 8 <= static_cast<double>(most_folded_bytes)))
    fail("[onnx] a range from {} to {} by {} has too many numbers", start, stop, step);
  return {arange(start, stop, step, c.in(0).dtype())};
}

Values eye_like(const NodeCall& c) {
  const Shape& shape = c.in(0).shape();
  if (shape.rank() != 2 || shape.elements() > most_folded_bytes / 8)
    unsupported("{} is no matrix of moderate size", to_string(c.in(0).type()));
  std::int64_t k = c.integer("k", 0), element = c.integer("dtype", c.data_type(0));
  std::vector<double> numbers(static_cast<std::size_t>(shape.elements()), 0);
  for (std::int64_t row = 0; row < shape[0]; ++row)
    if (k > -shape[0] - 1 && k < shape[1] && row + k >= 0 && row + k < shape[1])
      numbers[static_cast<std::size_t>(row * shape[1] + row + k)] = 1;
  return {Tensor::from(numbers, shape).to(dtype_of_element(static_cast<std::int32_t>(element)))};
}

Values einsum_of(const NodeCall& c) { return {einsum(c.text("equation", ""), c.all())}; }

constexpr Operator constant_table[] = {
    {"Constant", 1, 21, moves, constant_of, 0, constant_element},
    {"ConstantOfShape", 9, 21, moves, filled, 0, constant_element},
    {"Einsum", 12, 21, computes, einsum_of},
    {"EyeLike", 9, 21, tells, eye_like},
    {"Range", 11, 21, computes, range, 0b111},
    {"Shape", 1, 21, tells, shape_of},
    {"Size", 1, 21, tells, size_of_value},
};

}  // namespace

std::span<const Operator> constant_operators() { return constant_table; }

}  // namespace reprise::onnx
