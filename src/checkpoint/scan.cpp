// SPDX-License-Identifier: Apache-2.0
#include "reprise/scan.h"

#include <algorithm>

#include "checkpoint/refuse.h"
#include "reprise/checkpoint_errors.h"

namespace reprise {
namespace {

void check_length(const char* what, std::int64_t expected, std::int64_t got) {
  if (expected == got) return;
  throw DimensionMismatch(fmt::format("[scan] {} has {} elements: give {}", what, got, expected), expected, got);
}

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

template <class T>
CheckpointedScan<T>::CheckpointedScan(ScanOptions<T> options) : options_(std::move(options)) {
  if (options_.segments < 1) refuse<BadRequest>("[scan] {} segments: there is at least 1", options_.segments);
  if (options_.a.empty()) refuse<BadRequest>("[scan] a and b are empty: the state has at least one element");
  if (options_.initial.empty()) options_.initial.resize(options_.a.size());
  check_length("b", std::ssize(options_.a), std::ssize(options_.b));
  check_length("the initial state", std::ssize(options_.a), std::ssize(options_.initial));
}

// Segments differ in length by one step at most.
template <class T>
std::int64_t CheckpointedScan<T>::begin_of(std::int64_t segment) const {
  return segment * (steps_ / segments_) + std::min(segment, steps_ % segments_);
}

template <class T>
std::vector<T> CheckpointedScan<T>::forward(std::span<const T> x) {
  std::size_t width = options_.a.size();
  check_length("x, of whole steps,", std::ssize(x) / std::ssize(options_.a) * std::ssize(options_.a), std::ssize(x));
  steps_ = std::ssize(x) / std::ssize(options_.a);
  segments_ = std::min(options_.segments, steps_);
  boundaries_.clear();
  std::vector<T> states, h = options_.initial;
  states.reserve(x.size());
  for (std::int64_t t = 0, segment = 0; t < steps_; ++t) {
    if (t == begin_of(segment)) {
      boundaries_.insert(boundaries_.end(), h.begin(), h.end());
      if (segment + 1 < segments_) ++segment;
    }
    for (std::size_t i = 0; i < width; ++i) h[i] = options_.a[i] * h[i] + options_.b[i] * x[index(t) * width + i];
    states.insert(states.end(), h.begin(), h.end());
  }
  return states;
}

// The state before each step of the segment: [steps of the segment, width].
template <class T>
std::vector<T> CheckpointedScan<T>::replay(std::span<const T> x, std::int64_t segment) const {
  std::size_t width = options_.a.size();
  auto first = boundaries_.begin() + segment * std::ssize(options_.a);
  std::vector<T> before(first, first + std::ssize(options_.a));
  std::int64_t begin = begin_of(segment), steps = begin_of(segment + 1) - begin;
  for (std::int64_t t = 0; t + 1 < steps; ++t)
    for (std::size_t i = 0; i < width; ++i)
      before.push_back(options_.a[i] * before[index(t) * width + i] + options_.b[i] * x[index(begin + t) * width + i]);
  return before;
}

// `carry` is what the later steps say about the state the segment ends with; it becomes that of the one it begins with.
template <class T>
void CheckpointedScan<T>::reverse(std::span<const T> x, std::span<const T> dh, std::int64_t segment,
                                  std::vector<T>& carry, ScanGradients<T>& gradients) const {
  std::size_t width = options_.a.size();
  std::vector<T> before = replay(x, segment);
  std::int64_t begin = begin_of(segment);
  for (std::int64_t t = begin_of(segment + 1); t-- > begin;)
    for (std::size_t i = 0; i < width; ++i) {
      std::size_t at = index(t) * width + i;
      T g = dh[at] + carry[i];
      gradients.a[i] += g * before[index(t - begin) * width + i];
      gradients.b[i] += g * x[at];
      gradients.x[at] = g * options_.b[i];
      carry[i] = g * options_.a[i];
    }
}

template <class T>
ScanGradients<T> CheckpointedScan<T>::backward(std::span<const T> x, std::span<const T> output_gradient) const {
  if (steps_ < 0) refuse<OutOfTurn>("[scan] backward needs a forward before it");
  std::size_t width = options_.a.size();
  check_length("x, which is that of the forward,", steps_ * std::ssize(options_.a), std::ssize(x));
  check_length("the output gradient", std::ssize(x), std::ssize(output_gradient));
  ScanGradients<T> gradients{std::vector<T>(width), std::vector<T>(width), std::vector<T>(x.size()), {}};
  std::vector<T> carry(width);
  for (std::int64_t segment = segments_; segment-- > 0;) reverse(x, output_gradient, segment, carry, gradients);
  gradients.h0 = std::move(carry);
  return gradients;
}

template <class T>
std::int64_t CheckpointedScan<T>::memory_bytes() const {
  return static_cast<std::int64_t>(boundaries_.size() * sizeof(T));
}

template <class T>
std::int64_t CheckpointedScan<T>::backward_peak_bytes() const {
  if (segments_ == 0) return 0;
  std::int64_t longest = (steps_ + segments_ - 1) / segments_;
  return memory_bytes() + longest * static_cast<std::int64_t>(options_.a.size() * sizeof(T));
}

template class CheckpointedScan<float>;
template class CheckpointedScan<double>;

}  // namespace reprise
