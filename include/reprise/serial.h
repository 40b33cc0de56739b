// SPDX-License-Identifier: Apache-2.0
// How a value becomes bytes and comes back: Serial<T>. Numbers, trivially copyable structs and contiguous containers of
// them (std::vector, std::array, std::string …) need nothing; a type of your own specialises the trait, and so does a
// container of your own that holds more than its elements:
//
//   template <>
//   struct reprise::Serial<Wave> {
//     static constexpr Element element = Element::f64;                 // optional: lets lossy stores round the numbers
//     static std::vector<std::byte> save(const Wave& wave);            // or a span over the value's own memory
//     static Wave load(std::span<const std::byte> bytes);
//   };
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

// A pointer or a view is trivially copyable too, but what it looks at would not be stored.
template <class T>
concept Flat =
    std::is_trivially_copyable_v<T> && std::default_initializable<T> && !std::is_pointer_v<T> && !std::ranges::view<T>;

// The size of the standard container that T is, or derives from.
template <class E, class A>
std::integral_constant<std::size_t, sizeof(std::vector<E, A>)> container_size(const std::vector<E, A>*);
template <class C, class Traits, class A>
std::integral_constant<std::size_t, sizeof(std::basic_string<C, Traits, A>)> container_size(
    const std::basic_string<C, Traits, A>*);

// The members that a derived class adds would be lost.
template <class T>
concept HasElementsAlone = !requires(const T* t) {
  container_size(t);
}
|| decltype(container_size(std::declval<const T*>()))::value == sizeof(T);

template <class T>
concept FlatContainer =
    !Flat<T> && HasElementsAlone<T> && std::ranges::contiguous_range<T> && std::default_initializable<T> &&
    Flat<std::ranges::range_value_t<T>> && requires(T t, std::size_t n) {
  t.resize(n);
};

}  // namespace detail

template <class T>
struct Serial;

template <detail::Flat T>
struct Serial<T> {
  static constexpr Element element = detail::element_within<T>();
  static std::span<const std::byte> save(const T& value) { return std::as_bytes(std::span<const T, 1>(&value, 1)); }
  static T load(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof(T));
    return value;
  }
};

template <detail::FlatContainer T>
struct Serial<T> {
  static constexpr Element element = detail::element_within<T>();
  static std::span<const std::byte> save(const T& value) {
    return std::as_bytes(std::span(std::ranges::data(value), std::ranges::size(value)));
  }
  static T load(std::span<const std::byte> bytes) {
    T value;
    value.resize(bytes.size() / sizeof(std::ranges::range_value_t<T>));
    if (!bytes.empty()) std::memcpy(static_cast<void*>(std::ranges::data(value)), bytes.data(), bytes.size());
    return value;
  }
};

/// A value that stores can hold.
template <class T>
concept Storable = requires(const T& value, std::span<const std::byte> bytes) {
  { Serial<T>::save(value) } -> std::convertible_to<std::span<const std::byte>>;
  { Serial<T>::load(bytes) } -> std::convertible_to<T>;
};

/// The bytes a value has when nothing is rounded or compressed.
template <Storable T>
std::int64_t stored_bytes(const T& value) {
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
  if constexpr (Storable<T>) return element_of<T>() != Element::bytes || !(Flat<T> || FlatContainer<T>);
  return false;
}

template <class T>
concept Comparable = has_equality<T>() || has_telling_bytes<T>();

// Numbers by their bits, so that NaN equals itself and -0 differs from 0.
template <Comparable T>
bool same_value(const T& a, const T& b) {
  constexpr bool has_numbers = []() {
    if constexpr (Storable<T>) return element_of<T>() != Element::bytes;
    return false;
  }();
  if constexpr (has_equality<T>() && !has_numbers) {
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
