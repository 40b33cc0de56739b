// SPDX-License-Identifier: Apache-2.0
#include "kernels/deformable.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm.h"
#include "kernels/parallel.h"

namespace reprise::kernels {
namespace {

// Four neighbours of a place and their weights; a neighbour outside has weight 0 and offset 0.
template <class T>
struct Corners {
  std::int64_t offset[4];
  T weight[4], by_row[4], by_column[4];  // and the weights' derivatives along both axes
};

template <class T>
Corners<T> corners_at(T row, T column, std::int64_t height, std::int64_t width) {
  Corners<T> c{};
  T top = std::floor(row), left = std::floor(column), down = row - top, right = column - left;
  // Far outside nothing is read; the limit also keeps the conversion to an integer defined.
  if (!(top >= -1 && left >= -1 && top <= static_cast<T>(height) && left <= static_cast<T>(width))) return c;
  for (int k = 0; k < 4; ++k) {
    bool lower = k / 2 == 1, far = k % 2 == 1;
    std::int64_t i = static_cast<std::int64_t>(top) + lower, j = static_cast<std::int64_t>(left) + far;
    if (i < 0 || i >= height || j < 0 || j >= width) continue;
    T wi = lower ? down : 1 - down, wj = far ? right : 1 - right;
    c.offset[k] = i * width + j;
    c.weight[k] = wi * wj;
    c.by_row[k] = lower ? wj : -wj;
    c.by_column[k] = far ? wi : -wi;
  }
  return c;
}

// One image's places: where tap k of offset group g reads for output position p.
template <class T>
struct Places {
  const DeformableSizes& s;
  const T *offsets, *mask;

  Places(const DeformableSizes& sizes, const DeformableInputs<T>& in, std::int64_t image)
      : s(sizes),
        offsets(in.offsets + image * 2 * sizes.offset_groups * sizes.taps() * sizes.y_area()),
        mask(in.mask ? in.mask + image * sizes.offset_groups * sizes.taps() * sizes.y_area() : nullptr) {}

  Corners<T> corners(std::int64_t g, std::int64_t k, std::int64_t p) const {
    std::int64_t at = (g * s.taps() + k) * 2 * s.y_area() + p;
    std::int64_t row = p / s.y[3] * s.strides[0] - s.pads[0] + k / s.weight[3] * s.dilations[0];
    std::int64_t column = p % s.y[3] * s.strides[1] - s.pads[1] + k % s.weight[3] * s.dilations[1];
    return corners_at(static_cast<T>(row) + offsets[at], static_cast<T>(column) + offsets[at + s.y_area()], s.x[2],
                      s.x[3]);
  }
  T factor(std::int64_t g, std::int64_t k, std::int64_t p) const {
    return mask ? mask[(g * s.taps() + k) * s.y_area() + p] : T(1);
  }
};

template <class T>
T read(const Corners<T>& c, const T (&weights)[4], const T* plane) {
  T sum = 0;
  for (int k = 0; k < 4; ++k) sum += weights[k] * plane[c.offset[k]];
  return sum;
}

// Calls f(channel) for every in channel, shared out over the threads.
template <class F>
void for_channels(const DeformableSizes& s, const F& f) {
  std::int64_t work = std::max<std::int64_t>(1, s.taps() * s.y_area());
  parallel_ranges(s.x[1], 1 + 5'000 / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) f(channel);
  });
}

template <class T>
void unfold(const DeformableSizes& s, const Places<T>& places, const T* x, T* columns) {
  for_channels(s, [&](std::int64_t channel) {
    std::int64_t g = channel / (s.x[1] / s.offset_groups);
    for (std::int64_t k = 0; k < s.taps(); ++k)
      for (std::int64_t p = 0; p < s.y_area(); ++p) {
        Corners<T> c = places.corners(g, k, p);
        columns[(channel * s.taps() + k) * s.y_area() + p] =
            places.factor(g, k, p) * read(c, c.weight, x + channel * s.x_area());
      }
  });
}

// The gradient of x, from that of the unfolded image.
template <class T>
void fold(const DeformableSizes& s, const Places<T>& places, const T* columns, T* dx) {
  for_channels(s, [&](std::int64_t channel) {
    std::int64_t g = channel / (s.x[1] / s.offset_groups);
    T* plane = dx + channel * s.x_area();
    std::fill_n(plane, s.x_area(), T(0));
    for (std::int64_t k = 0; k < s.taps(); ++k)
      for (std::int64_t p = 0; p < s.y_area(); ++p) {
        Corners<T> c = places.corners(g, k, p);
        T d = places.factor(g, k, p) * columns[(channel * s.taps() + k) * s.y_area() + p];
        for (int i = 0; i < 4; ++i) plane[c.offset[i]] += d * c.weight[i];
      }
  });
}

// The gradients of offsets and mask, from that of the unfolded image.
template <class T>
void differentiate_places(const DeformableSizes& s, const Places<T>& places, const T* x, const T* columns, T* doffsets,
                          T* dmask) {
  std::int64_t channels = s.x[1] / s.offset_groups, work = std::max<std::int64_t>(1, channels * s.y_area());
  parallel_ranges(s.offset_groups * s.taps(), 1 + 5'000 / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      std::int64_t g = at / s.taps(), k = at % s.taps();
      for (std::int64_t p = 0; p < s.y_area(); ++p) {
        Corners<T> c = places.corners(g, k, p);
        T row = 0, column = 0, value = 0;
        for (std::int64_t channel = g * channels; channel < (g + 1) * channels; ++channel) {
          const T* plane = x + channel * s.x_area();
          T d = columns[(channel * s.taps() + k) * s.y_area() + p];
          row += d * read(c, c.by_row, plane);
          column += d * read(c, c.by_column, plane);
          value += d * read(c, c.weight, plane);
        }
        T factor = places.factor(g, k, p);
        doffsets[at * 2 * s.y_area() + p] = factor * row;
        doffsets[(at * 2 + 1) * s.y_area() + p] = factor * column;
        if (dmask) dmask[at * s.y_area() + p] = value;
      }
    }
  });
}

}  // namespace

