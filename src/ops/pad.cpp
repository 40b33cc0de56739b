// SPDX-License-Identifier: Apache-2.0
// Padding with a constant, with a mirror image, or with the border; and its adjoint.
#include <algorithm>

#include "base/error.h"
#include "kernels/copy.h"
#include "kernels/pad.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

bool is_constant_pad(const Signature& s) { return s.text("mode") == "constant"; }

// The shape with padding; checks every attribute.
Shape padded(const Signature& s, const Shape& shape) {
  const auto &before = s.integers("before"), &after = s.integers("after");
  const std::string& mode = s.text("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge")
    fail("[{}] there is no mode '{}': use constant, reflect or edge", s.name(), mode);
  if (before.size() != after.size() || static_cast<int>(before.size()) != shape.rank())
    fail("[{}] {} and {} pads for {}: give two an axis", s.name(), before.size(), after.size(), to_string(shape));
  Shape result = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t b = before[static_cast<std::size_t>(axis)], a = after[static_cast<std::size_t>(axis)];
    std::int64_t most = mode == "reflect" ? shape[axis] - 1 : shape[axis] == 0 && mode == "edge" ? 0 : to_end;
    if (b < 0 || a < 0) fail("[{}] pad of {} and {} on axis {} is negative: slice instead", s.name(), b, a, axis);
    if (std::max(a, b) > std::max<std::int64_t>(0, most))
      fail("[{}] axis {} of {} is too short for {} pads of {} and {}: pad less, or with a constant", s.name(), axis,
           to_string(shape), mode, b, a);
    result[axis] += b + a;
  }
  return result;
}

Shape unpadded(const Signature& s) {
  Shape small;
  const auto &before = s.integers("before"), &after = s.integers("after");
  for (std::size_t i = 0; i < std::min({s.in().shape.sizes().size(), before.size(), after.size()}); ++i)
    small.push_back(s.in().shape[static_cast<int>(i)] - before[i] - after[i]);
  return small;
}

std::int64_t shown(const std::string& mode, std::int64_t at, std::int64_t size) {
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  return at < 0 ? -at : at >= size ? 2 * (size - 1) - at : at;
}

kernels::MirrorPad mirror(const Signature& s, const Shape& small, const Shape& large) {
  kernels::MirrorPad p{small, large, {}, 0};
  bool plain = true;
  for (int axis = 0; axis < small.rank(); ++axis) {
    std::vector<std::int64_t>& from = p.source.emplace_back();
    for (std::int64_t i = 0; i < large[axis]; ++i)
      from.push_back(shown(s.text("mode"), i - s.integers("before")[static_cast<std::size_t>(axis)], small[axis]));
    plain = plain && small[axis] == large[axis];
    if (plain) ++p.batch_axes;
  }
  return p;
}

Kernel constant_pad(const Signature& s) {
  Shape strides = s.out().shape.strides();
  std::int64_t offset = 0;
  for (int axis = 0; axis < strides.rank(); ++axis)
    offset += s.integers("before")[static_cast<std::size_t>(axis)] * strides[axis];
  kernels::StridedCopy copy(size_of(s.in().dtype), s.in().shape, s.in().shape.strides(), strides);
  return with_dtype(s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[=, n = s.out().elements(), value = convert<T>(s.real("value"))](const Buffers& b) {
      kernels::parallel_ranges(n, 1 << 15, [&](std::int64_t begin, std::int64_t end) {
        std::fill(b.out<T>() + begin, b.out<T>() + end, value);
      });
      copy.run(b.in<T>(), b.out<T>() + offset);
    }};
  });
}

Attributes pad_attributes(const Call& c) {
  return {{"after", c.integers("after")}, {"before", c.integers("before")}, {"mode", c.text("mode")}};
}

const Op pad_table[] = {
    {.name = "pad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       Shape shape = padded(s, s.in().shape);
       if (is_constant_pad(s)) expect_holds(s.name(), s.in().dtype, s.real("value"));
       return {{s.in().dtype, shape}};
     },
     .forward = [](const Signature& s) -> Kernel {
       if (is_constant_pad(s)) return constant_pad(s);
       return with_dtype(s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[p = mirror(s, s.in().shape, s.out().shape)](const Buffers& b) {
           kernels::mirror_pad(p, b.in<T>(), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       if (c.text("mode") != "constant") return {record("pad_grad", {dy[0]}, pad_attributes(c))};
       std::vector<std::int64_t> axes, starts, stops;
       for (int axis = 0; axis < c.in().rank(); ++axis) {
         axes.push_back(axis);
         starts.push_back(c.integers("before")[static_cast<std::size_t>(axis)]);
         stops.push_back(starts.back() + c.in().shape()[axis]);
       }
       return {slice(dy[0], axes, starts, stops)};
     },
     .examples =
         R"(f32[2,3] before=[0,1] after=[2,0] mode="constant" value=1.5; f32[4] before=[3] after=[2] mode="reflect";
       f32[2,3,3] before=[0,1,2] after=[0,2,1] mode="reflect"; f32[2,2] before=[3,0] after=[1,2] mode="edge";
       f32[0,2] before=[1,1] after=[0,0] mode="constant" value=0.0; f32[] before=[] after=[] mode="edge";
       i64[2]{0..9} before=[1] after=[1] mode="edge"; f32[1] before=[2] after=[1] mode="edge")",
     .onnx = "Pad",
     .doc = "more elements around: constant, reflect or edge"},
    {.name = "pad_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_number(s);
       Shape small = as_told_by(s.name(), [&] { return unpadded(s); });
       if (is_constant_pad(s) || padded(s, small) != s.in().shape)
         fail("[pad_grad] {} is padded with a constant: slice it instead", to_string(s.in()));
       return {{s.in().dtype, small}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_number("pad_grad", s.in().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[p = mirror(s, s.out().shape, s.in().shape)](const Buffers& b) {
           kernels::mirror_pad_adjoint(p, b.in<T>(), b.out<T>());
         }};
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {pad(dy[0], c.integers("before"), c.integers("after"), c.text("mode"))};
     },
     .examples = R"(f32[7] before=[2] after=[1] mode="reflect"; f32[2,6,4] before=[0,2,1] after=[0,1,0] mode="edge")",
     .doc = "the adjoint of reflect and edge padding"},
};

}  // namespace

std::span<const Op> pad_ops() { return pad_table; }

Value pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
          double value) {
  return record("pad", {x},
                {{"after", after}, {"before", before}, {"mode", std::string("constant")}, {"value", value}});
}

Value pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
          std::string_view mode) {
  if (mode == "constant") return pad(x, before, after, 0.0);
  return record("pad", {x}, {{"after", after}, {"before", before}, {"mode", std::string(mode)}});
}

}  // namespace reprise
