// SPDX-License-Identifier: Apache-2.0
// Resampling images to other sizes, and its adjoint; each is the other's gradient.
#include "kernels/resize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

using kernels::Resize;
using kernels::ResizeAxis;

enum class Coordinates { half_pixel, align_corners, asymmetric };

Coordinates coordinates_of(const Signature& s) {
  const std::string& text = s.text("coordinates");
  if (text == "half_pixel") return Coordinates::half_pixel;
  if (text == "align_corners") return Coordinates::align_corners;
  if (text == "asymmetric") return Coordinates::asymmetric;
  fail("[{}] coordinates '{}' are unknown: half_pixel, align_corners or asymmetric", s.name(), text);
}

bool is_nearest(const Signature& s) {
  const std::string& mode = s.text("mode");
  if (mode != "nearest" && mode != "linear") fail("[{}] mode '{}' is unknown: nearest or linear", s.name(), mode);
  return mode == "nearest";
}

// Where output element i of `out` lies among the `in` elements.
double position(Coordinates c, std::int64_t i, std::int64_t in, std::int64_t out) {
  double at = static_cast<double>(i), from = static_cast<double>(in), to = static_cast<double>(out);
  if (c == Coordinates::align_corners) return out > 1 ? at * (from - 1) / (to - 1) : 0;
  return c == Coordinates::half_pixel ? (at + 0.5) * from / to - 0.5 : at * from / to;
}

// Asymmetric coordinates name an element's left edge, the others its middle; a tie goes to the left.
std::int64_t nearest(Coordinates c, double at) {
  return static_cast<std::int64_t>(c == Coordinates::asymmetric ? std::floor(at) : std::ceil(at - 0.5));
}

ResizeAxis axis_of(const Signature& s, std::int64_t in, std::int64_t out) {
  ResizeAxis axis{in, {}};
  Coordinates c = coordinates_of(s);
  for (std::int64_t i = 0; i < out; ++i) {
    double at = std::clamp(position(c, i, in, out), 0.0, static_cast<double>(in - 1));
    std::int64_t first =
        is_nearest(s) ? std::clamp<std::int64_t>(nearest(c, at), 0, in - 1) : static_cast<std::int64_t>(std::floor(at));
    double weight = is_nearest(s) ? 0 : at - static_cast<double>(first);
    axis.taps.push_back({first, std::min(first + 1, in - 1), weight});
  }
  return axis;
}

Resize resize_of(const Signature& s, const Shape& x, const Shape& y) {
  Resize r{x[0] * x[1], {}};
  int rank = x.rank() - 2;
  for (int d = 0; d < rank; ++d) r.axes[static_cast<std::size_t>(3 - rank + d)] = axis_of(s, x[d + 2], y[d + 2]);
  return r;
}

// The input's shape with the spatial sizes of this attribute.
std::vector<Type> resized_type(const Signature& s, std::string_view attribute) {
  expect_arity(s, 1);
  expect_float(s);
  const Shape& x = s.in().shape;
  const auto& sizes = s.integers(attribute);
  if (x.rank() < 3 || x.rank() > 5 || static_cast<int>(sizes.size()) != x.rank() - 2)
    fail("[{}] {} and {} {} sizes: one size for each of one to three spatial dimensions of [n,channels,spatial...]",
         s.name(), to_string(s.in()), sizes.size(), attribute);
  coordinates_of(s);
  is_nearest(s);
  Shape y{x[0], x[1]};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 1 || sizes[d] > 1 << 24 || x[static_cast<int>(d) + 2] < 1)
      fail("[{}] spatial size {} of {} becomes {}: both must be 1 or more", s.name(), x[static_cast<int>(d) + 2],
           to_string(s.in()), sizes[d]);
    y.push_back(sizes[d]);
  }
  return {{s.in().dtype, y}};
}

Attributes other_way(const Call& c, std::string_view size_name) {
  const Shape& shape = c.in().shape();
  return {{"mode", c.text("mode")},
          {"coordinates", c.text("coordinates")},
          {std::string(size_name), std::vector<std::int64_t>(shape.begin() + 2, shape.end())}};
}

const Op resize_table[] = {
    {.name = "resize",
     .infer = [](const Signature& s) { return resized_type(s, "size"); },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[r = resize_of(s, s.in().shape, s.out().shape)](const Buffers& b) {
           kernels::resize(r, b.in<T>(), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("resize_grad", {dy[0]}, other_way(c, "input_size"))};
     },
     .cost = per_element<8>,
     .examples = R"(f32[2,3,4] size=[7] mode="linear" coordinates="half_pixel"; )"
                 R"(f32[1,2,3,4] size=[5,6] mode="linear" coordinates="align_corners"; )"
                 R"(f32[1,2,5,6] size=[3,4] mode="linear" coordinates="half_pixel"; )"
                 R"(f32[1,2,3,4] size=[6,8] mode="nearest" coordinates="asymmetric"; )"
                 R"(f32[1,1,3,4,2] size=[2,5,3] mode="linear" coordinates="asymmetric"; )"
                 R"(f32[1,2,5,3] size=[2,7] mode="nearest" coordinates="half_pixel"; )"
                 R"(f32[1,2,1,3] size=[1,1] mode="nearest" coordinates="align_corners"; )"
                 R"(f32[0,2,3] size=[2] mode="linear" coordinates="half_pixel")",
     .onnx = "Resize",
     .doc = "resampled to other spatial sizes: nearest neighbour or linear in every dimension"},
    {.name = "resize_grad",
     .infer = [](const Signature& s) { return resized_type(s, "input_size"); },
     .forward = [](const Signature& s) -> Kernel {
       return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[r = resize_of(s, s.out().shape, s.in().shape)](const Buffers& b) {
           kernels::resize_adjoint(r, b.in<T>(), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("resize", {dy[0]}, other_way(c, "size"))};
     },
     .cost = per_element<8>,
     .examples = R"(f32[2,3,7] input_size=[4] mode="linear" coordinates="half_pixel"; )"
                 R"(f32[1,2,5,6] input_size=[3,4] mode="linear" coordinates="align_corners"; )"
                 R"(f32[1,2,6,8] input_size=[3,4] mode="nearest" coordinates="asymmetric"; )"
                 R"(f32[0,2,3] input_size=[2] mode="linear" coordinates="half_pixel")",
     .doc = "gradient of resize"},
};

}  // namespace

std::span<const Op> resize_ops() { return resize_table; }

Value resize(const Value& x, const std::vector<std::int64_t>& size, const ResizeOptions& options) {
  auto text = [](const char* t) { return std::string(t); };
  std::string coordinates = options.align_corners ? text("align_corners")
                            : options.half_pixel  ? text("half_pixel")
                                                  : text("asymmetric");
  return record("resize", {x},
                {{"size", size}, {"mode", text(options.linear ? "linear" : "nearest")}, {"coordinates", coordinates}});
}

Value upsample_nearest(const Value& x, std::int64_t factor) {
  if (factor < 1) fail("[upsample_nearest] factor {}: give 1 or more", factor);
  std::vector<std::int64_t> size;
  for (int d = 2; d < x.rank(); ++d) size.push_back(x.shape()[d] * factor);
  return as_told_by("upsample_nearest", [&] { return resize(x, size, {.linear = false, .half_pixel = false}); });
}

}  // namespace reprise