template <class T>
void deformable(const DeformableSizes& s, const DeformableInputs<T>& in, T* y, void* scratch) {
  T* columns = static_cast<T*>(scratch);
  std::int64_t out = s.y[1] / s.groups, inner = s.x[1] / s.groups * s.taps(), area = s.y_area();
  for (std::int64_t image = 0; image < s.x[0]; ++image) {
    unfold(s, Places<T>(s, in, image), in.x + image * s.x[1] * s.x_area(), columns);
    for (std::int64_t g = 0; g < s.groups; ++g)
      gemm(dense_gemm(out, area, inner), T(1), in.weight + g * out * inner, columns + g * inner * area, T(0),
           y + (image * s.groups + g) * out * area);
  }
}

template <class T>
void deformable_gradient(const DeformableSizes& s, const DeformableInputs<T>& in, const T* dy,
                         const DeformableGradients<T>& result, void* scratch) {
  T *columns = static_cast<T*>(scratch), *dcolumns = columns + s.unfolded();
  std::int64_t out = s.y[1] / s.groups, inner = s.x[1] / s.groups * s.taps(), area = s.y_area();
  std::int64_t places = s.offset_groups * s.taps() * area;
  std::fill_n(result.weight, s.weight.elements(), T(0));
  for (std::int64_t image = 0; image < s.x[0]; ++image) {
    Places<T> at(s, in, image);
    const T* x = in.x + image * s.x[1] * s.x_area();
    unfold(s, at, x, columns);
    for (std::int64_t g = 0; g < s.groups; ++g) {
      const T* dy_at = dy + (image * s.groups + g) * out * area;
      gemm(dense_gemm(inner, area, out, true, false), T(1), in.weight + g * out * inner, dy_at, T(0),
           dcolumns + g * inner * area);
      gemm(dense_gemm(out, inner, area, false, true), T(1), dy_at, columns + g * inner * area, T(1),
           result.weight + g * out * inner);
    }
    fold(s, at, dcolumns, result.x + image * s.x[1] * s.x_area());
    differentiate_places(s, at, x, dcolumns, result.offsets + image * 2 * places,
                         result.mask ? result.mask + image * places : nullptr);
  }
}

template void deformable(const DeformableSizes&, const DeformableInputs<float>&, float*, void*);
template void deformable(const DeformableSizes&, const DeformableInputs<double>&, double*, void*);
template void deformable_gradient(const DeformableSizes&, const DeformableInputs<float>&, const float*,
                                  const DeformableGradients<float>&, void*);
template void deformable_gradient(const DeformableSizes&, const DeformableInputs<double>&, const double*,
                                  const DeformableGradients<double>&, void*);

}  // namespace reprise::kernels
