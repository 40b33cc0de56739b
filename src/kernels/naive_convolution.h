// SPDX-License-Identifier: Apache-2.0
// Convolution as nested loops: the oracle of the fast ones, and what runs where they do not.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/convolution.h"
#include "kernels/parallel.h"

namespace reprise::kernels::naive {

/// Sizes of a convolution, always over three spatial dimensions: missing ones come first and have size 1.
class Conv3 {
 public:
  using Triple = std::array<std::int64_t, 3>;

  explicit Conv3(const ConvSizes& s)
      : n(s.x[0]),
        groups(s.groups),
        in(s.groups == 0 ? 0 : s.x[1] / s.groups),
        out(s.groups == 0 ? 0 : s.y[1] / s.groups),
        x(triple(s.x, 2, 1)),
        y(triple(s.y, 2, 1)),
        kernel(triple(s.weight, 2, 1)),
        stride(triple(s.strides, 0, 1)),
        dilation(triple(s.dilations, 0, 1)),
        pad(triple(s.pads_begin, 0, 0)) {}

  std::int64_t n, groups, in, out;  // in and out: channels of one group
  Triple x, y, kernel, stride, dilation, pad;

  static std::int64_t volume(const Triple& t) { return t[0] * t[1] * t[2]; }
  static Triple at(std::int64_t i, const Triple& t) { return {i / (t[1] * t[2]), i / t[2] % t[1], i % t[2]}; }

  /// Where output position `p` reads x for tap `k`; -1 in the padding.
  std::int64_t source(const Triple& p, const Triple& k) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      std::int64_t i = p[d] * stride[d] - pad[d] + k[d] * dilation[d];
      if (i < 0 || i >= x[d]) return -1;
      offset = offset * x[d] + i;
    }
    return offset;
  }
  /// Which output position reads x position `p` for tap `k`; -1 if none does.
  std::int64_t reader(const Triple& p, const Triple& k) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      std::int64_t i = p[d] + pad[d] - k[d] * dilation[d];
      if (i < 0 || i % stride[d] != 0 || i / stride[d] >= y[d]) return -1;
      offset = offset * y[d] + i / stride[d];
    }
    return offset;
  }

 private:
  static Triple triple(const Shape& s, int from, std::int64_t missing) {
    Triple t{missing, missing, missing};
    for (int d = s.rank() - 1, to = 2; d >= from; --d, --to) t[static_cast<std::size_t>(to)] = s[d];
    return t;
  }
};

/// Planes worth a thread of their own, where one takes `work` multiplications.
inline std::int64_t plane_grain(std::int64_t work) { return 1 + 100'000 / std::max<std::int64_t>(1, work); }

template <class T>
void conv_forward(const Conv3& c, const T* x, const T* w, const T* bias, T* y) {
  const std::int64_t xs = Conv3::volume(c.x), ys = Conv3::volume(c.y), ks = Conv3::volume(c.kernel);
  parallel_ranges(c.n * c.groups * c.out, plane_grain(ys * ks * c.in), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::int64_t o = plane % (c.groups * c.out), image = plane / (c.groups * c.out), group = o / c.out;
      for (std::int64_t p = 0; p < ys; ++p) {
        double sum = bias ? static_cast<double>(bias[o]) : 0;
        for (std::int64_t k = 0; k < ks; ++k) {
          std::int64_t from = c.source(Conv3::at(p, c.y), Conv3::at(k, c.kernel));
          for (std::int64_t i = 0; from >= 0 && i < c.in; ++i)
            sum += static_cast<double>(x[((image * c.groups + group) * c.in + i) * xs + from]) *
                   static_cast<double>(w[(o * c.in + i) * ks + k]);
        }
        y[plane * ys + p] = static_cast<T>(sum);
      }
    }
  });
}

template <class T>
void conv_data_gradient(const Conv3& c, const T* dy, const T* w, T* dx) {
  const std::int64_t xs = Conv3::volume(c.x), ys = Conv3::volume(c.y), ks = Conv3::volume(c.kernel);
  parallel_ranges(c.n * c.groups * c.in, plane_grain(xs * ks * c.out), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::int64_t i = plane % c.in, group = plane / c.in % c.groups, image = plane / (c.in * c.groups);
      for (std::int64_t p = 0; p < xs; ++p) {
        double sum = 0;
        for (std::int64_t k = 0; k < ks; ++k) {
          std::int64_t from = c.reader(Conv3::at(p, c.x), Conv3::at(k, c.kernel));
          for (std::int64_t o = group * c.out; from >= 0 && o < (group + 1) * c.out; ++o)
            sum += static_cast<double>(dy[(image * c.groups * c.out + o) * ys + from]) *
                   static_cast<double>(w[(o * c.in + i) * ks + k]);
        }
        dx[plane * xs + p] = static_cast<T>(sum);
      }
    }
  });
}

template <class T>
void conv_weight_gradient(const Conv3& c, const T* x, const T* dy, T* dw) {
  const std::int64_t xs = Conv3::volume(c.x), ys = Conv3::volume(c.y), ks = Conv3::volume(c.kernel);
  parallel_ranges(c.groups * c.out * c.in, plane_grain(c.n * ys * ks), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::int64_t i = plane % c.in, o = plane / c.in, group = o / c.out;
      for (std::int64_t k = 0; k < ks; ++k) {
        double sum = 0;
        for (std::int64_t p = 0; p < ys; ++p) {
          std::int64_t from = c.source(Conv3::at(p, c.y), Conv3::at(k, c.kernel));
          for (std::int64_t image = 0; from >= 0 && image < c.n; ++image)
            sum += static_cast<double>(x[((image * c.groups + group) * c.in + i) * xs + from]) *
                   static_cast<double>(dy[(image * c.groups * c.out + o) * ys + p]);
        }
        dw[plane * ks + k] = static_cast<T>(sum);
      }
    }
  });
}

template <class T>
void convolve(ConvPass pass, const ConvSizes& sizes, const T* a, const T* b, const T* bias, T* result) {
  Conv3 c(sizes);
  if (pass == ConvPass::forward) return conv_forward(c, a, b, bias, result);
  if (pass == ConvPass::data_gradient) return conv_data_gradient(c, a, b, result);
  conv_weight_gradient(c, a, b, result);
}

}  // namespace reprise::kernels::naive
