// SPDX-License-Identifier: Apache-2.0
// Collected gradients: clearing and clipping. Clipping changes them in place, so that it needs no memory; a gradient
// that the caller holds too is cloned before.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "execute/tape_state.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

// Calls f(double) for each element of a float tensor.
template <class F>
void for_each_of(const Tensor& t, F&& f) {
  with_dtype(t.dtype(), [&](auto tag) {
    for (auto x : t.span<typename decltype(tag)::type>()) f(convert<double>(x));
  });
}

// Replaces each element by f(element).
template <class F>
void change_each_of(const Tensor& t, F&& f) {
  with_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& x : t.span<T>()) x = convert<T>(f(convert<double>(x)));
  });
}

// The root of the sum of squares, by the largest magnitude where squares leave the range of a double.
double norm_of(const std::map<Ref, Tensor>& tensors) {
  double squares = 0, largest = 0;
  for (const auto& [ref, t] : tensors)
    for_each_of(t, [&](double x) {
      squares += x * x;
      largest = std::max(largest, std::abs(x));
    });
  bool is_exact = squares < 1e300 && (squares > 1e-280 || largest == 0);
  if (is_exact || std::isnan(squares) || std::isinf(largest)) return std::sqrt(squares);
  squares = 0;
  for (const auto& [ref, t] : tensors) for_each_of(t, [&](double x) { squares += (x / largest) * (x / largest); });
  return largest * std::sqrt(squares);
}

}  // namespace

void TapeState::forget_grad(const Tensor& grad) {
  if (is_budgeted())
    store.ledger().release(grad);
  else
    store.ledger().subtract(grad.bytes());
}

std::int64_t TapeState::grad_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [ref, t] : grads) bytes += t.bytes();
  return bytes;
}

void TapeState::zero_grads() {
  for (const auto& [ref, t] : grads) forget_grad(t);
  grads.clear();
}

void TapeState::own_grads() {
  for (auto& [ref, t] : grads) {
    if (!t.is_shared()) continue;
    try {
      if (is_budgeted()) store.make_room(t.bytes());
    } catch (const NoRoom& d) {
      fail_budget("clipping a gradient that somebody else holds", d.bytes);
    }
    Tensor own = t.clone();
    if (is_budgeted()) store.ledger().hold(own), store.ledger().release(t);
    t = std::move(own);
  }
}

double TapeState::clip_grad_norm(double most) {
  if (!(most >= 0)) fail("[tape] clip_grad_norm to {}: give 0 or more", most);
  double norm = norm_of(grads);
  if (!std::isfinite(norm) || norm <= most) return norm;
  own_grads();
  for (auto& [ref, t] : grads) change_each_of(t, [&](double x) { return x * (most / norm); });
  return norm;
}

std::int64_t TapeState::clip_grad_value(double most) {
  if (!(most >= 0)) fail("[tape] clip_grad_value to {}: give 0 or more", most);
  own_grads();
  std::int64_t nans = 0;
  for (auto& [ref, t] : grads)
    change_each_of(t, [&](double x) {
      nans += std::isnan(x);
      return std::isnan(x) ? x : std::clamp(x, -most, most);
    });
  return nans;
}

}  // namespace reprise
