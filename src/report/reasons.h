// SPDX-License-Identifier: Apache-2.0
// Why each value is kept, recomputed or moved to disk: what it holds at the moment that binds, and what computing it
// again costs beside what its bytes are worth there.
#pragma once

#include <string>
#include <vector>

#include "reprise/plan.h"

namespace reprise::report {

enum class Reason : std::uint8_t {
  input,
  result,
  asked,
  once,
  elsewhere,
  dear,
  inputs_gone,
  room,
  freed,
  on_the_way,
  moved
};
constexpr int reason_count = 11;

struct Reasons {
  int binding = -1;        // the node whose first run is the moment where memory is shortest; -1: it never is
  double price = 0;        // what a byte is worth at that moment, in cost
  double worth = 0;        // the same as a share of a step, for each hundredth of the unlimited peak
  std::vector<int> runs;   // of each node
  std::vector<Reason> of;  // each value; those that are views have that of what they view
};
Reasons reasons_for(const PlanResult& plan);

/// The reason in words.
std::string sentence(const Problem& problem, const Reasons& reasons, Reason reason);

/// A value with its cost for a table. Costs are shares of what running everything once costs.
struct Decision {
  int value = 0;
  std::int64_t bytes = 0;
  int runs = 1;
  double again = 0;  // what the further runs cost; of a kept value: what one would, at least
  double rate = 0;   // of one further run, for each hundredth of the unlimited peak that the node makes
  Reason reason = Reason::room;
};
/// Of the values that are kept where memory is short, recomputed, or moved to disk, the largest, largest first.
std::vector<Decision> largest_kept(const PlanResult& plan, const Reasons& reasons, std::size_t most);
std::vector<Decision> largest_recomputed(const PlanResult& plan, const Reasons& reasons, std::size_t most);
std::vector<Decision> largest_moved(const PlanResult& plan, const Reasons& reasons, std::size_t most);

}  // namespace reprise::report
