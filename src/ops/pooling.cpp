// SPDX-License-Identifier: Apache-2.0
// Pooling: sliding windows (kernel, strides, pads, dilations, ceil_mode) or adaptive ones (output_size), in one family.
#include "kernels/pooling.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "ops/window.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

using kernels::PoolAxis;
using kernels::Pooling;

int spatial_rank(const Signature& s, const Shape& x) {
  int rank = x.rank() - 2;
  if (rank < 1 || rank > 3)
    fail(
        "[{}] {} is no signal or image: it needs the form [n,channels,spatial...] with one to three spatial dimensions",
        s.name(), to_string(x));
  return rank;
}

const std::vector<std::int64_t>& sizes(const Signature& s, std::string_view name, int rank) {
  const auto& numbers = s.integers(name);
  if (static_cast<int>(numbers.size()) != rank)
    fail("[{}] {} has {} numbers: {} needs {}", s.name(), name, numbers.size(), to_string(s.in()), rank);
  for (std::int64_t n : numbers)
    if (n < 1 || n > 1 << 24) fail("[{}] {} holds {}: give 1 or more", s.name(), name, n);
  return numbers;
}

// Window i of an adaptive pool covers the elements that its share of the input touches.
PoolAxis adaptive_axis(std::int64_t size, std::int64_t count) {
  PoolAxis axis{size, 1, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    axis.windows.push_back({begin, end, 1.0 / static_cast<double>(end - begin)});
  }
  return axis;
}

PoolAxis sliding_axis(const Signature& s, std::int64_t size, std::int64_t kernel, const Window& w, int d, bool padded) {
  std::int64_t step = w.dilations[d], count = window_count(size, kernel, w, d, s.flag("ceil_mode"));
  PoolAxis axis{size, step, {}};
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t first = i * w.strides[d] - w.pads_begin[d], last = first + kernel * step;
    std::int64_t begin = first < 0 ? first + (-first + step - 1) / step * step : first, end = std::min(last, size);
    if (begin >= end)
      fail("[{}] window {} of dimension {} lies in the padding alone: pad {}+{} less, or widen the kernel of {}",
           s.name(), i, d, w.pads_begin[d], w.pads_end[d], kernel);
    // The padding that was asked for counts; what ceil_mode reaches past it does not.
    std::int64_t in_padded = (std::min(last, size + w.pads_end[d]) - first + step - 1) / step;
    std::int64_t elements = padded ? in_padded : (end - begin + step - 1) / step;
    axis.windows.push_back({begin, end, 1.0 / static_cast<double>(elements)});
  }
  return axis;
}

Pooling pooling_of(const Signature& s, const Shape& x) {
  int rank = spatial_rank(s, x);
  Pooling p{x[0] * x[1], {}};
  for (auto& axis : p.axes) axis.windows = {{0, 1, 1.0}};
  bool adaptive = s.has("output_size");
  bool padded = s.has("count_include_pad") && s.flag("count_include_pad");
  for (int d = 0; d < rank; ++d) {
    std::int64_t size = x[d + 2];
    PoolAxis& axis = p.axes[static_cast<std::size_t>(3 - rank + d)];
    auto i = static_cast<std::size_t>(d);
    std::int64_t given = sizes(s, adaptive ? "output_size" : "kernel", rank)[i];
    axis = adaptive ? adaptive_axis(size, given) : sliding_axis(s, size, given, window_of(s, rank), d, padded);
    if (axis.windows.empty() || size == 0)
      fail("[{}] no window fits the {} elements of spatial dimension {} of {}: pad, or take a smaller kernel", s.name(),
           size, d, to_string(x));
  }
  return p;
}

Shape pooled(const Shape& x, const Pooling& p) {
  Shape y{x[0], x[1]};
  int rank = x.rank() - 2;
  for (int d = 3 - rank; d < 3; ++d)
    y.push_back(static_cast<std::int64_t>(p.axes[static_cast<std::size_t>(d)].windows.size()));
  return y;
}

std::vector<Type> pool_type(const Signature& s) {
  expect_arity(s, 1);
  expect_float(s);
  return {{s.in().dtype, pooled(s.in().shape, pooling_of(s, s.in().shape))}};
}

// Two inputs: x, and a second of x's shape or of the pooled shape.
void expect_second(const Signature& s, bool is_pooled) {
  expect_arity(s, 2);
  expect_float(s);
  expect_same_dtype(s);
  const Shape& x = s.in(0).shape;
  Shape wanted = is_pooled ? pooled(x, pooling_of(s, x)) : x;
  if (!is_pooled) pooling_of(s, x);
  if (s.in(1).shape != wanted)
    fail("[{}] input 1 is {}: with x {} and these attributes it must have shape {}", s.name(), to_string(s.in(1)),
         to_string(s.in(0)), to_string(wanted));
}

// The shape of avg_pool's input, from its gradient and the attribute "size".
Shape unpooled(const Signature& s) {
  int rank = spatial_rank(s, s.in().shape);
  Shape x{s.in().shape[0], s.in().shape[1]};
  for (std::int64_t n : sizes(s, "size", rank)) x.push_back(n);
  return x;
}

