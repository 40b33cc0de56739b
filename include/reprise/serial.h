// SPDX-License-Identifier: Apache-2.0
// How a value becomes bytes and comes back: Serial<T>. Numbers and trivially copyable structs, std::array, std::vector
// and std::basic_string of them, and matrices in the manner of Eigen need nothing. Nor does a range of your own that
// is contiguous, has resize(n), is not polymorphic, and has no room for anything but its elements: an object no larger
// than a pointer, its size() and its capacity(), or a struct with one member and no larger than a vector. All other
// types specialise the trait:
//
//   template <>
//   struct reprise::Serial<Wave> {
//     static constexpr Element element = Element::f64;                 // optional: lets lossy stores round the numbers
//     static std::vector<std::byte> save(const Wave& wave);            // or a span over the value's own memory
//     static Wave load(std::span<const std::byte> bytes);
//   };
//
// For a larger range that is nothing but its elements, one line does (further members would be lost):
//
//   template <>
//   struct reprise::Serial<Grid> : reprise::SerialElements<Grid> {};
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/checkpoint_errors.h"

namespace reprise {

/// What the bytes of a value are an array of.
enum class Element { bytes, f32, f64 };

namespace detail {

template <class T>
constexpr Element element_within() {
  if constexpr (std::same_as<T, float> || std::same_as<T, std::complex<float>>) return Element::f32;
  if constexpr (std::same_as<T, double> || std::same_as<T, std::complex<double>>) return Element::f64;
  if constexpr (std::ranges::contiguous_range<T>) return element_within<std::ranges::range_value_t<T>>();
  return Element::bytes;
}

// Pointers, views and most other ranges only look at their data, which would not be stored; so does what holds them.
// Into a struct nobody can look.
template <class T>
constexpr bool holds_its_data = !std::is_pointer_v<T> && !std::ranges::range<T>;
template <class E, std::size_t n>
constexpr bool holds_its_data<E[n]> = holds_its_data<E>;
template <class E, std::size_t n>
constexpr bool holds_its_data<std::array<E, n>> = holds_its_data<E>;
template <class E>
constexpr bool holds_its_data<std::optional<E>> = holds_its_data<E>;
template <class... E>
constexpr bool holds_its_data<std::variant<E...>> = (holds_its_data<E> && ...);

template <class T>
concept Flat = std::is_trivially_copyable_v<T> && std::default_initializable<T> && holds_its_data<T>;

// A matrix in the manner of Eigen that owns its elements: its PlainObject is itself, which that of a map, of an
// expression and of a class with further members is not.
template <class T>
concept OwningMatrix = !Flat<T> && std::default_initializable<T> && std::same_as<typename T::PlainObject, T> &&
                       Flat<typename T::Scalar> && requires(T matrix, const T& constant) {
  { constant.data() } -> std::convertible_to<const typename T::Scalar*>;
  matrix.resize(constant.rows(), constant.cols());
  matrix.resize(T::RowsAtCompileTime, T::ColsAtCompileTime);
};

struct Anything {
  template <class T>
  operator T() const;
};

// What a range has to remember of its elements: where they are, how many, and for how many there is room.
template <class T>
constexpr std::size_t bookkeeping_bytes() {
  constexpr std::size_t two = sizeof(void*) + sizeof(std::ranges::range_size_t<T>);
  if constexpr (requires(const T& range) { range.capacity(); })
    return two + sizeof(std::declval<const T&>().capacity());
  else if constexpr (std::is_aggregate_v<T> && !requires { T{Anything{}, Anything{}}; })
    return sizeof(void*) + 2 * sizeof(std::size_t);
  return two;
}

// A range with no room for anything that its elements do not tell. One that is trivially copyable does not own them.
template <class T>
concept PlainRange =
    std::ranges::contiguous_range<T> && std::ranges::contiguous_range<const T> && std::ranges::sized_range<const T> &&
    std::default_initializable<T> && !std::is_trivially_copyable_v<T> &&
    !std::is_polymorphic_v<T> && Flat<std::ranges::range_value_t<T>> && !OwningMatrix<T> &&
    requires(T range, std::size_t n) {
  range.resize(n);
}
&&sizeof(T) <= bookkeeping_bytes<T>();

}  // namespace detail

template <class T>
struct Serial;

template <detail::Flat T>
struct Serial<T> {
  static constexpr Element element = detail::element_within<T>();
  static constexpr bool has_padding = !std::has_unique_object_representations_v<T>;
  static std::span<const std::byte> save(const T& value) { return std::as_bytes(std::span<const T, 1>(&value, 1)); }
  static T load(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof(T));
    return value;
  }
};

/// The trait of a contiguous range that is nothing but its elements: of any length with resize(n), else of one length.
template <std::ranges::contiguous_range T>
struct SerialElements {
  using Value = std::ranges::range_value_t<T>;
  static_assert(detail::Flat<Value>,
                "the elements of this range are not trivially copyable, or only look at their data");

  static constexpr Element element = detail::element_within<Value>();
  static constexpr bool has_padding = !std::has_unique_object_representations_v<Value>;
  static std::span<const std::byte> save(const T& value) {
    return std::as_bytes(std::span(std::ranges::data(value), std::ranges::size(value)));
  }
  static T load(std::span<const std::byte> bytes) {
    T value;
    if constexpr (requires { value.resize(bytes.size()); }) value.resize(bytes.size() / sizeof(Value));
    std::size_t room = std::ranges::size(value) * sizeof(Value);
    if (room != bytes.size())
      throw DimensionMismatch("[serial] a range has another size than was stored, after resize or by its type",
                              static_cast<std::int64_t>(bytes.size()), static_cast<std::int64_t>(room));
    if (!bytes.empty()) std::memcpy(static_cast<void*>(std::ranges::data(value)), bytes.data(), bytes.size());
    return value;
  }
};

