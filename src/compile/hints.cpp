// SPDX-License-Identifier: Apache-2.0
// The user's word on what to recompute.
#include <algorithm>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/compile.h"

namespace reprise::detail {

const Value& leading(std::initializer_list<const Value*> arguments) {
  const Value* first = *arguments.begin();
  if (!*first) fail("[recompute] the first argument is an empty Value: it was never assigned");
  auto leads = [](const Value* v) { return v && *v && !v->graph()->inputs.empty(); };
  const auto* found = std::ranges::find_if(arguments, leads);
  return found == arguments.end() ? *first : **found;
}

std::int32_t nodes_recorded(const Value& value) { return value.graph()->size(); }

void recompute_since(const Value& input, std::int32_t first, const Values& outputs) {
  Graph& graph = *input.graph();
  auto is_elsewhere = [&](const Value& v) { return v && v.graph() != input.graph() && !v.graph()->inputs.empty(); };
  if (std::ranges::any_of(outputs, is_elsewhere))
    fail("[recompute] the arguments are constants, but the result is computed from other values: hand one of these in");
  for (std::int32_t i = first; i < graph.size(); ++i) {
    Node& node = graph.node(i);
    bool is_result = std::ranges::any_of(outputs, [&](const Value& v) {
      return v.graph() == input.graph() && (v.ref().node == i || owner(graph, v.ref()).node == i);
    });
    if (is_result || is_given(node)) continue;
    if (node.hint == Hint::keep)
      fail("[recompute] the result of '{}' is to be kept and to be recomputed: decide for one",
           node.name.empty() ? std::string(node.op->name) : node.name);
    node.hint = Hint::recompute;
  }
}

}  // namespace reprise::detail
