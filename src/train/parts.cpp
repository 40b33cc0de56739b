// SPDX-License-Identifier: Apache-2.0
#include "train/parts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
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

namespace {

// The largest number of equal parts that every tensor of a batch has. One without rows has none, and that is told.
std::int64_t most_parts(std::span<const Type> batch) {
  std::int64_t most = 0;
  for (const Type& type : batch)
    if (type.shape.rank() > 0) most = std::gcd(most, type.shape[0]);
  return std::max<std::int64_t>(1, most);
}

class PartsSearch {
 public:
  PartsSearch(std::int64_t most, const BuildParts& build) : build_(build) {
    for (int parts = 1; parts <= most; ++parts)
      if (most % parts == 0) counts_.push_back(parts);
  }

  // Some numbers of parts are left out until one fits: then its neighbours are tried too. More parts only add work as
  // soon as they stop helping. Where none fits, the one that comes nearest is tried harder: trying them all would take
  // minutes.
  BuiltInParts run() {
    std::size_t last = 0, i = 0;
    while (!improves(i) && !is_refused() && i + 1 < counts_.size()) {
      last = i++;
      while (i + 1 < counts_.size() && 2 * counts_[i] < 3 * counts_[last]) ++i;
    }
    if (!best_) return build_nearest();
    for (std::size_t fewer = i; fewer > last + 1 && improves(fewer - 1);) --fewer;
    while (i + 1 < counts_.size() && improves(i + 1)) ++i;
    return std::move(*best_);
  }

 private:
  bool is_refused() const { return !refusal_.empty(); }

  bool improves(std::size_t i) {
    int parts = counts_[i];
    try {
      Built next = build_(parts, false);
      if (best_ && next.plan.cost >= best_->built.plan.cost) return false;
      best_ = BuiltInParts{std::move(next), parts};
      return true;
    } catch (const NoScheduleFits& e) {
      if (e.smallest_budget < smallest_) nearest_ = parts, smallest_ = e.smallest_budget;
    } catch (const Error& e) {
      if (parts == 1) throw;
      refusal_ = e.what();
    }
    return false;
  }

  BuiltInParts build_nearest() {
    try {
      return {build_(nearest_, true), nearest_};
    } catch (const NoScheduleFits& e) {
      if (counts_.size() == 1) throw;
      std::string parts = is_refused() ? "It cannot be had by smaller parts of the batch: " + refusal_
                                       : fmt::format("Of 1 to {} parts of the batch, {} {} nearest", counts_.back(),
                                                     nearest_, nearest_ == 1 ? "comes" : "come");
      throw NoScheduleFits(fmt::format("{}. {}", e.what(), parts), e.smallest_budget);
    }
  }

  const BuildParts& build_;
  std::vector<int> counts_;
  std::optional<BuiltInParts> best_;
  int nearest_ = 1;
  std::int64_t smallest_ = std::numeric_limits<std::int64_t>::max();
  std::string refusal_;  // why there cannot be parts
};

}  // namespace

BuiltInParts build_fastest(std::span<const Type> batch, const BuildParts& build) {
  return PartsSearch(most_parts(batch), build).run();
}

}  // namespace reprise
