// SPDX-License-Identifier: Apache-2.0
// Collected gradients: clearing and clipping.
#include <cmath>

#include "base/error.h"
#include "execute/tape_state.h"

namespace reprise {
namespace {

// Calls f(element) -> element for a copy of a float tensor.
template <class F>
Tensor mapped(const Tensor& t, F&& f) {
  Tensor result = t.to(DType::f64);
  if (result.data() == t.data()) result = t.clone();
  for (double& x : result.span<double>()) x = f(x);
  return result.to(t.dtype());
}

}  // namespace

void TapeState::zero_grads() {
  if (is_budgeted())
    for (const auto& [ref, t] : grads) store.ledger().release(t);
  grads.clear();
}

void TapeState::replace_grad(Tensor& grad, Tensor changed) {
  if (is_budgeted()) {
    store.ledger().hold(changed);
    store.ledger().release(grad);
  }
  grad = std::move(changed);
}

double TapeState::clip_grad_norm(double most) {
  if (!(most >= 0)) fail("[tape] clip_grad_norm to {}: give 0 or more", most);
  double squares = 0;
  for (const auto& [ref, t] : grads)
    for (double x : t.to_vector<double>()) squares += x * x;
  double norm = std::sqrt(squares);
  if (!std::isfinite(norm) || norm <= most) return norm;
  for (auto& [ref, t] : grads) replace_grad(t, mapped(t, [&](double x) { return x * (most / norm); }));
  return norm;
}

std::int64_t TapeState::clip_grad_value(double most) {
  if (!(most >= 0)) fail("[tape] clip_grad_value to {}: give 0 or more", most);
  std::int64_t nans = 0;
  for (auto& [ref, t] : grads)
    replace_grad(t, mapped(t, [&](double x) {
                   nans += std::isnan(x);
                   return std::isnan(x) ? x : std::clamp(x, -most, most);
                 }));
  return nans;
}

std::int64_t TapeState::bytes() const {
  if (is_budgeted()) return store.ledger().held();
  Ledger held;
  for (std::int32_t i = 0; i < table->size; ++i) {
    const Cell& cell = table->cell(i);
    if (!cell.present) continue;
    held.hold(cell.value);
    for (const Tensor& t : cell.others) held.hold(t);
  }
  for (const auto& [ref, t] : grads) held.hold(t);
  return held.held();
}

}  // namespace reprise
