// SPDX-License-Identifier: Apache-2.0
// The user's word on what to recompute.
#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/compile.h"

namespace reprise::detail {

std::int32_t nodes_recorded(const Value& value) {
  if (!value) fail("[recompute] the first argument is an empty Value: it was never assigned");
  return value.graph()->size();
}

void recompute_since(const Value& input, std::int32_t first, const Values& outputs) {
  Graph& graph = *input.graph();
  for (std::int32_t i = first; i < graph.size(); ++i) {
    Node& node = graph.node(i);
    bool is_result = std::ranges::any_of(outputs, [&](const Value& v) { return v.ref().node == i; });
    if (is_result || is_given(node)) continue;
    if (node.hint == Hint::keep)
      fail("[recompute] the result of '{}' is to be kept and to be recomputed: decide for one",
           node.name.empty() ? std::string(node.op->name) : node.name);
    node.hint = Hint::recompute;
  }
}

}  // namespace reprise::detail
