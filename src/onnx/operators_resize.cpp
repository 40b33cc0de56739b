// SPDX-License-Identifier: Apache-2.0
// Resampling. What our resize op cannot say is done one axis after the other: by a choice of elements, or by a matrix
// of weights.
#include <algorithm>
#include <cmath>

#include "onnx/operators.h"

namespace reprise::onnx {
namespace {

struct Resampling {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false;
};

// One axis: in elements become out elements.
struct AxisChange {
  int axis = 0;
  std::int64_t in = 0, out = 0;
  double scale = 1, resized = 0;  // resized: in · scale, of which out is the whole part
  double roi_begin = 0, roi_end = 1;
};

double place_of(const Resampling& r, const AxisChange& a, std::int64_t i) {
  double at = static_cast<double>(i), in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  if (r.coordinates == "asymmetric") return at / a.scale;
  if (r.coordinates == "align_corners") return a.out > 1 ? at * (in - 1) / (a.resized - 1) : 0;
  if (r.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / a.scale;
  if (r.coordinates == "pytorch_half_pixel") return a.out > 1 ? (at + 0.5) / a.scale - 0.5 : 0;
  if (r.coordinates == "half_pixel_symmetric") {
    double wanted = in * a.scale, offset = in / 2 * (1 - out / wanted);
    return offset + (at + 0.5) / a.scale - 0.5;
  }
  if (r.coordinates == "tf_crop_and_resize")
    return a.out > 1 ? a.roi_begin * (in - 1) + at * (a.roi_end - a.roi_begin) * (in - 1) / (out - 1)
                     : 0.5 * (a.roi_begin + a.roi_end) * (in - 1);
  return (at + 0.5) / a.scale - 0.5;  // half_pixel
}

double rounded_place(const std::string& how, double at) {
  if (how == "floor") return std::floor(at);
  if (how == "ceil") return std::ceil(at);
  return how == "round_prefer_ceil" ? std::floor(at + 0.5) : std::ceil(at - 0.5);
}

std::int64_t inside(double at, std::int64_t size) {
  return static_cast<std::int64_t>(std::clamp(at, 0.0, static_cast<double>(size - 1)));
}

Value choose_nearest(const Value& x, const Resampling& r, const AxisChange& a) {
  std::vector<std::int64_t> from;
  for (std::int64_t i = 0; i < a.out; ++i) from.push_back(inside(rounded_place(r.nearest, place_of(r, a, i)), a.in));
  return gather(x, Value(Tensor::from(from, {a.out})), a.axis);
}

// Keys' kernel of the four elements around a point (Cubic convolution interpolation, 1981).
double cubic_weight(double a, double distance) {
  double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Row i: the weights of x's elements in element i of the result.
Tensor weights_of(const Resampling& r, const AxisChange& a, DType dtype) {
  bool cubic = r.mode == "cubic";
  std::vector<double> rows(static_cast<std::size_t>(a.in * a.out), 0);
  for (std::int64_t i = 0; i < a.out; ++i) {
    double at = place_of(r, a, i), total = 0;
    if (!cubic) at = std::clamp(at, 0.0, static_cast<double>(a.in - 1));
    double left = std::floor(at), taps[4];
    for (int tap = -1; tap <= 2; ++tap) {
      double distance = at - left - tap, where = left + tap;
      bool outside = where < 0 || where > static_cast<double>(a.in - 1);
      double weight = cubic ? cubic_weight(r.cubic_a, distance) : std::max(0.0, 1 - std::fabs(distance));
      taps[tap + 1] = r.exclude_outside && outside ? 0 : weight;
      total += taps[tap + 1];
    }
    for (int tap = -1; tap <= 2; ++tap)
      rows[static_cast<std::size_t>(i * a.in + inside(left + tap, a.in))] +=
          taps[tap + 1] / (r.exclude_outside ? total : 1);
  }
  return Tensor::from(rows, {a.out, a.in}).to(dtype);
}

// Where the result lies outside x, which tf_crop_and_resize fills.
Value fill_outside(const Value& y, const Resampling& r, const AxisChange& a) {
  Tensor outside = Tensor::zeros({DType::boolean, {a.out}});
  for (std::int64_t i = 0; i < a.out; ++i) {
    double at = place_of(r, a, i);
    outside.span<bool>()[static_cast<std::size_t>(i)] = at < 0 || at > static_cast<double>(a.in - 1);
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(y.rank()), 1);
  sizes[static_cast<std::size_t>(a.axis)] = a.out;
  return where(Value(outside.reshape(Shape(sizes))), number(r.extrapolation, y), y);
}

Value along_axis(const Value& x, const Resampling& r, const AxisChange& a) {
  if (a.in < 1 || a.out < 1) unsupported("sizes of 0 are not supported");
  std::int64_t table = r.mode == "nearest" ? a.out : a.in > most_folded_bytes ? a.in : a.in * a.out;
  if (a.out > most_folded_bytes || table > most_folded_bytes / 8)
    unsupported(
        "{} to {} elements in mode \"{}\" is too much: use linear or nearest with half_pixel or asymmetric "
        "coordinates over the last dimensions",
        a.in, a.out, r.mode);
  Value y = r.mode == "nearest"
                ? choose_nearest(x, r, a)
                : end_to_axis(matmul(axis_to_end(x, a.axis), Value(weights_of(r, a, x.dtype())), false, true), a.axis);
  return r.coordinates == "tf_crop_and_resize" ? fill_outside(y, r, a) : y;
}

// Whether our own op means the same.
bool is_ours(const Value& x, const Resampling& r, const std::vector<AxisChange>& changes) {
  if (x.rank() < 3 || x.rank() > 5 || !is_float(x.dtype()) || r.mode == "cubic") return false;
  for (const AxisChange& a : changes) {
    if (a.axis < 2 && a.in == a.out && a.scale == 1) continue;
    if (a.axis < 2 || a.out > 1 << 24) return false;
    if (a.scale != static_cast<double>(a.out) / static_cast<double>(a.in)) return false;
    if (r.coordinates == "pytorch_half_pixel" && a.out == 1) return false;
  }
  bool halves = r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel";
  if (r.mode == "nearest")
    return r.coordinates == "asymmetric" ? r.nearest == "floor" : halves && r.nearest == "round_prefer_floor";
  return halves || r.coordinates == "asymmetric" || r.coordinates == "align_corners";
}

Value by_our_op(const Value& x, const Resampling& r, const std::vector<AxisChange>& changes) {
  std::vector<std::int64_t> size(x.shape().begin() + 2, x.shape().end());
  for (const AxisChange& a : changes)
    if (a.axis >= 2) size[static_cast<std::size_t>(a.axis) - 2] = a.out;
  return resize(x, size,
                {.linear = r.mode == "linear",
                 .align_corners = r.coordinates == "align_corners",
                 .half_pixel = r.coordinates != "asymmetric"});
}

Value resampled(const NodeCall& c, const Resampling& r, const std::vector<AxisChange>& changes) {
  Value x = c.in(0);
  std::vector<std::int64_t> sizes = x.shape().sizes();
  for (const AxisChange& a : changes) sizes[static_cast<std::size_t>(a.axis)] = a.out;
  checked_shape(c, sizes);
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic")
    unsupported("mode \"{}\" is not supported", r.mode);
  bool crops = r.coordinates == "tf_crop_and_resize";
  if (is_ours(x, r, changes)) return by_our_op(x, r, changes);
  if (r.mode != "nearest" && !is_float(x.dtype())) unsupported("mode \"{}\" of integers is not supported", r.mode);
  for (const AxisChange& a : changes)
    if (crops || a.in != a.out || a.scale != 1) x = along_axis(x, r, a);
  return x;
}

std::vector<AxisChange> scaled_axes(const Value& x, const std::vector<int>& axes, const std::vector<double>& scales) {
  if (scales.size() != axes.size())
    fail("[onnx] {} scales for {} axes of {}", scales.size(), axes.size(), to_string(x.type()));
  std::vector<AxisChange> changes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t in = x.shape()[axes[i]];
    double out = std::floor(static_cast<double>(in) * scales[i]);
    if (!(scales[i] > 0 && out < 0x1p40)) fail("[onnx] scale {} of {} is out of range", scales[i], to_string(x.type()));
    changes.push_back({axes[i], in, static_cast<std::int64_t>(out), scales[i], static_cast<double>(in) * scales[i]});
  }
  return changes;
}

std::vector<AxisChange> sized_axes(const Value& x, const std::vector<int>& axes,
                                   const std::vector<std::int64_t>& sizes) {
  if (sizes.size() != axes.size())
    fail("[onnx] {} sizes for {} axes of {}", sizes.size(), axes.size(), to_string(x.type()));
  std::vector<AxisChange> changes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t in = x.shape()[axes[i]];
    if (in < 1 || sizes[i] < 1 || sizes[i] > std::int64_t{1} << 40)
      fail("[onnx] a size of {} becomes {}: both must be 1 or more", in, sizes[i]);
    auto size = static_cast<double>(sizes[i]);
    changes.push_back({axes[i], in, sizes[i], size / static_cast<double>(in), size});
  }
  return changes;
}

std::vector<int> resized_axes(const NodeCall& c, int rank) {
  std::vector<int> axes;
  for (std::int64_t axis : c.integers("axes")) axes.push_back(axis_of(c, axis, rank));
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

bool is_filled(const NodeCall& c, int i) { return c.has(i) && c.in(i).type().elements() > 0; }

// Inputs: x, roi, scales, sizes; the last two exclude each other.
Values resized(const NodeCall& c) {
  Value x = c.in(0);
  if (c.flag("antialias")) unsupported("antialias is not supported: export without it");
  if (c.text("keep_aspect_ratio_policy", "stretch") != "stretch")
    unsupported("keep_aspect_ratio_policy is not supported: give the sizes");
  Resampling r{.mode = c.text("mode", "nearest"),
               .coordinates = c.text("coordinate_transformation_mode", "half_pixel"),
               .nearest = c.text("nearest_mode", "round_prefer_floor"),
               .cubic_a = c.real("cubic_coeff_a", -0.75),
               .extrapolation = c.real("extrapolation_value", 0),
               .exclude_outside = c.flag("exclude_outside")};
  std::vector<int> axes = resized_axes(c, x.rank());
  auto changes = is_filled(c, 3) ? sized_axes(x, axes, c.integers_of(3)) : scaled_axes(x, axes, c.reals_of(2));
  if (r.coordinates == "tf_crop_and_resize") {
    std::vector<double> roi = c.reals_of(1);
    if (roi.size() != 2 * axes.size()) fail("[onnx] {} numbers of roi for {} axes", roi.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
      changes[i].roi_begin = roi[i], changes[i].roi_end = roi[i + axes.size()];
  }
  return {resampled(c, r, changes)};
}

// The form of opset 10, and Upsample: positions are elements' left edges.
Values resized_by_edges(const NodeCall& c) {
  Value x = c.in(0);
  Resampling r{.mode = c.text("mode", "nearest"), .coordinates = "asymmetric", .nearest = "floor"};
  if (r.mode == "bilinear") r.mode = "linear";
  std::vector<double> scales = c.has_attribute("scales") ? c.reals("scales") : c.reals_of(1);
  return {resampled(c, r, scaled_axes(x, resized_axes(c, x.rank()), scales))};
}

constexpr Operator resize_table[] = {
    {"Resize", 10, 10, computes, resized_by_edges, 0b10},
    {"Resize", 11, 21, computes, resized, 0b1110},
    {"Upsample", 7, 10, computes, resized_by_edges, 0b10},
};

}  // namespace

std::span<const Operator> resize_operators() { return resize_table; }

}  // namespace reprise::onnx
