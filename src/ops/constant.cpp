// SPDX-License-Identifier: Apache-2.0
// Ops without inputs.
#include <algorithm>

#include "ops/registry.h"
#include "ops/rules.h"
#include "tensor/dispatch.h"

namespace reprise {
namespace {

const Op constant_table[] = {
    {.name = "full",
     .infer = [](const Signature& s) -> std::vector<Type> {
       expect_arity(s, 0);
       expect_holds(s.name(), dtype_attribute(s), s.real("value"));
       return {{dtype_attribute(s), shape_attribute(s)}};
     },
     .forward = [](const Signature& s) -> Kernel {
       return with_dtype(s.out().dtype, [&](auto tag) -> Kernel {
         using T = typename decltype(tag)::type;
         return {[n = s.out().elements(), value = convert<T>(s.real("value"))](const Buffers& b) {
           std::fill_n(b.out<T>(), n, value);
         }};
       });
     },
     .gradient = [](const Call&, const Values&) -> Values { return {}; },
     .examples =
         R"(dtype="f32" shape=[2,3] value=1.5; dtype="i64" shape=[] value=3.0; dtype="bf16" shape=[0,2] value=0.0)",
     .onnx = "ConstantOfShape",
     .doc = "every element the same number"},
};

}  // namespace

std::span<const Op> constant_ops() { return constant_table; }

}  // namespace reprise