Attributes with_size(const Call& c, const Value& x) {
  Attributes attributes = c.attributes();
  attributes.set("size", std::vector<std::int64_t>(x.shape().begin() + 2, x.shape().end()));
  return attributes;
}

Attributes without_size(const Call& c) {
  Attributes attributes;
  for (const auto& [name, value] : c.attributes())
    if (name != "size") attributes.set(name, value);
  return attributes;
}

// Prepares run(pooling, buffers) for the windows over x.
template <class Run>
Kernel pool_kernel(const Signature& s, const Shape& x, Run run) {
  return with_float(s.name(), s.in().dtype, [&](auto tag) -> Kernel {
    return {[p = pooling_of(s, x), tag, run](const Buffers& b) { run(p, b, tag); }};
  });
}

const Op pooling_table[] = {
    {.name = "max_pool",
     .infer = pool_type,
     .forward = [](const Signature& s) -> Kernel {
       return pool_kernel(s, s.in().shape, [](const Pooling& p, const Buffers& b, auto tag) {
         using T = typename decltype(tag)::type;
         kernels::max_pool(p, b.in<T>(), b.out<T>());
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("max_pool_grad", {c.in(), dy[0]}, c.attributes())};
     },
     .cost = per_element<9>,
     .examples = "f32[2,3,6] kernel=[2] strides=[2] dilations=[1] pads=[0,0] ceil_mode=0; "
                 "f32[1,2,5,6] kernel=[3,2] strides=[2,1] dilations=[1,2] pads=[1,0,1,1] ceil_mode=0; "
                 "f32[1,2,5,6] kernel=[2,3] strides=[2,2] dilations=[1,1] pads=[0,1,0,1] ceil_mode=1; "
                 "f32[1,1,3,4,3] kernel=[2,2,2] strides=[1,2,1] dilations=[1,1,1] pads=[0,0,0,1,0,0] ceil_mode=0; "
                 "f32[2,2,5,7] output_size=[2,3]; f32[1,3,4] output_size=[1]; f32[0,3,4] output_size=[2]; "
                 "f32[1,1,1] kernel=[1] strides=[1] dilations=[1] pads=[0,0] ceil_mode=0",
     .onnx = "MaxPool",
     .doc = "largest element of each window"},
    {.name = "max_pool_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_second(s, true);
       return {s.in(0)};
     },
     .forward = [](const Signature& s) -> Kernel {
       return pool_kernel(s, s.in().shape, [](const Pooling& p, const Buffers& b, auto tag) {
         using T = typename decltype(tag)::type;
         kernels::max_pool_scatter(p, b.in<T>(0), b.in<T>(1), b.out<T>());
       });
     },
     .gradient = [](const Call& c, const Values& u) -> Values {
       return {Value{}, record("max_pool_take", {c.in(0), u[0]}, c.attributes())};
     },
     .cost = per_element<9>,
     .examples = "f32[2,3,6] f32[2,3,3] kernel=[2] strides=[2] dilations=[1] pads=[0,0] ceil_mode=0; "
                 "f32[1,2,5,6] f32[1,2,3,5] kernel=[3,2] strides=[2,1] dilations=[1,2] pads=[1,0,1,1] ceil_mode=0; "
                 "f32[2,2,5,7] f32[2,2,2,3] output_size=[2,3]; f32[0,3,4] f32[0,3,2] output_size=[2]",
     .doc = "gradient of max_pool: to the first largest element of each window"},
    {.name = "max_pool_take",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_second(s, false);
       return {{s.in().dtype, pooled(s.in().shape, pooling_of(s, s.in().shape))}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return pool_kernel(s, s.in().shape, [](const Pooling& p, const Buffers& b, auto tag) {
         using T = typename decltype(tag)::type;
         kernels::max_pool_gather(p, b.in<T>(0), b.in<T>(1), b.out<T>());
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {Value{}, record("max_pool_grad", {c.in(0), dy[0]}, c.attributes())};
     },
     .cost = per_element<9>,
     .examples = "f32[2,3,6] f32[2,3,6] kernel=[2] strides=[2] dilations=[1] pads=[0,0] ceil_mode=0; "
                 "f32[2,2,5,7] f32[2,2,5,7] output_size=[2,3]; f32[0,3,4] f32[0,3,4] output_size=[2]",
     .doc = "the element of a second array where each window of x has its first largest"},
    {.name = "avg_pool",
     .infer = pool_type,
     .forward = [](const Signature& s) -> Kernel {
       return pool_kernel(s, s.in().shape, [](const Pooling& p, const Buffers& b, auto tag) {
         using T = typename decltype(tag)::type;
         kernels::mean_pool(p, b.in<T>(), b.out<T>());
       });
     },
     .gradient = [](const Call& c, const Values& dy) -> Values {
       return {record("avg_pool_grad", {dy[0]}, with_size(c, c.in()))};
     },
     .cost = per_element<9>,
     .examples =
         "f32[2,3,6] kernel=[2] strides=[2] dilations=[1] pads=[0,0] ceil_mode=0 count_include_pad=0; "
         "f32[1,2,5,6] kernel=[3,2] strides=[2,1] dilations=[1,2] pads=[1,0,1,1] ceil_mode=0 count_include_pad=1; "
         "f32[1,2,5,6] kernel=[2,3] strides=[2,2] dilations=[1,1] pads=[0,1,0,1] ceil_mode=1 count_include_pad=1; "
         "f32[1,2,5,6] kernel=[2,3] strides=[2,2] dilations=[1,1] pads=[0,1,0,1] ceil_mode=1 count_include_pad=0; "
         "f32[1,1,3,4,3] kernel=[2,2,2] strides=[1,2,1] dilations=[1,1,1] pads=[0,0,0,1,0,0] ceil_mode=0 "
         "count_include_pad=0; "
         "f32[2,2,5,7] output_size=[2,3]; f32[1,3,4] output_size=[1]; f32[0,3,4] output_size=[2]",
     .onnx = "AveragePool",
     .doc = "mean of each window"},
    {.name = "avg_pool_grad",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_float(s);
       Shape x = unpooled(s), y = pooled(x, pooling_of(s, x));
       if (s.in().shape != y)
         fail("[avg_pool_grad] gradient {} of an input {} does not fit: it must have shape {}", to_string(s.in()),
              to_string(x), to_string(y));
       return {{s.in().dtype, x}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return pool_kernel(s, s.out().shape, [](const Pooling& p, const Buffers& b, auto tag) {
         using T = typename decltype(tag)::type;
         kernels::mean_pool_adjoint(p, b.in<T>(), b.out<T>());
       });
     },
     .gradient = [](const Call& c, const Values& u) -> Values { return {record("avg_pool", {u[0]}, without_size(c))}; },
     .cost = per_element<9>,
     .examples =
         "f32[2,3,3] kernel=[2] strides=[2] dilations=[1] pads=[0,0] ceil_mode=0 count_include_pad=0 size=[6]; "
         "f32[1,2,3,5] kernel=[3,2] strides=[2,1] dilations=[1,2] pads=[1,0,1,1] ceil_mode=0 count_include_pad=1 "
         "size=[5,6]; "
         "f32[2,2,2,3] output_size=[2,3] size=[5,7]; f32[0,3,2] output_size=[2] size=[4]",
     .doc = "gradient of avg_pool"},
};

Attributes sliding(std::string_view who, const Value& x, const std::vector<std::int64_t>& kernel,
                   const PoolOptions& o) {
  int rank = std::max(0, x.rank() - 2);
  std::vector<std::int64_t> taps = kernel;
  if (taps.size() == 1) taps.assign(static_cast<std::size_t>(rank), kernel[0]);
  if (static_cast<int>(taps.size()) != rank)
    fail("[{}] the kernel has {} numbers: give one, or one per spatial dimension of {}", who, kernel.size(),
         to_string(x.type()));
  Attributes attributes = window_attributes(who, {o.strides.empty() ? taps : o.strides, o.dilations, o.pads}, rank);
  attributes.set("kernel", taps);
  attributes.set("ceil_mode", std::int64_t{o.ceil_mode});
  return attributes;
}

Attributes adaptive(const Value& x, const std::vector<std::int64_t>& size) {
  auto rank = static_cast<std::size_t>(std::max(0, x.rank() - 2));
  return {{"output_size", size.size() == 1 ? std::vector<std::int64_t>(rank, size[0]) : size}};
}

}  // namespace

std::span<const Op> pooling_ops() { return pooling_table; }

Value max_pool(const Value& x, const std::vector<std::int64_t>& kernel, const PoolOptions& options) {
  return record("max_pool", {x}, sliding("max_pool", x, kernel, options));
}
Value avg_pool(const Value& x, const std::vector<std::int64_t>& kernel, const PoolOptions& options) {
  Attributes attributes = sliding("avg_pool", x, kernel, options);
  attributes.set("count_include_pad", std::int64_t{options.count_include_pad});
  return record("avg_pool", {x}, attributes);
}
Value adaptive_max_pool(const Value& x, const std::vector<std::int64_t>& size) {
  return as_told_by("adaptive_max_pool", [&] { return record("max_pool", {x}, adaptive(x, size)); });
}
Value adaptive_avg_pool(const Value& x, const std::vector<std::int64_t>& size) {
  return as_told_by("adaptive_avg_pool", [&] { return record("avg_pool", {x}, adaptive(x, size)); });
}
Value global_max_pool(const Value& x) {
  return as_told_by("global_max_pool", [&] { return adaptive_max_pool(x, {1}); });
}
Value global_avg_pool(const Value& x) {
  return as_told_by("global_avg_pool", [&] { return adaptive_avg_pool(x, {1}); });
}

}  // namespace reprise
