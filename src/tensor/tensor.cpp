// SPDX-License-Identifier: Apache-2.0
// Making, converting and comparing tensors.
#include "reprise/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/dispatch.h"
#include "tensor/storage.h"

namespace reprise {

Tensor::Tensor(Type type, void* data, std::shared_ptr<void> owner)
    : type_(std::move(type)), data_(data), owner_(std::move(owner)) {}

Tensor::Tensor(std::initializer_list<Number> values)
    : Tensor(empty({DType::f32, {static_cast<std::int64_t>(values.size())}})) {
  std::ranges::transform(values, span<float>().begin(), [](Number x) { return static_cast<float>(x.value); });
}

Tensor::Tensor(std::initializer_list<std::initializer_list<double>> rows) {
  std::size_t columns = rows.size() ? rows.begin()->size() : 0;
  *this = empty({DType::f32, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(columns)}});
  auto out = span<float>().begin();
  for (const auto& row : rows) {
    if (row.size() != columns)
      fail("[Tensor] rows of {} and {} numbers: all rows must be equally long", columns, row.size());
    out = std::ranges::transform(row, out, [](double x) { return static_cast<float>(x); }).out;
  }
}

Tensor Tensor::empty(const Type& type) {
  auto owner = allocate(type.bytes());
  void* data = owner.get();
  return Tensor(type, data, std::move(owner));
}

Tensor Tensor::zeros(const Type& type) {
  Tensor t = empty(type);
  if (t.bytes() > 0) std::memset(t.data(), 0, static_cast<std::size_t>(t.bytes()));
  return t;
}

Tensor Tensor::full(const Type& type, double value) {
  expect_holds("Tensor::full", type.dtype, value);
  Tensor t = empty(type);
  with_dtype(type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::ranges::fill(t.span<T>(), convert<T>(value));
  });
  return t;
}

Tensor Tensor::over(void* data, const Type& type, std::shared_ptr<void> owner) {
  return Tensor(type, data, std::move(owner));
}

void Tensor::require(DType dtype) const {
  if (dtype != type_.dtype)
    fail("[tensor] this is {}, not {}: convert it with to()", to_string(type_), to_string(dtype));
}

double Tensor::item() const {
  if (elements() != 1) fail("[item] {} has {} elements, not one", to_string(type_), elements());
  switch (dtype()) {
    case DType::f32: return static_cast<double>(span<float>()[0]);
    case DType::f64: return span<double>()[0];
    case DType::i32: return static_cast<double>(span<std::int32_t>()[0]);
    case DType::i64: return static_cast<double>(span<std::int64_t>()[0]);
    case DType::boolean: return span<bool>()[0] ? 1 : 0;
    case DType::f16: return static_cast<double>(static_cast<float>(span<f16>()[0]));
    case DType::bf16: return static_cast<double>(static_cast<float>(span<bf16>()[0]));
  }
  fail("[internal] a dtype without a name");
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.elements() != elements())
    fail("[reshape] {} does not have the elements of {}", to_string(type_), to_string(shape));
  return Tensor({type_.dtype, shape}, data_, owner_);
}

Tensor Tensor::clone() const {
  Tensor copy = empty(type_);
  if (bytes() > 0) std::memcpy(copy.data_, data_, static_cast<std::size_t>(bytes()));
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == type_.dtype) return *this;
  Tensor result = empty({dtype, type_.shape});
  with_dtype(type_.dtype, [&](auto from) {
    with_dtype(dtype, [&](auto to) {
      using From = typename decltype(from)::type;
      using To = typename decltype(to)::type;
      std::ranges::transform(span<From>(), result.span<To>().begin(), [](From x) { return convert<To>(x); });
    });
  });
  return result;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.bytes())) == 0;
}

}  // namespace reprise
