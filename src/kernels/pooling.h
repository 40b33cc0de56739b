// SPDX-License-Identifier: Apache-2.0
// Largest or mean element of windows over one to three spatial dimensions. A window is a range per dimension, so
// sliding, adaptive and global pooling are one. On row-major tensors the forward loops beat oneDNN's pooling
// (measured); its max gradient is faster on large windows, but needs a workspace kept from the forward pass.
#pragma once

#include <array>
#include <vector>

#include "reprise/tensor.h"

namespace reprise::kernels {

/// What output positions read along one dimension.
struct PoolAxis {
  struct Range {
    std::int64_t begin, end;  // begin, begin + step, ... before end; all inside the input
    double weight;            // of each element in a mean
  };
  std::int64_t size = 1;
  std::int64_t step = 1;
  std::vector<Range> windows;
};

/// Of [planes, spatial...]; missing dimensions come first, with one window of one element.
struct Pooling {
  std::int64_t planes = 0;
  std::array<PoolAxis, 3> axes;

  std::int64_t in_size() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t out_size() const {
    return static_cast<std::int64_t>(axes[0].windows.size() * axes[1].windows.size() * axes[2].windows.size());
  }
};

/// y: the largest element of each window; NaN if there is one.
template <class T>
void max_pool(const Pooling& p, const T* x, T* y);
/// Adds each dy to where its window's first largest element was; elsewhere 0.
template <class T>
void max_pool_scatter(const Pooling& p, const T* x, const T* dy, T* dx);
/// The element of `values` where each window of x has its first largest element.
template <class T>
void max_pool_gather(const Pooling& p, const T* x, const T* values, T* y);
/// y: weighted sum of each window.
template <class T>
void mean_pool(const Pooling& p, const T* x, T* y);
/// The adjoint of mean_pool.
template <class T>
void mean_pool_adjoint(const Pooling& p, const T* dy, T* dx);

}  // namespace reprise::kernels
