// SPDX-License-Identifier: Apache-2.0
// The linear recurrence h_t = a ⊙ h_{t-1} + b ⊙ x_t over a sequence, in segments: the states between them are kept,
// those within are recomputed for the gradient, which is bit for bit that of one segment.
//
//   CheckpointedScan<float> scan({.a = a, .b = b, .segments = 3});
//   auto h = scan.forward(x);                 // [steps, width]
//   auto g = scan.backward(x, dh);            // .a, .b, .x, .h0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reprise/export.h"

namespace reprise {

template <class T>
struct ScanOptions {
  std::vector<T> a, b;          // [width]
  std::int64_t segments = 1;    // any number: with more segments than steps, each step is one
  std::vector<T> initial = {};  // h before the first step, [width]; empty: zeros
};

template <class T>
struct ScanGradients {
  std::vector<T> a, b;  // [width]
  std::vector<T> x;     // [steps, width]
  std::vector<T> h0;    // [width]

  friend bool operator==(const ScanGradients&, const ScanGradients&) = default;
};

/// For float and double. Throws DimensionMismatch where lengths do not agree, BadRequest where there are no segments or
/// no elements, OutOfTurn where a backward comes before its forward.
template <class T>
class REPRISE_API CheckpointedScan {
 public:
  explicit CheckpointedScan(ScanOptions<T> options);

  /// All states h_1 … h_steps of x [steps, width]; keeps those at which segments begin.
  std::vector<T> forward(std::span<const T> x);
  /// The gradients, given those of all states [steps, width] and the x of the forward. Each segment is replayed once.
  ScanGradients<T> backward(std::span<const T> x, std::span<const T> output_gradient) const;

  /// Bytes of the states kept by the last forward.
  std::int64_t memory_bytes() const;
  /// Most bytes of states alive at once in a backward: what is kept, and the longest segment replayed.
  std::int64_t backward_peak_bytes() const;

 private:
  std::int64_t begin_of(std::int64_t segment) const;
  std::vector<T> replay(std::span<const T> x, std::int64_t segment) const;
  void reverse(std::span<const T> x, std::span<const T> dh, std::int64_t segment, std::vector<T>& carry,
               ScanGradients<T>& gradients) const;

  ScanOptions<T> options_;
  std::int64_t steps_ = -1;    // of the last forward; -1: there was none
  std::int64_t segments_ = 0;  // of the last forward
  std::vector<T> boundaries_;  // [segments, width]: the state each segment begins with
};

}  // namespace reprise
