// SPDX-License-Identifier: Apache-2.0
// Element-wise loops of up to three arrays with NumPy's broadcasting: vectorised, on several threads once the arrays
// are long. A function of numbers becomes an ElementLoop over memory that lies in a row; walking the rows of a
// broadcast is one function for all loops, so that an op costs little to compile. An output may be one of the inputs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "kernels/simd.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

/// Elements worth a thread of their own.
constexpr std::int64_t elementwise_grain = 1 << 15;

constexpr int most_arrays = 3;

/// y[i] = f(x[i]...) for i in 0..count, with f and the types of x and y hidden.
struct ElementLoop {
  void (*run)(const void* f, const void* const* in, void* out, std::int64_t count) = nullptr;
  std::array<int, most_arrays> in_bytes{};  // of an element
  int out_bytes = 0;
  alignas(double) std::byte f[24]{};

  void operator()(const void* const* in, void* out, std::int64_t count) const { run(f, in, out, count); }
};

namespace detail {

template <class U, class F, class... T>
void each_element(F f, std::int64_t count, U* y, const T*... x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<U>(f(x[i]...));
}

}  // namespace detail

/// The loop of a function from T... to U, which may hold a few numbers.
template <class U, class... T, class F>
ElementLoop element_loop(F f) {
  static_assert(sizeof(F) <= sizeof(ElementLoop::f) && std::is_trivially_copyable_v<F>);
  ElementLoop loop{.in_bytes = {int{sizeof(T)}...}, .out_bytes = int{sizeof(U)}};
  ::new (static_cast<void*>(loop.f)) F(f);
  loop.run = [](const void* g, const void* const* in, void* out, std::int64_t count) {
    [=]<std::size_t... k>(std::index_sequence<k...>) {
      using Lane = std::conditional_t<(std::is_same_v<T, float> || ...), float, U>;
      simd_for<Lane>([=] {
        detail::each_element(*static_cast<const F*>(g), count, static_cast<U*>(out), static_cast<const T*>(in[k])...);
      });
    }
    (std::index_sequence_for<T...>());
  };
  return loop;
}

/// How arrays are read to fill one of `elements`: `rows` rows of `length`. Same shapes are one row, a scalar stays, a
/// row vector starts again with every row, a column stays within a row.
struct Broadcast {
  std::int64_t elements = 0, rows = 1, length = 1;
  int arrays = 0;
  Shape outer;                                   // dimensions of the rows
  std::array<Shape, most_arrays> outer_strides;  // of each array over `outer`
  std::array<bool, most_arrays> moves{};         // the array is read along a row; else it stays at one element
};

Broadcast plan_broadcast(std::initializer_list<Shape> inputs, const Shape& out);

/// Runs the loop over all rows, in pieces that do not depend on the number of threads.
void run_elements(const Broadcast& plan, const ElementLoop& loop, std::span<const void* const> in, void* out);

/// The same over `count` elements of one array.
void run_elements(std::int64_t count, const ElementLoop& loop, const void* in, void* out);

}  // namespace reprise::kernels
