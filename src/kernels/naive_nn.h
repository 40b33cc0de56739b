// SPDX-License-Identifier: Apache-2.0
// The obvious nested loops: oracles of the fast kernels.
#pragma once

#include <cstdint>

namespace reprise::kernels::naive {

/// c = op(a) · op(b), m×k times k×n.
template <class T>
void matmul(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(a[ta ? l * m + i : i * k + l]) * static_cast<double>(b[tb ? j * k + l : l * n + j]);
      c[i * n + j] = static_cast<T>(sum);
    }
}

}  // namespace reprise::kernels::naive
