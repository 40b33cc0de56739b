// SPDX-License-Identifier: Apache-2.0
// The trade-off curve as points, and its knee.
#include <algorithm>

#include "reprise/report.h"

namespace reprise::report {

std::vector<Point> points(std::span<const PlanResult> curve) {
  std::vector<Point> all;
  for (const PlanResult& r : curve)
    if (r) all.push_back({r.budget, 1 + r.overhead(), r.base_cost > 0 ? r.lower_bound / r.base_cost : 1});
  return all;
}

int knee(std::span<const Point> curve) {
  if (curve.size() < 3) return -1;
  const Point &first = curve.front(), &last = curve.back();
  double width = static_cast<double>(last.budget - first.budget), height = first.time - last.time;
  if (width <= 0 || height <= 0) return -1;
  int best = -1;
  double furthest = 1e-9;
  for (std::size_t i = 1; i + 1 < curve.size(); ++i) {
    double across = static_cast<double>(curve[i].budget - first.budget) / width;
    double below = 1 - across - (curve[i].time - last.time) / height;
    if (below > furthest) furthest = below, best = static_cast<int>(i);
  }
  return best;
}

}  // namespace reprise::report
