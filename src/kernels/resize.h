// SPDX-License-Identifier: Apache-2.0
// Resampling of one to three spatial dimensions: each output element is a weighted sum of two inputs per dimension (of
// one, for the nearest neighbour).
#pragma once

#include <array>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::kernels {

struct ResizeAxis {
  struct Tap {
    std::int64_t first = 0, second = 0;
    double weight = 0;  // of the second; the first has the rest
  };
  std::int64_t size = 1;
  std::vector<Tap> taps{{}};  // one per output element
};

/// Of [planes, spatial...]; missing dimensions come first and keep their one element.
struct Resize {
  std::int64_t planes = 0;
  std::array<ResizeAxis, 3> axes;

  std::int64_t in_size() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t out_size() const {
    return static_cast<std::int64_t>(axes[0].taps.size() * axes[1].taps.size() * axes[2].taps.size());
  }
};

template <class T>
void resize(const Resize& r, const T* x, T* y);
/// The adjoint: every dy goes back to the elements it was made of.
template <class T>
void resize_adjoint(const Resize& r, const T* dy, T* dx);

}  // namespace reprise::kernels
