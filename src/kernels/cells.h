// SPDX-License-Identifier: Apache-2.0
// The element-wise parts of recurrent cells and their gradients, each one pass. The plain formulas are ops/cells.cpp's
// expressions, which tests compare them with.
#pragma once

#include "kernels/math.h"
#include "kernels/parallel.h"
#include "kernels/simd.h"

namespace reprise::kernels {

struct CellSize {
  std::int64_t batch = 0, hidden = 0;
};

/// Calls f(row, j) for every element, in vectors along j.
template <class F>
void for_each_cell(CellSize n, const F& f) {
  std::int64_t rows = (1 << 12) / (n.hidden + 1) + 1;
  parallel_ranges(n.batch, rows, [&](std::int64_t begin, std::int64_t end) {
    simd([&] {
      for (std::int64_t b = begin; b < end; ++b) {
#pragma omp simd
        for (std::int64_t j = 0; j < n.hidden; ++j) f(b, j);
      }
    });
  });
}

/// Gates i, f, g, o, each [batch, hidden] of x and h [batch, 4·hidden]; c, h_next and c_next [batch, hidden].
template <class T>
void lstm_cell(CellSize n, const T* x, const T* h, const T* c, T* h_next, T* c_next) {
  for_each_cell(n, [=](std::int64_t b, std::int64_t j) {
    std::int64_t at = b * 4 * n.hidden + j, own = b * n.hidden + j;
    T i = sigmoid(x[at] + h[at]), f = sigmoid(x[at + n.hidden] + h[at + n.hidden]);
    T g = tanh(x[at + 2 * n.hidden] + h[at + 2 * n.hidden]);
    T o = sigmoid(x[at + 3 * n.hidden] + h[at + 3 * n.hidden]);
    T next = f * c[own] + i * g;
    c_next[own] = next;
    h_next[own] = o * tanh(next);
  });
}

/// Given the gradients of h_next and c_next: those of the gates before their non-linearities, and of c.
template <class T>
void lstm_cell_grad(CellSize n, const T* x, const T* h, const T* c, const T* dh, const T* dc_next, T* dgates, T* dc) {
  for_each_cell(n, [=](std::int64_t b, std::int64_t j) {
    std::int64_t at = b * 4 * n.hidden + j, own = b * n.hidden + j;
    T i = sigmoid(x[at] + h[at]), f = sigmoid(x[at + n.hidden] + h[at + n.hidden]);
    T g = tanh(x[at + 2 * n.hidden] + h[at + 2 * n.hidden]);
    T o = sigmoid(x[at + 3 * n.hidden] + h[at + 3 * n.hidden]);
    T t = tanh(f * c[own] + i * g);
    T d = dc_next[own] + dh[own] * o * (1 - t * t);
    dgates[at] = d * g * i * (1 - i);
    dgates[at + n.hidden] = d * c[own] * f * (1 - f);
    dgates[at + 2 * n.hidden] = d * i * (1 - g * g);
    dgates[at + 3 * n.hidden] = dh[own] * t * o * (1 - o);
    dc[own] = d * f;
  });
}

/// Gates r, z, n, each [batch, hidden] of x and h [batch, 3·hidden]; the reset gate acts on h's product.
template <class T>
void gru_cell(CellSize n, const T* x, const T* h, const T* state, T* next) {
  for_each_cell(n, [=](std::int64_t b, std::int64_t j) {
    std::int64_t at = b * 3 * n.hidden + j, own = b * n.hidden + j;
    T r = sigmoid(x[at] + h[at]), z = sigmoid(x[at + n.hidden] + h[at + n.hidden]);
    T candidate = tanh(x[at + 2 * n.hidden] + r * h[at + 2 * n.hidden]);
    next[own] = candidate + z * (state[own] - candidate);
  });
}

template <class T>
void gru_cell_grad(CellSize n, const T* x, const T* h, const T* state, const T* dnext, T* dx, T* dh, T* dstate) {
  for_each_cell(n, [=](std::int64_t b, std::int64_t j) {
    std::int64_t at = b * 3 * n.hidden + j, own = b * n.hidden + j;
    T r = sigmoid(x[at] + h[at]), z = sigmoid(x[at + n.hidden] + h[at + n.hidden]), hn = h[at + 2 * n.hidden];
    T candidate = tanh(x[at + 2 * n.hidden] + r * hn);
    T dn = dnext[own] * (1 - z) * (1 - candidate * candidate);
    T dr = dn * hn * r * (1 - r), dz = dnext[own] * (state[own] - candidate) * z * (1 - z);
    dx[at] = dh[at] = dr;
    dx[at + n.hidden] = dh[at + n.hidden] = dz;
    dx[at + 2 * n.hidden] = dn;
    dh[at + 2 * n.hidden] = dn * r;
    dstate[own] = dnext[own] * z;
  });
}

}  // namespace reprise::kernels
