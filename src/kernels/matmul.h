// SPDX-License-Identifier: Apache-2.0
// Matrix products over batches, with NumPy's broadcasting of the batch dimensions.
#pragma once

#include "kernels/gemm.h"
#include "reprise/tensor.h"

namespace reprise::kernels {

/// A product prepared for its shapes: a is [batch..., m, k], b is [batch..., k, n] (their last two dimensions swapped
/// where transposed), c is [batch..., m, n].
class Matmul {
 public:
  Matmul(const Shape& a, bool transpose_a, const Shape& b, bool transpose_b, const Shape& c);

  /// c = a · b, plus `bias` [n] in every row where it is given.
  void run(const float* a, const float* b, const float* bias, float* c) const;
  void run(const double* a, const double* b, const double* bias, double* c) const;

 private:
  template <class T>
  void run_all(const T* a, const T* b, const T* bias, T* c) const;
  template <class T>
  void run_one(std::int64_t at, const T* a, const T* b, const T* bias, T* c) const;

  Gemm gemm_;
  Shape batch_, a_strides_, b_strides_;  // strides count matrices
};

}  // namespace reprise::kernels
