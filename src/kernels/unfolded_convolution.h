// SPDX-License-Identifier: Apache-2.0
// Convolution as matrix products: what each output position looks at becomes a column in scratch memory, some positions
// at a time. For f64, which oneDNN does not have.
#pragma once

#include "kernels/naive_convolution.h"

namespace reprise::kernels {

class UnfoldedConvolution {
 public:
  UnfoldedConvolution(ConvPass pass, const ConvSizes& sizes);

  /// Whether products are large enough to be worth the copying.
  static bool pays(const ConvSizes& sizes);

  std::int64_t scratch_bytes() const { return taps_ * positions_ * static_cast<std::int64_t>(sizeof(double)); }
  void run(const double* a, const double* b, const double* bias, double* result, void* scratch) const;

 private:
  struct Range {
    std::int64_t begin, end;  // output positions
    std::int64_t size() const { return end - begin; }
  };

  // Work on one image and one group; `columns` is [in·taps, range].
  void forward(const double* x, const double* weight, const double* bias, double* y, double* columns) const;
  void data_gradient(const double* dy, const double* weight, double* dx, double* columns) const;
  void weight_gradient(const double* x, const double* dy, bool is_first, double* dweight, double* columns) const;

  void unfold(const double* x, Range range, double* columns) const;
  void fold(const double* columns, Range range, double* dx) const;
  template <class F>
  void each_range(const F& f) const;
  template <class F>
  void each_row(std::int64_t tap, Range range, const F& f) const;

  ConvPass pass_;
  naive::Conv3 c_;
  std::int64_t x_size_, y_size_, kernel_size_;
  std::int64_t taps_;       // numbers that one output position looks at
  std::int64_t positions_;  // unfolded at a time
};

}  // namespace reprise::kernels
