// SPDX-License-Identifier: Apache-2.0
// Triangles of the last two axes.
#include <algorithm>

#include "base/error.h"
#include "kernels/parallel.h"
#include "ops/registry.h"
#include "ops/rules.h"
#include "reprise/ops.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

// Keeps columns [first(row), last(row)) of each row and writes zeros elsewhere.
template <class T>
void keep_triangle(const Shape& shape, bool lower, std::int64_t offset, const T* x, T* y) {
  std::int64_t columns = shape.back(), rows = shape[shape.rank() - 2];
  if (columns == 0) return;
  kernels::parallel_ranges(
      shape.elements() / columns, (1 << 15) / columns + 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t r = begin; r < end; ++r) {
          std::int64_t diagonal = std::clamp<std::int64_t>(r % rows + offset + (lower ? 1 : 0), 0, columns);
          std::int64_t first = lower ? 0 : diagonal, last = lower ? diagonal : columns;
          std::fill_n(y + r * columns, first, T{});
          std::copy(x + r * columns + first, x + r * columns + last, y + r * columns + first);
          std::fill(y + r * columns + last, y + (r + 1) * columns, T{});
        }
      });
}

template <bool lower>
Kernel triangle_kernel(const Signature& s) {
  return with_dtype(s.in().dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return {[shape = s.in().shape, offset = s.integer("offset")](const Buffers& b) {
      keep_triangle(shape, lower, offset, b.in<T>(), b.out<T>());
    }};
  });
}

std::vector<Type> triangle_type(const Signature& s) {
  expect_arity(s, 1);
  s.integer("offset");
  if (s.in().shape.rank() < 2)
    fail("[{}] input {} is no matrix: it needs two dimensions or more", s.name(), to_string(s.in()));
  return {s.in()};
}

constexpr std::string_view examples =
    "f32[3,3] offset=0; f32[2,3,4] offset=1; f32[4,2] offset=-1; f32[0,3] offset=0; f32[1,1] offset=5; "
    "f32[2,2] offset=-7; i64[2,3]{1..9} offset=0; f32[2,0] offset=0";

const Op triangle_table[] = {
    {.name = "tril",
     .infer = triangle_type,
     .forward = triangle_kernel<true>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {tril(dy[0], c.integer("offset"))}; },
     .examples = examples,
     .doc = "zero above a diagonal"},
    {.name = "triu",
     .infer = triangle_type,
     .forward = triangle_kernel<false>,
     .gradient = [](const Call& c, const Values& dy) -> Values { return {triu(dy[0], c.integer("offset"))}; },
     .examples = examples,
     .doc = "zero below a diagonal"},
};

}  // namespace

std::span<const Op> triangle_ops() { return triangle_table; }

Value tril(const Value& x, std::int64_t offset) { return record("tril", {x}, {{"offset", offset}}); }
Value triu(const Value& x, std::int64_t offset) { return record("triu", {x}, {{"offset", offset}}); }

}  // namespace reprise
