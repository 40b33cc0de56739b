// SPDX-License-Identifier: Apache-2.0
// A segment that can run again: what it must offer, one kept input of it, and the linear segment.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "reprise/checkpoint_errors.h"
#include "reprise/export.h"

namespace reprise {

/// A deterministic function of its input. `forward` may throw; what it throws passes through every driver.
template <class R>
concept Recomputable = requires(const R& segment, const typename R::Input& input) {
  typename R::Output;
  { segment.forward(input) } -> std::convertible_to<typename R::Output>;
  { segment.input_memory_bytes(input) } -> std::convertible_to<std::int64_t>;
};

/// A segment with a gradient: vjp(input, output_gradient) gives a pair (input_gradient, parameter_gradients).
template <class R>
concept DifferentiableSegment = Recomputable<R> &&
    requires(const R& segment, const typename R::Input& input, const typename R::Output& gradient) {
  { segment.vjp(input, gradient).first } -> std::convertible_to<typename R::Input>;
  segment.vjp(input, gradient).second;
};

/// What R::vjp says about the segment's own parameters.
template <DifferentiableSegment R>
using ParameterGradients =
    decltype(std::declval<const R&>()
                 .vjp(std::declval<const typename R::Input&>(), std::declval<const typename R::Output&>())
                 .second);

/// A segment and the input it will run on: the output is never held, and the segment's weights are shared, not copied.
template <Recomputable R>
class Checkpoint {
 public:
  Checkpoint(std::shared_ptr<const R> segment, typename R::Input input)
      : segment_(std::move(segment)), input_(std::move(input)) {
    if (!segment_) throw BadRequest("[checkpoint] the segment is null: give one");
  }
  Checkpoint(R segment, typename R::Input input)
      : Checkpoint(std::make_shared<const R>(std::move(segment)), std::move(input)) {}

  typename R::Output recompute() const { return segment_->forward(input_); }
  std::int64_t memory_bytes() const { return segment_->input_memory_bytes(input_); }
  const typename R::Input& input() const { return input_; }
  const R& segment() const { return *segment_; }

 private:
  std::shared_ptr<const R> segment_;
  typename R::Input input_;
};

/// y = W x.
class REPRISE_API LinearSegment {
 public:
  using Input = std::vector<float>;
  using Output = std::vector<float>;

  /// Throws DimensionMismatch unless there are out × in weights, BadRequest unless both sizes are at least 1.
  LinearSegment(std::vector<float> weights, std::int64_t in, std::int64_t out);
  /// Uniform weights within ±√(6/(in+out)), from a linear congruential generator that every platform agrees on.
  static LinearSegment random_init(std::int64_t in, std::int64_t out, std::uint64_t seed);

  Output forward(const Input& x) const;
  /// (Wᵀ dy, dy xᵀ as [out, in])
  std::pair<Input, std::vector<float>> vjp(const Input& x, const Output& dy) const;
  static std::int64_t input_memory_bytes(const Input& x) { return static_cast<std::int64_t>(x.size() * sizeof(float)); }

  const std::vector<float>& weights() const { return weights_; }
  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }

 private:
  std::vector<float> weights_;  // [out, in]
  std::int64_t in_, out_;
};

}  // namespace reprise
