// SPDX-License-Identifier: Apache-2.0
// One matrix product: f32 by oneDNN, f64 by OpenBLAS. Small products stay on the calling thread, as do all that are
// called from a parallel loop.
#pragma once

#include <cstdint>

namespace reprise::kernels {

/// op(a) is m×k, op(b) is k×n, c is m×n; op transposes where its flag says so. Row-major; `ld*` are row lengths in
/// memory.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
};

/// c = alpha · op(a) · op(b) + beta · c; with beta 0, c is not read.
void gemm(const Gemm& g, float alpha, const float* a, const float* b, float beta, float* c);
void gemm(const Gemm& g, double alpha, const double* a, const double* b, double beta, double* c);

/// A product whose operands have no gaps between their rows.
Gemm dense_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a = false, bool transpose_b = false);

}  // namespace reprise::kernels