template <detail::Flat E, class Allocator>
requires(!std::same_as<E, bool>) struct Serial<std::vector<E, Allocator>> : SerialElements<std::vector<E, Allocator>> {
};
template <detail::Flat C, class Traits, class Allocator>
struct Serial<std::basic_string<C, Traits, Allocator>> : SerialElements<std::basic_string<C, Traits, Allocator>> {};

template <detail::PlainRange T>
struct Serial<T> : SerialElements<T> {};

/// Rows and columns go before the elements where both are free, and such a matrix is no mere array of numbers: lossy
/// stores refuse it. Vectors, and matrices of which one side is fixed, are.
template <detail::OwningMatrix T>
struct Serial<T> {
  using Scalar = typename T::Scalar;
  static constexpr std::int64_t fixed_rows = T::RowsAtCompileTime, fixed_cols = T::ColsAtCompileTime;  // below 0: free
  static constexpr bool has_shape = fixed_rows < 0 && fixed_cols < 0;

  static constexpr Element element = has_shape ? Element::bytes : detail::element_within<Scalar>();
  static constexpr bool has_padding =
      detail::element_within<Scalar>() == Element::bytes && !std::has_unique_object_representations_v<Scalar>;
  static std::span<const std::byte> elements(const T& matrix) {
    return std::as_bytes(std::span(matrix.data(), static_cast<std::size_t>(matrix.rows() * matrix.cols())));
  }
  static auto save(const T& matrix) {
    std::span<const std::byte> values = elements(matrix);
    if constexpr (has_shape) {
      std::array<std::int64_t, 2> shape{matrix.rows(), matrix.cols()};
      std::vector<std::byte> bytes(sizeof shape + values.size());
      std::memcpy(bytes.data(), shape.data(), sizeof shape);
      if (!values.empty()) std::memcpy(bytes.data() + sizeof shape, values.data(), values.size());
      return bytes;
    } else {
      return values;
    }
  }
  static T load(std::span<const std::byte> bytes) {
    std::array<std::int64_t, 2> shape{fixed_rows, fixed_cols};
    if constexpr (has_shape) {
      std::memcpy(shape.data(), bytes.data(), sizeof shape);
      bytes = bytes.subspan(sizeof shape);
    }
    auto count = static_cast<std::int64_t>(bytes.size() / sizeof(Scalar));
    if (shape[0] < 0) shape[0] = count / std::max<std::int64_t>(fixed_cols, 1);
    if (shape[1] < 0) shape[1] = count / std::max<std::int64_t>(fixed_rows, 1);
    T matrix;
    matrix.resize(shape[0], shape[1]);
    if (!bytes.empty()) std::memcpy(static_cast<void*>(matrix.data()), bytes.data(), bytes.size());
    return matrix;
  }
};

/// A value that stores can hold.
template <class T>
concept Storable = requires(const T& value, std::span<const std::byte> bytes) {
  { Serial<T>::save(value) } -> std::convertible_to<std::span<const std::byte>>;
  { Serial<T>::load(bytes) } -> std::convertible_to<T>;
};

namespace detail {

template <class T>
constexpr bool check_storable() {
  static_assert(Storable<T>,
                "this type does not say how it is stored: specialise reprise::Serial for it, by save and load, or as "
                "reprise::SerialElements if it is a contiguous range and nothing but its elements");
  return true;
}

}  // namespace detail

/// The bytes a value has when nothing is rounded or compressed.
template <class T>
std::int64_t stored_bytes(const T& value) {
  static_assert(detail::check_storable<T>());
  auto&& saved = Serial<T>::save(value);
  return static_cast<std::int64_t>(std::span<const std::byte>(saved).size());
}

namespace detail {

template <Storable T>
constexpr Element element_of() {
  if constexpr (requires { Serial<T>::element; }) return Serial<T>::element;
  return Element::bytes;
}

// A container of values that cannot be compared has an operator== all the same, which does not compile.
template <class T>
constexpr bool has_equality() {
  if constexpr (std::ranges::range<const T>) {
    using Value = std::ranges::range_value_t<const T>;
    if constexpr (!std::same_as<Value, T>) return has_equality<Value>() && std::equality_comparable<T>;
  }
  return std::equality_comparable<T>;
}

// Whether the bytes that are stored tell values apart: those of a struct may have padding between its members.
template <class T>
constexpr bool has_telling_bytes() {
  if constexpr (!Storable<T>)
    return false;
  else if constexpr (element_of<T>() != Element::bytes)
    return true;
  else if constexpr (requires { Serial<T>::has_padding; })
    return !Serial<T>::has_padding;
  else
    return true;
}

template <class T>
concept Comparable = has_equality<T>() || has_telling_bytes<T>();

// Numbers by their bits, so that NaN equals itself and -0 differs from 0.
template <Comparable T>
bool same_value(const T& a, const T& b) {
  constexpr bool has_numbers = []() {
    if constexpr (Storable<T>) return element_of<T>() != Element::bytes || OwningMatrix<T>;
    return false;
  }();
  if constexpr (has_equality<T>() && !(has_numbers && has_telling_bytes<T>())) {
    if constexpr (std::is_trivially_copyable_v<T>)
      if (std::memcmp(&a, &b, sizeof(T)) == 0) return true;
    return a == b;
  } else {
    auto&& left = Serial<T>::save(a);
    auto&& right = Serial<T>::save(b);
    std::span<const std::byte> x(left), y(right);
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  }
}

}  // namespace detail
}  // namespace reprise
