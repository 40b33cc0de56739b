// SPDX-License-Identifier: Apache-2.0
#include "train/parts.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "graph/builtin.h"
#include "reprise/ops.h"

namespace reprise {
namespace {

// Whether it is computed from the batch, not from state alone as the next key of dropout is.
bool reads_batch(const Graph& graph, Ref value) {
  std::vector<bool> seen(static_cast<std::size_t>(graph.size()), false);
  std::vector<std::int32_t> open{value.node};
  while (!open.empty()) {
    std::int32_t i = open.back();
    open.pop_back();
    if (seen[static_cast<std::size_t>(i)]) continue;
    seen[static_cast<std::size_t>(i)] = true;
    if (std::ranges::find(graph.inputs, i) != graph.inputs.end() &&
        std::ranges::find(graph.captures, i, &Capture::input) == graph.captures.end())
      return true;
    for (Ref r : graph.node(i).inputs) open.push_back(r.node);
  }
  return false;
}

}  // namespace

Values part_of_batch(std::string_view who, const Values& batch, int parts, int i) {
  if (parts == 1) return batch;
  Values rows;
  for (const Value& v : batch) {
    std::int64_t size = v.rank() == 0 ? 0 : v.shape()[0] / parts;
    if (size == 0 || v.shape()[0] % parts != 0)
      fail("[{}] a batch of {} cannot be worked through in {} equal parts", who, to_string(v.type()), parts);
    rows.push_back(slice(v, 0, i * size, (i + 1) * size));
  }
  return rows;
}

Value loss_of_part(std::string_view who, const Function& loss, const Values& part, int parts) {
  Values outputs = loss(part);
  if (outputs.size() != 1 || !outputs[0] || outputs[0].rank() != 0 || !is_float(outputs[0].dtype()))
    fail("[{}] the loss must be one float scalar: {}", who,
         outputs.size() == 1 && outputs[0] ? "it is " + to_string(outputs[0].type()) + ", take its mean or sum"
                                           : "the function gives " + std::to_string(outputs.size()) + " values");
  const Graph& graph = *outputs[0].graph();
  if (parts > 1 && std::ranges::any_of(graph.updates, [&](const Update& u) { return reads_batch(graph, u.value); }))
    fail(
        "[{}] a layer updates itself from the batch it sees (batch norm does): parts of the batch would give "
        "another result than the whole, so it cannot be trained with .accumulate",
        who);
  return parts == 1 ? outputs[0] : outputs[0] * (1.0 / parts);
}

void add_to(Values& sums, const Values& more) {
  if (sums.empty()) {
    sums = more;
    return;
  }
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] = sums[i] + more[i];
}

// Parts are tried by doubling; once one fits, more of them only add work as soon as they stop helping. Where none
// does, the one that comes nearest is tried harder.
BuiltInParts build_fastest(std::int64_t size, const std::function<Built(int parts, Effort effort)>& build) {
  std::optional<BuiltInParts> best;
  int nearest = 1;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (int parts = 1; parts <= size && size % parts == 0; parts *= 2) {
    try {
      Built next = build(parts, Effort::limited);
      if (best && next.plan.cost >= best->built.plan.cost) break;
      best = BuiltInParts{std::move(next), parts};
    } catch (const NoScheduleFits& e) {
      if (e.smallest_budget < smallest) nearest = parts, smallest = e.smallest_budget;
    }
  }
  if (best) return std::move(*best);
  return {build(nearest, Effort::settle), nearest};
}

}  // namespace reprise
