// SPDX-License-Identifier: Apache-2.0
// Gradients of any function of values. Gradients are graphs too, so gradients of gradients work.
//
//     auto loss = [](const Value& w) { return sum(square(w)); };
//     Tensor g = grad(loss)(Tensor{1, 2, 3});                           // 2, 4, 6
//     auto [y, dw] = value_and_grad(loss)(w);
//     auto [dx, db] = grad(f, {0, 2})(x, w, b)                          // with respect to x and b
//     auto curvature = grad([&](const Value& w) { return sum(grad(loss)(w)); });
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reprise/graph.h"
#include "reprise/ops.h"

namespace reprise {

/// A function of any number of values with any number of results.
using Function = std::function<Values(const Values&)>;

/// Records the gradients of `wrt`: those of a scalar `y`, or of outputs weighted by `seeds` (of the outputs' types).
/// Zeros where nothing depends on a value. Throws Error where an op on the way has no gradient.
REPRISE_API Values gradients(const Value& y, const Values& wrt);
REPRISE_API Values gradients(const Values& outputs, const Values& seeds, const Values& wrt);

/// The graph with gradient nodes appended; its outputs are the scalar output it had, then d output / d input[i] for
/// each i.
REPRISE_API Graph gradient(const Graph& graph, std::span<const int> wrt);

/// What `vjp` gives.
struct Vjp {
  std::vector<Tensor> outputs;
  std::vector<Tensor>
      gradients;  // of every input; zeros where it does not matter, an empty tensor for integers and bool
};
/// Runs f and multiplies its Jacobian by `seeds` from the left, one seed an output.
REPRISE_API Vjp vjp(const Function& f, const std::vector<Tensor>& inputs, const std::vector<Tensor>& seeds);

struct GradientCheckOptions {
  std::uint64_t seed = 0;  // of directions and of the outputs' weights
  int directions = 3;      // random directions, for inputs of any size
  int elements = 200;      // inputs of up to so many elements are also checked element by element
  double step = 1e-5;      // relative to 1 + |x|
  double relative = 1e-5;  // tolerance, relative to the larger of both derivatives ...
  double absolute = 1e-7;  // ... and absolute
};
struct GradientCheck {
  bool ok = true;
  std::string why;           // the first derivative that differs, with both figures
  double largest_error = 0;  // in units of its tolerance
};
/// Compares f's gradient with central differences, all in f64 (floats are converted; integer inputs are held fixed).
///     auto check = check_gradient([](const Values& v) -> Values { return {tanh(v[0])}; }, {x});
REPRISE_API GradientCheck check_gradient(const Function& f, const std::vector<Tensor>& inputs,
                                         const GradientCheckOptions& options = {});

namespace detail {

inline Values as_values(Value v) { return {std::move(v)}; }
inline Values as_values(Values v) { return v; }
inline Values as_values(std::pair<Value, Value> v) { return {std::move(v.first), std::move(v.second)}; }
inline Values as_values(std::pair<Value, Values> v) {
  v.second.insert(v.second.begin(), std::move(v.first));
  return std::move(v.second);
}

// f, which takes `count` values one by one, as a Function.
template <class F, std::size_t... i>
Function spread(const F& f, std::index_sequence<i...>) {
  return [f](const Values& v) {
    if (v.size() != sizeof...(i))
      throw Error("[function] it takes " + std::to_string(sizeof...(i)) + " values, " + std::to_string(v.size()) +
                  " were given");
    return as_values(f(v[i]...));
  };
}

template <class T>
concept LikeValue = std::is_convertible_v<const T&, Value>;

// Whether F can be called with so many values.
template <class F, std::size_t count>
constexpr bool takes_values = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::is_invocable_v<const F&, decltype((void)i, std::declval<const Value&>())...>;
}
(std::make_index_sequence<count>());

// f as a Function of however many values it takes, one to eight.
template <class F, std::size_t count = 1>
Function as_function(F f) {
  static_assert(count <= 8, "a function of one to eight Values is needed");
  if constexpr (std::is_convertible_v<F, Function>)
    return f;
  else if constexpr (takes_values<F, count>)
    return spread(f, std::make_index_sequence<count>());
  else
    return as_function<F, count + 1>(std::move(f));
}

struct ValueAndGradients {
  Tensor value;
  std::vector<Tensor> gradients;
};
REPRISE_API ValueAndGradients run_gradient(const Function& f, std::span<const int> wrt, std::span<const Tensor> inputs);
REPRISE_API std::pair<Value, Values> record_gradient(const Function& f, std::span<const int> wrt, const Values& inputs);

// Called with tensors it computes; called with values it records.
template <class F>
class Gradients {
 public:
  Gradients(F f, std::vector<int> wrt) : f_(std::move(f)), wrt_(std::move(wrt)) {}

  template <LikeValue... Inputs>
  requires takes_values<F, sizeof...(Inputs)>
  auto operator()(const Inputs&... inputs) const {
    Function f = spread(f_, std::index_sequence_for<Inputs...>());
    if constexpr ((std::is_same_v<Inputs, Tensor> && ...)) {
      const Tensor tensors[] = {inputs...};
      auto [value, gradients] = run_gradient(f, wrt_, tensors);
      return std::pair(std::move(value), std::move(gradients));
    } else {
      return record_gradient(f, wrt_, Values{Value(inputs)...});
    }
  }

 private:
  F f_;
  std::vector<int> wrt_;
};

}  // namespace detail

/// The function that gives f's value, a scalar, and its gradient with respect to its first input.
template <class F>
auto value_and_grad(F f) {
  return [g = detail::Gradients<F>(std::move(f), {0})](
      const detail::LikeValue auto&... inputs) requires detail::takes_values<F, sizeof...(inputs)> {
    auto [value, gradients] = g(inputs...);
    return std::pair(std::move(value), std::move(gradients[0]));
  };
}
/// The same with respect to the inputs named by position: (value, vector of gradients).
template <class F>
auto value_and_grad(F f, std::vector<int> wrt) {
  return detail::Gradients<F>(std::move(f), std::move(wrt));
}
/// The function that gives the gradient of f, a scalar, with respect to its first input.
template <class F>
auto grad(F f) {
  return [g = value_and_grad(std::move(f))](
      const detail::LikeValue auto&... inputs) requires detail::takes_values<F, sizeof...(inputs)> {
    return g(inputs...).second;
  };
}
/// The same with respect to the inputs named by position: a vector of gradients.
template <class F>
auto grad(F f, std::vector<int> wrt) {
  return [g = value_and_grad(std::move(f), std::move(wrt))](
      const detail::LikeValue auto&... inputs) requires detail::takes_values<F, sizeof...(inputs)> {
    return g(inputs...).second;
  };
}

}  // namespace reprise
