// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

#include "kernels/parallel.h"
#include "kernels/strided.h"

namespace reprise::kernels {
namespace {

Shape batch_of(const Shape& shape) { return Shape(std::span(shape.begin(), shape.end() - 2)); }

}  // namespace

Matmul::Matmul(const Shape& a, bool transpose_a, const Shape& b, bool transpose_b, const Shape& c) {
  int rank = a.rank();
  std::int64_t m = c[c.rank() - 2], n = c.back(), k = transpose_a ? a[rank - 2] : a[rank - 1];
  batch_ = batch_of(c);
  // One matrix b for every row of a: the batch is more rows of a single, larger product.
  if (!transpose_a && batch_of(b).elements() == 1) {
    m *= batch_.elements();
    batch_ = {};
  }
  gemm_ = dense_gemm(m, n, k, transpose_a, transpose_b);
  if (batch_.rank() == 0) return;
  a_strides_ = broadcast_strides(batch_of(a), batch_);
  b_strides_ = broadcast_strides(batch_of(b), batch_);
}

template <class T>
void Matmul::run_one(std::int64_t at, const T* a, const T* b, const T* bias, T* c) const {
  const auto& [m, n, k, ta, tb, lda, ldb, ldc] = gemm_;
  c += at * m * n;
  for (std::int64_t i = 0; bias && i < m; ++i) std::copy_n(bias, n, c + i * n);
  gemm(gemm_, T(1), a + offset_of(at, batch_, a_strides_) * m * k, b + offset_of(at, batch_, b_strides_) * k * n,
       bias ? T(1) : T(0), c);
}

template <class T>
void Matmul::run_all(const T* a, const T* b, const T* bias, T* c) const {
  std::int64_t count = batch_.elements(), work = 2 * gemm_.m * gemm_.n * gemm_.k;
  auto some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) run_one(at, a, b, bias, c);
  };
  // Enough products to share out whole ones; otherwise each is shared out by its library.
  constexpr std::int64_t grain_flops = 1'000'000;
  if (count >= 2 * thread_count())
    parallel_ranges(count, grain_flops / std::max<std::int64_t>(1, work) + 1, some);
  else
    some(0, count);
}

void Matmul::run(const float* a, const float* b, const float* bias, float* c) const { run_all(a, b, bias, c); }
void Matmul::run(const double* a, const double* b, const double* bias, double* c) const { run_all(a, b, bias, c); }

}  // namespace reprise::kernels
