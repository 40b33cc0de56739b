// SPDX-License-Identifier: Apache-2.0
// Pictures of a plan and of a run: one self-contained HTML page, SVG, and traces that Perfetto and Chrome show.
//
//     reprise::report::html(step.plan(), "plan.html");
//     reprise::report::html({.title = "gpt4s", .plan = &step.plan(), .timeline = step.timeline(),
//                            .metrics = "run/metrics.jsonl", .settings = {{"model", "gpt4s"}}}, "run.html");
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reprise/compile.h"
#include "reprise/plan_io.h"

namespace reprise::report {

/// One budget of a trade-off curve; a time of 1 is that of a run without a limit.
struct Point {
  std::int64_t budget = 0;
  double time = 1;
  double bound = 1;  // no schedule within the budget takes less
  friend bool operator==(const Point&, const Point&) = default;
};
/// The plans of a sweep that are feasible, as points.
REPRISE_API std::vector<Point> points(std::span<const PlanResult> curve);
/// Where a curve bends most: the point furthest below the straight line from its first to its last; -1 if none is.
REPRISE_API int knee(std::span<const Point> curve);

/// What a report is made of. Only the plan must be there, and it must be feasible.
struct Page {
  std::string title = "Plan";
  const PlanResult* plan = nullptr;       // carries its problem
  std::vector<Point> curve = {};          // by ascending budget, for the picture of the trade-off
  std::span<const Moment> timeline = {};  // of a run of this plan: times then are measured ones
  /// A file with one JSON object a line: step, epoch, loss, lr, seconds; val_loss, val_metric where it was validated.
  std::string metrics = {};
  std::vector<std::pair<std::string, std::string>> settings = {};  // shown as they are, in this order
};

/// Writes the page: one file that needs nothing else. Everything that comes from outside is escaped.
REPRISE_API void html(const Page& page, const std::string& path);
REPRISE_API void html(const PlanResult& plan, const std::string& path);
/// Memory over time and the place of every value, as a picture.
REPRISE_API void svg(const Page& page, const std::string& path);
/// The trade-off curve with its bound and its knee, as a picture.
REPRISE_API void svg(std::span<const Point> curve, const std::string& path);
/// Every run with its time, and the memory in use, as trace events: open the file in Perfetto or chrome://tracing.
REPRISE_API void trace(const Page& page, const std::string& path);

/// A run as it lies in a folder: plan.json, run.json (title, settings, curve, times) and metrics.jsonl beside them.
struct Run {
  std::string title;
  PlanResult plan;
  std::vector<Point> curve;
  std::vector<Moment> timeline;
  std::string metrics;  // path; empty: there are none
  std::vector<std::pair<std::string, std::string>> settings;

  Page page() const { return {title, &plan, curve, timeline, metrics, settings}; }
};
/// Writes plan.json and run.json to the folder, so that `reprise report FOLDER` can make the page at any time. The
/// metrics are not copied: they belong to the folder as metrics.jsonl.
REPRISE_API void save(const Page& page, const std::string& folder);
/// Throws Error where the folder holds no plan, or one of another version.
REPRISE_API Run load(const std::string& folder);

}  // namespace reprise::report
