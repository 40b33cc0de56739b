// SPDX-License-Identifier: Apache-2.0
// Counting what is not finite, and stopping there.
#include "ops/guard.h"

#include <cstring>

#include "base/error.h"
#include "kernels/finite.h"
#include "ops/registry.h"
#include "ops/rules.h"

namespace reprise {
namespace {

std::vector<Type> guard_type(const Signature& s) {
  if (s.arity() < 2) fail("[guard] {} inputs are too few: it takes a value and one count or more", s.arity());
  for (int i = 1; i < s.arity(); ++i)
    if (s.in(i) != Type{DType::i64, {}}) fail("[guard] count {} is {}: it must be i64[]", i, to_string(s.in(i)));
  return {s.in(0)};
}

Kernel guard_kernel(const Signature& s) {
  return {[bytes = static_cast<std::size_t>(s.out().bytes()), arity = s.arity()](const Buffers& b) {
    for (int i = 1; i < arity; ++i)
      if (*b.in<std::int64_t>(i) != 0) throw GuardFailed("[guard] a value it waits for is not finite");
    if (bytes > 0) std::memmove(b.out<std::byte>(), b.in<std::byte>(), bytes);
  }};
}

const Op guard_table[] = {
    {.name = "count_not_finite",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 1);
       expect_float(s);
       return {{DType::i64, {}}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return {[type = s.in()](const Buffers& b) {
         *b.out<std::int64_t>() = kernels::count_not_finite(type.dtype, b.inputs[0], type.elements());
       }};
     },
     .cost = moved_bytes,
     .examples = "f32[2,3]; f64[5]; f32[]; f32[0]; f32[200000]",
     .doc = "how many elements are NaN or infinite"},
    {.name = "guard",
     .infer = guard_type,
     .forward = guard_kernel,
     .cost = moved_bytes,
     .examples = "f32[] i64[]{0..0} i64[]{0..0}; i64[3]{0..9} i64[]{0..0}; f32[0] i64[]{0..0}",
     .doc = "the first input; running it is an error unless every count is zero"},
};

}  // namespace

std::span<const Op> guard_ops() { return guard_table; }

Value count_not_finite(const Value& x) { return record("count_not_finite", {x}); }

Value guard(const Value& x, const Values& counts) {
  Values inputs = {x};
  inputs.insert(inputs.end(), counts.begin(), counts.end());
  return record("guard", inputs);
}

}  // namespace reprise
