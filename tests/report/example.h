// SPDX-License-Identifier: Apache-2.0
// Problems for the report's tests, and the files it writes.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "reprise/report.h"

namespace reprise::report {

/// A chain forward and back, as training makes it: `depth` layers whose names begin with `prefix`.
inline Problem training_chain(int depth, std::int64_t bytes = 1 << 20, const std::string& prefix = "layer") {
  Problem p;
  ValueRef weight = p.add({.name = prefix + ".weight", .bytes = bytes, .pinned = true, .group = "parameters"});
  ValueRef batch = p.add({.name = prefix + ".batch", .bytes = bytes, .pinned = true, .group = "batch"});
  std::vector<ValueRef> made = {batch};
  for (int i = 0; i < depth; ++i)
    made.push_back(p.add({.name = prefix + std::to_string(i),
                          .bytes = bytes + 64 * i,
                          .cost = 1.0 + i % 3,
                          .scratch = i % 4 == 0 ? bytes / 4 : 0,
                          .group = "activations"},
                         {weight, made.back()}));
  ValueRef slope = made.back();
  for (int i = depth; i-- > 0;)
    slope = p.add({.name = prefix + std::to_string(i) + ".grad", .bytes = bytes, .cost = 1.5, .group = "gradients"},
                  {slope, made[static_cast<std::size_t>(i)]});
  p.output(slope);
  return p;
}

/// A plan of it within this share of what keeping everything takes.
inline PlanResult plan_within(const Problem& problem, double share) {
  auto all = static_cast<double>(peak(problem, keep_all(problem)));
  return solve(problem, {.budget = static_cast<std::int64_t>(share * all), .iterations = 200});
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace reprise::report
