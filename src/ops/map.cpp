// SPDX-License-Identifier: Apache-2.0
#include "ops/map.h"

#include <utility>

namespace reprise {

Kernel element_kernel(const Signature& s, const kernels::ElementLoop& loop) {
  const Shape& out = s.out().shape;
  auto plan = s.arity() == 1   ? kernels::plan_broadcast({s.in(0).shape}, out)
              : s.arity() == 2 ? kernels::plan_broadcast({s.in(0).shape, s.in(1).shape}, out)
                               : kernels::plan_broadcast({s.in(0).shape, s.in(1).shape, s.in(2).shape}, out);
  return {
      [plan = std::move(plan), loop](const Buffers& b) { kernels::run_elements(plan, loop, b.inputs, b.outputs[0]); }};
}

}  // namespace reprise
