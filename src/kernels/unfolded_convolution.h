// SPDX-License-Identifier: Apache-2.0
// Convolution as matrix products: what each output position looks at becomes a column in scratch memory, some positions
// at a time. For f64, which oneDNN does not have, and for f32 where windows lie side by side: the usual transposed
// convolution, which grows an image by the size of its window.
#pragma once

#include "kernels/naive_convolution.h"

namespace reprise::kernels {

template <class T>
class UnfoldedConvolution {
 public:
  UnfoldedConvolution(ConvPass pass, const ConvSizes& sizes);

  /// Whether products are large enough to be worth the copying.
  static bool pays(const ConvSizes& sizes);

  std::int64_t scratch_bytes() const { return taps_ * positions_ * static_cast<std::int64_t>(sizeof(T)); }
  void run(const T* a, const T* b, const T* bias, T* result, void* scratch) const;

 private:
  struct Range {
    std::int64_t begin, end;  // output positions
    std::int64_t size() const { return end - begin; }
  };

  // Work on one image and one group; `columns` is [in·taps, range].
  void forward(const T* x, const T* weight, const T* bias, T* y, T* columns) const;
  void data_gradient(const T* dy, const T* weight, T* dx, T* columns) const;
  void weight_gradient(const T* x, const T* dy, bool is_first, T* dweight, T* columns) const;

  void unfold(const T* x, Range range, T* columns) const;
  void fold(const T* columns, Range range, T* dx) const;
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

extern template class UnfoldedConvolution<float>;
extern template class UnfoldedConvolution<double>;

}  // namespace reprise::kernels
