// SPDX-License-Identifier: Apache-2.0
// The numbers behind the page's pictures, as JSON.
#pragma once

#include <string>

#include "report/picture.h"
#include "report/reasons.h"

namespace reprise::report {

/// All that the pages and pictures of one plan show.
struct Shown {
  const Page& page;
  const Problem& problem;
  const PlanResult& plan;
  Picture picture, unlimited;
  Reasons reasons;
};
/// Throws Error where the page has no feasible plan.
Shown shown(const Page& page);

/// The bars that are drawn, the largest ones if there are too many, and what the others come to.
struct DrawnBars {
  std::vector<Bar> bars;
  std::size_t merged = 0;         // bars that are not among them
  std::int64_t merged_bytes = 0;  // the most that those take together at any moment
};
DrawnBars drawn_bars(const Picture& picture, std::size_t most);

/// Moments as columns, at most so many; each shows its highest moment.
struct Columns {
  std::vector<int> moments;   // the highest moment of each
  std::vector<double> times;  // when each begins, and the end
};
Columns columns_of(const Picture& picture, std::size_t most);

/// Safe inside a <script> element. Its size is bounded: very many moments and bars are merged.
std::string page_data(const Shown& shown, const DrawnBars& drawn);

/// The budget, or a negative number where there is no limit.
std::int64_t limit_of(const PlanResult& plan);
/// "run blocks.3", "run blocks.3 again", "page_out x".
std::string doing(const Problem& problem, const Schedule& schedule, int step, bool is_again);

}  // namespace reprise::report
