// SPDX-License-Identifier: Apache-2.0
#include "kernels/resize.h"

#include <algorithm>

#include "kernels/parallel.h"

namespace reprise::kernels {
namespace {

using Tap = ResizeAxis::Tap;

template <class F>
void for_planes(const Resize& r, const F& f) {
  std::int64_t work = std::max<std::int64_t>(1, r.in_size() + r.out_size());
  parallel_ranges(r.planes, 1 + 30'000 / work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) f(plane);
  });
}

// Calls f(input row, its weight) for the rows that an output row (d, h) is made of.
template <class F>
void for_source_rows(const Resize& r, const Tap& d, const Tap& h, const F& f) {
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      double weight = (i ? d.weight : 1 - d.weight) * (j ? h.weight : 1 - h.weight);
      if (weight != 0) f((i ? d.second : d.first) * r.axes[1].size + (j ? h.second : h.first), weight);
    }
}

// Calls f(output row, input row, weight) for all pairs in a plane.
template <class F>
void for_row_pairs(const Resize& r, const F& f) {
  std::int64_t out = 0;
  for (const Tap& d : r.axes[0].taps)
    for (const Tap& h : r.axes[1].taps) {
      for_source_rows(r, d, h, [&](std::int64_t in, double weight) { f(out, in, weight); });
      ++out;
    }
}

}  // namespace

template <class T>
void resize(const Resize& r, const T* x, T* y) {
  const auto& taps = r.axes[2].taps;
  for_planes(r, [&](std::int64_t plane) {
    T* out = y + plane * r.out_size();
    std::fill_n(out, r.out_size(), T(0));
    for_row_pairs(r, [&](std::int64_t row, std::int64_t from, double weight) {
      T* to = out + row * static_cast<std::int64_t>(taps.size());
      const T* in = x + plane * r.in_size() + from * r.axes[2].size;
      for (const Tap& t : taps) {
        T second = static_cast<T>(weight * t.weight), first = static_cast<T>(weight) - second;
        *to++ += first * in[t.first] + second * in[t.second];
      }
    });
  });
}

template <class T>
void resize_adjoint(const Resize& r, const T* dy, T* dx) {
  const auto& taps = r.axes[2].taps;
  for_planes(r, [&](std::int64_t plane) {
    const T* in = dy + plane * r.out_size();
    T* out = dx + plane * r.in_size();
    std::fill_n(out, r.in_size(), T(0));
    for_row_pairs(r, [&](std::int64_t row, std::int64_t into, double weight) {
      const T* from = in + row * static_cast<std::int64_t>(taps.size());
      T* to = out + into * r.axes[2].size;
      for (const Tap& t : taps) {
        T second = static_cast<T>(weight * t.weight), first = static_cast<T>(weight) - second;
        to[t.first] += first * *from;
        to[t.second] += second * *from++;
      }
    });
  });
}

template void resize(const Resize&, const float*, float*);
template void resize(const Resize&, const double*, double*);
template void resize_adjoint(const Resize&, const float*, float*);
template void resize_adjoint(const Resize&, const double*, double*);

}  // namespace reprise::kernels
