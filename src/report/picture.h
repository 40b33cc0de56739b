// SPDX-License-Identifier: Apache-2.0
// What a plan looks like: its moments, how many bytes of what are in memory at each, and a bar for every life of a
// value.
#pragma once

#include <string>
#include <vector>

#include "reprise/report.h"

namespace reprise::report {

/// A life of a value, of its compressed form or of a run's scratch: moments [from, to), bytes [offset, offset + bytes).
struct Bar {
  Placement::Kind kind = Placement::Kind::value;
  int id = 0;  // value number; node number for scratch
  int group = 0;
  int from = 0, to = 0;
  std::int64_t offset = 0, bytes = 0;
};

/// A moment is a step that does something: drops and runs of views and pinned nodes are none.
struct Picture {
  std::vector<int> steps;                         // of each moment, its number in the schedule
  std::vector<double> times;                      // when each begins, and when the last ends
  std::vector<std::string> groups;                // from the bottom of the stack to its top
  std::vector<std::vector<std::int64_t>> memory;  // of each group, bytes at each moment
  std::vector<std::int64_t> total;                // of all groups
  std::vector<Bar> bars;                          // by offset in the arena; what is resident lies below it
  int moment_count() const { return static_cast<int>(steps.size()); }
  int peak_moment() const;  // the first of the largest total; -1 where there is no moment
};

/// The plan as it is, with measured times where there is a timeline.
Picture picture_of(const PlanResult& plan, std::span<const Moment> timeline);
/// The run that keeps everything, without places: bars all lie at 0.
Picture unlimited_picture(const Problem& problem, std::span<const Moment> timeline);

/// The name of what a bar shows.
std::string name_of(const Problem& problem, const Bar& bar);

}  // namespace reprise::report
