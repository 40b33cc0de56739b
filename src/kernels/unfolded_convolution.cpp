// SPDX-License-Identifier: Apache-2.0
#include "kernels/unfolded_convolution.h"

#include <algorithm>

#include "kernels/gemm.h"
#include "kernels/parallel.h"

namespace reprise::kernels {
namespace {

constexpr std::int64_t columns_bytes = 4 << 20;  // stays in a cache while it is multiplied

}  // namespace

template <class T>
UnfoldedConvolution<T>::UnfoldedConvolution(ConvPass pass, const ConvSizes& sizes)
    : pass_(pass),
      c_(sizes),
      x_size_(naive::Conv3::volume(c_.x)),
      y_size_(naive::Conv3::volume(c_.y)),
      kernel_size_(naive::Conv3::volume(c_.kernel)),
      taps_(c_.in * kernel_size_),
      positions_(std::clamp<std::int64_t>(columns_bytes / (static_cast<std::int64_t>(sizeof(T)) * taps_),
                                          std::min<std::int64_t>(64, y_size_), y_size_)) {}

template <class T>
bool UnfoldedConvolution<T>::pays(const ConvSizes& s) {
  bool is_empty = s.x.elements() == 0 || s.weight.elements() == 0 || s.y.elements() == 0;
  return !is_empty && s.weight[0] / s.groups >= 4;
}

template <class T>
void UnfoldedConvolution<T>::run(const T* a, const T* b, const T* bias, T* result, void* scratch) const {
  auto* columns = static_cast<T*>(scratch);
  for (std::int64_t image = 0; image < c_.n; ++image) {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      std::int64_t part = image * c_.groups + group, x = part * c_.in * x_size_, y = part * c_.out * y_size_;
      std::int64_t weight = group * c_.out * taps_;
      if (pass_ == ConvPass::forward)
        forward(a + x, b + weight, bias ? bias + group * c_.out : nullptr, result + y, columns);
      else if (pass_ == ConvPass::data_gradient)
        data_gradient(a + y, b + weight, result + x, columns);
      else
        weight_gradient(a + x, b + y, image == 0, result + weight, columns);
    }
  }
}

template <class T>
void UnfoldedConvolution<T>::forward(const T* x, const T* weight, const T* bias, T* y, T* columns) const {
  for (std::int64_t o = 0; o < c_.out; ++o) std::fill_n(y + o * y_size_, y_size_, bias ? bias[o] : T(0));
  each_range([&](Range r) {
    unfold(x, r, columns);
    gemm({c_.out, r.size(), taps_, false, false, taps_, r.size(), y_size_}, T(1), weight, columns, T(1), y + r.begin);
  });
}

template <class T>
void UnfoldedConvolution<T>::data_gradient(const T* dy, const T* weight, T* dx, T* columns) const {
  std::fill_n(dx, c_.in * x_size_, T(0));
  each_range([&](Range r) {
    gemm({taps_, r.size(), c_.out, true, false, taps_, y_size_, r.size()}, T(1), weight, dy + r.begin, T(0), columns);
    fold(columns, r, dx);
  });
}

template <class T>
void UnfoldedConvolution<T>::weight_gradient(const T* x, const T* dy, bool is_first, T* dweight, T* columns) const {
  each_range([&](Range r) {
    unfold(x, r, columns);
    T kept = is_first && r.begin == 0 ? T(0) : T(1);
    gemm({c_.out, taps_, r.size(), false, true, y_size_, r.size(), taps_}, T(1), dy + r.begin, columns, kept, dweight);
  });
}

template <class T>
void UnfoldedConvolution<T>::unfold(const T* x, Range range, T* columns) const {
  parallel_ranges(taps_, 1 + 10'000 / range.size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const T* plane = x + t / kernel_size_ * x_size_;
      T* to = columns + t * range.size();
      each_row(t % kernel_size_, range, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i, from += c_.stride[2])
          *to++ = row >= 0 && from >= 0 && from < c_.x[2] ? plane[row + from] : T(0);
      });
    }
  });
}

template <class T>
void UnfoldedConvolution<T>::fold(const T* columns, Range range, T* dx) const {
  parallel_ranges(c_.in, 1 + 10'000 / (kernel_size_ * range.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin * kernel_size_; t < end * kernel_size_; ++t) {
      T* plane = dx + t / kernel_size_ * x_size_;
      const T* column = columns + t * range.size();
      each_row(t % kernel_size_, range, [&](std::int64_t row, std::int64_t from, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i, from += c_.stride[2], ++column)
          if (row >= 0 && from >= 0 && from < c_.x[2]) plane[row + from] += *column;
      });
    }
  });
}

template <class T>
template <class F>
void UnfoldedConvolution<T>::each_range(const F& f) const {
  for (std::int64_t begin = 0; begin < y_size_; begin += positions_)
    f(Range{begin, std::min(begin + positions_, y_size_)});
}

// For the positions of each row of outputs, what they read for a tap: where its row of x begins (-1: in the padding),
// the index in it for the first position, and how many positions there are.
template <class T>
template <class F>
void UnfoldedConvolution<T>::each_row(std::int64_t tap, Range range, const F& f) const {
  naive::Conv3::Triple k = naive::Conv3::at(tap, c_.kernel);
  for (std::int64_t p = range.begin; p < range.end;) {
    naive::Conv3::Triple at = naive::Conv3::at(p, c_.y);
    std::int64_t count = std::min(c_.y[2] - at[2], range.end - p), row = 0;
    for (std::size_t d = 0; d < 2; ++d) {
      std::int64_t i = at[d] * c_.stride[d] - c_.pad[d] + k[d] * c_.dilation[d];
      row = row < 0 || i < 0 || i >= c_.x[d] ? -1 : row * c_.x[d] + i;
    }
    f(row < 0 ? -1 : row * c_.x[2], at[2] * c_.stride[2] - c_.pad[2] + k[2] * c_.dilation[2], count);
    p += count;
  }
}

template class UnfoldedConvolution<float>;
template class UnfoldedConvolution<double>;

}  // namespace reprise::kernels
