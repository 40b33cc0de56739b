// SPDX-License-Identifier: Apache-2.0
// Tensors: typed, row-major, contiguous views of shared storage in which every byte is metered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reprise/base.h"
#include "reprise/export.h"
#include "reprise/half.h"

namespace reprise {

/// Element types. f16 and bf16 are for storage: cast to f32 to compute.
enum class DType : std::uint8_t { f32, f64, i32, i64, boolean, f16, bf16 };

/// "f32", "bool", ...
REPRISE_API std::string_view to_string(DType dtype);
/// The dtype of that name; throws Error on any other.
REPRISE_API DType parse_dtype(std::string_view name);
REPRISE_API std::int64_t size_of(DType dtype);
constexpr bool is_float(DType d) { return d == DType::f32 || d == DType::f64 || d == DType::f16 || d == DType::bf16; }

// clang-format off
template <class T> struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <> struct DTypeOf<f16> { static constexpr DType value = DType::f16; };
template <> struct DTypeOf<bf16> { static constexpr DType value = DType::bf16; };
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;
// clang-format on

/// Sizes of the dimensions, outermost first. Held in place: no allocation.
class Shape {
 public:
  static constexpr int max_rank = 12;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes) {
    for (std::int64_t size : sizes) push_back(size);
  }

  int rank() const { return rank_; }
  /// The number of elements; 1 for rank 0.
  REPRISE_API std::int64_t elements() const;
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t& operator[](int axis) { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t back() const { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }
  const std::int64_t* begin() const { return sizes_.data(); }
  const std::int64_t* end() const { return sizes_.data() + rank_; }
  std::vector<std::int64_t> sizes() const { return {begin(), end()}; }
  void push_back(std::int64_t size) {
    if (rank_ == max_rank || size < 0) refuse(size);
    sizes_[static_cast<std::size_t>(rank_++)] = size;
  }
  /// Row-major strides in elements.
  REPRISE_API Shape strides() const;

  REPRISE_API friend bool operator==(const Shape& a, const Shape& b);

 private:
  [[noreturn]] REPRISE_API void refuse(std::int64_t size) const;

  std::array<std::int64_t, max_rank> sizes_{};
  int rank_ = 0;
};

/// "[2,3]"
REPRISE_API std::string to_string(const Shape& shape);

/// What a value is before it has numbers.
struct Type {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
  friend bool operator==(const Type&, const Type&) = default;
};

/// "f32[2,3]"
REPRISE_API std::string to_string(const Type& type);
/// Reads what to_string prints; throws Error on anything else.
REPRISE_API Type parse_type(std::string_view text);

/// Bytes that tensors hold now, and the most they held at once.
struct MemoryUse {
  std::int64_t live_bytes = 0;
  std::int64_t peak_bytes = 0;
};

/// Of all tensors in the process, since it began or since the last reset_memory_peak().
REPRISE_API MemoryUse memory_use();
REPRISE_API void reset_memory_peak();

/// Meters the tensors that this thread allocates while the scope is open, wherever they die. Scopes nest.
///   MemoryScope scope;  run();  scope.use().peak_bytes
class REPRISE_API MemoryScope {
 public:
  MemoryScope();
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  MemoryUse use() const;

  struct Meter;

 private:
  std::shared_ptr<Meter> meter_;
};

/// An element of a literal. A type of its own, so that Tensor{{1}, {2}} is a matrix: its rows are no numbers.
struct Number {
  double value;
  template <class T>
  requires std::is_arithmetic_v<T> Number(T x) : value(static_cast<double>(x)) {}
};

/// Numbers: a dtype, a shape, and 64-byte aligned row-major memory that copies of the tensor share.
class REPRISE_API Tensor {
 public:
  /// An empty f32[0].
  Tensor() : type_{DType::f32, {0}} {}
  /// f32[n]: Tensor{1, 2, 3}
  Tensor(std::initializer_list<Number> values);
  /// f32[rows, columns]: Tensor{{1, 2}, {3, 4}}
  Tensor(std::initializer_list<std::initializer_list<double>> rows);

  /// Uninitialised memory.
  static Tensor empty(const Type& type);
  static Tensor zeros(const Type& type);
  static Tensor full(const Type& type, double value);
  static Tensor scalar(double value, DType dtype = DType::f32) { return full({dtype, {}}, value); }
  /// Copies `values`, which must be as many as `shape` has elements.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  /// Looks at memory somebody else owns; `owner` is kept as long as a tensor shares it.
  static Tensor over(void* data, const Type& type, std::shared_ptr<void> owner);

  const Type& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  DType dtype() const { return type_.dtype; }
  std::int64_t elements() const { return type_.elements(); }
  std::int64_t bytes() const { return type_.bytes(); }
  void* data() const { return data_; }
  /// Whether anybody else holds the memory.
  bool is_shared() const { return owner_.use_count() > 1; }

  /// The elements in row-major order; T must be the tensor's dtype.
  template <class T>
  std::span<T> span() const;
  /// The elements converted to T.
  template <class T>
  std::vector<T> to_vector() const;
  /// The only element of a tensor that has one.
  double item() const;

  /// The same memory under another shape with as many elements.
  Tensor reshape(const Shape& shape) const;
  /// Memory of its own, the same numbers.
  Tensor clone() const;
  /// Converted element by element: to an integer toward zero, to bool by "is not zero", to f16 and bf16 to nearest
  /// even.
  Tensor to(DType dtype) const;

 private:
  Tensor(Type type, void* data, std::shared_ptr<void> owner);
  void require(DType dtype) const;

  Type type_;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

/// Same type and the same bytes; tells -0.0 from 0.0 and finds a NaN equal to itself.
REPRISE_API bool same_bits(const Tensor& a, const Tensor& b);

/// Prints as NumPy does.
REPRISE_API std::string to_string(const Tensor& tensor);
REPRISE_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  Tensor t = empty({dtype_of<T>, shape});
  if (static_cast<std::int64_t>(values.size()) != t.elements())
    throw Error("[Tensor::from] " + std::to_string(values.size()) + " values do not fill shape " + to_string(shape));
  T* out = static_cast<T*>(t.data());
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return t;
}

// clang-format off
template <class T> std::span<T> Tensor::span() const {
  require(dtype_of<T>);
  return {static_cast<T*>(data_), static_cast<std::size_t>(elements())};
}
template <class T> std::vector<T> Tensor::to_vector() const {
  Tensor t = to(dtype_of<T>);
  auto values = t.span<T>();
  return {values.begin(), values.end()};
}
// clang-format on

}  // namespace reprise
