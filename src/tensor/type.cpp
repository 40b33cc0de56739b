// SPDX-License-Identifier: Apache-2.0
// Element types, shapes and types, and their text forms.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "reprise/tensor.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

struct DTypeRow {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<DTypeRow, 7> dtypes = {
    {{"f32", 4}, {"f64", 8}, {"i32", 4}, {"i64", 8}, {"bool", 1}, {"f16", 2}, {"bf16", 2}}};

}  // namespace

std::string_view to_string(DType dtype) { return dtypes.at(static_cast<std::size_t>(dtype)).name; }

std::int64_t size_of(DType dtype) { return dtypes[static_cast<std::size_t>(dtype)].bytes; }

DType parse_dtype(std::string_view name) {
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    if (dtypes[i].name == name) return static_cast<DType>(i);
  fail("'{}' is not a dtype: use f32, f64, i32, i64, bool, f16 or bf16", name);
}

void expect_holds(std::string_view who, DType dtype, double value) {
  if (is_float(dtype)) return;
  auto holds = [value](std::int64_t low, std::int64_t high) {
    double past = static_cast<double>(high / 2 + 1) * 2;  // high is odd: exact where high itself is not
    return value >= static_cast<double>(low) && value < past && std::trunc(value) == value;
  };
  std::int64_t low = 0, high = 1;
  if (dtype == DType::i32)
    low = std::numeric_limits<std::int32_t>::min(), high = std::numeric_limits<std::int32_t>::max();
  if (dtype == DType::i64)
    low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  if (!holds(low, high))
    fail(
        "[{}] {} is not among the whole numbers from {} to {} that {} holds: cast to f32 or f64 first, or give another",
        who, value, low, high, to_string(dtype));
}

void Shape::refuse(std::int64_t size) const {
  if (rank_ == max_rank) fail("[shape] more than {0} dimensions: reshape to {0} or fewer", max_rank);
  fail("[shape] size {} of dimension {} is negative: give 0 or more", size, rank_);
}

std::int64_t Shape::elements() const {
  std::int64_t count = 1;
  bool overflows = false;
  for (std::int64_t size : *this) {
    if (size == 0) return 0;
    overflows |= __builtin_mul_overflow(count, size, &count);
  }
  // Eight bytes an element must still be countable.
  if (overflows || count > std::numeric_limits<std::int64_t>::max() / 8)
    fail("[shape] {} has too many elements: their bytes must be countable in 63 bits", to_string(*this));
  return count;
}

Shape Shape::strides() const {
  Shape strides = *this;
  std::int64_t stride = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    stride *= (*this)[axis];
  }
  return strides;
}

bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a, b); }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::int64_t size : shape) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  return text + "]";
}

std::string to_string(const Type& type) { return std::string(to_string(type.dtype)) + to_string(type.shape); }

Type parse_type(std::string_view text) {
  auto bracket = text.find('[');
  if (bracket == std::string_view::npos || text.back() != ']') fail("'{}' is not a type: write e.g. f32[2,3]", text);
  Type type{parse_dtype(text.substr(0, bracket)), {}};
  const char* at = text.data() + bracket + 1;
  const char* end = text.data() + text.size() - 1;
  while (at < end) {
    std::int64_t size = 0;
    auto [rest, error] = std::from_chars(at, end, size);
    bool ended = rest == end, more = rest + 1 < end && *rest == ',';
    if (error != std::errc() || !(ended || more)) fail("'{}' is not a type: write e.g. f32[2,3]", text);
    type.shape.push_back(size);
    at = ended ? end : rest + 1;
  }
  type.elements();  // refuses what cannot be counted
  return type;
}

}  // namespace reprise
