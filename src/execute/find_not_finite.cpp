// SPDX-License-Identifier: Apache-2.0
// A step rerun with a look at every value, to name the first that is not finite.
#include "execute/executor.h"
#include "graph/builtin.h"
#include "kernels/finite.h"

namespace reprise {

std::optional<NotFiniteValue> Executor::find_not_finite() {
  const Graph& graph = program_->graph;
  auto look = [&](std::int32_t node, std::size_t output, const void* data) -> std::optional<NotFiniteValue> {
    const Type& type = graph.node(node).outputs[output];
    std::int64_t count = kernels::count_not_finite(type.dtype, data, type.elements());
    return count > 0 ? std::optional(NotFiniteValue{node, count, type}) : std::nullopt;
  };
  for (std::int32_t i : graph.inputs)
    if (auto found = look(i, 0, pinned(i).data())) return found;
  for (const Instruction& instruction : program_->instructions) {
    perform(instruction);
    if (instruction.kind != Instruction::Kind::run) continue;  // a move makes nothing to look at
    std::span<const std::int64_t> outputs = program_->outputs_of(instruction);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (auto found = look(instruction.node, k, arena_->base() + outputs[k])) return found;
  }
  return std::nullopt;
}

}  // namespace reprise
