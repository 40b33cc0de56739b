// SPDX-License-Identifier: Apache-2.0
#include "kernels/resize.h"

#include "kernels/random_data.h"

namespace reprise::kernels::resize_tests {
namespace {

using testing::expect_close;
using testing::RandomData;

ResizeAxis random_axis(RandomData& random) {
  ResizeAxis axis{random.size(1, 6), {}};
  std::int64_t count = random.size(1, 9);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t first = random.size(0, axis.size - 1);
    double weight = random.coin() ? 0 : random.array<double>(1, 0, 1)[0];
    axis.taps.push_back({first, std::min(first + 1, axis.size - 1), weight});
  }
  return axis;
}

Resize random_resize(RandomData& random) {
  Resize r{random.size(1, 4), {}};
  for (std::size_t d = static_cast<std::size_t>(random.size(0, 2)); d < 3; ++d) r.axes[d] = random_axis(random);
  return r;
}

// By definition: calls f(output, input, weight) for each of the eight inputs that an output element is made of.
template <class F>
void each_share(const Resize& r, const F& f) {
  std::size_t out = 0;
  for (std::int64_t plane = 0; plane < r.planes; ++plane)
    for (const auto& a : r.axes[0].taps)
      for (const auto& b : r.axes[1].taps)
        for (const auto& c : r.axes[2].taps) {
          for (int corner = 0; corner < 8; ++corner) {
            auto at = [&](const ResizeAxis::Tap& t, int bit) { return corner >> bit & 1 ? t.second : t.first; };
            auto share = [&](const ResizeAxis::Tap& t, int bit) { return corner >> bit & 1 ? t.weight : 1 - t.weight; };
            std::int64_t in =
                ((plane * r.axes[0].size + at(a, 2)) * r.axes[1].size + at(b, 1)) * r.axes[2].size + at(c, 0);
            f(out, static_cast<std::size_t>(in), share(a, 2) * share(b, 1) * share(c, 0));
          }
          ++out;
        }
}

template <class T>
void expect_like_the_definition(std::uint64_t seed) {
  RandomData random(seed);
  for (int i = 0; i < 300; ++i) {
    Resize r = random_resize(random);
    std::vector<T> x = random.array<T>(r.planes * r.in_size()), dy = random.array<T>(r.planes * r.out_size());
    std::vector<T> y(dy.size(), T(7)), dx(x.size(), T(7)), want_y(dy.size()), want_dx(x.size());
    each_share(r, [&](std::size_t out, std::size_t in, double share) {
      want_y[out] += static_cast<T>(share) * x[in];
      want_dx[in] += static_cast<T>(share) * dy[out];
    });
    resize(r, x.data(), y.data());
    resize_adjoint(r, dy.data(), dx.data());
    expect_close(y, want_y, testing::rounding_bound<T>);
    expect_close(dx, want_dx, testing::rounding_bound<T>);
  }
}

TEST(Resize, AgreesWithItsDefinitionBothWays) {
  expect_like_the_definition<float>(1);
  expect_like_the_definition<double>(2);
}

}  // namespace
}  // namespace reprise::kernels::resize_tests
