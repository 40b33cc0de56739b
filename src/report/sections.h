// SPDX-License-Identifier: Apache-2.0
// The parts of the page that do not move: figures, tables and curves, as HTML.
#pragma once

#include <string>

#include "report/chart.h"
#include "report/data.h"

namespace reprise::report {

std::string overview(const Shown& shown);
std::string peak_section(const Shown& shown);
std::string values_section(const Shown& shown);
/// Empty sections where there is nothing to show.
std::string curve_section(const Shown& shown);
std::string metrics_section(const Page& page);
std::string facts_section(const Page& page);

/// The trade-off as a chart. `chosen` is the budget of the plan that is shown, or negative.
Chart curve_chart(std::span<const Point> curve, std::int64_t chosen, double chosen_time);
/// The knee in words, or nothing.
std::string knee_sentence(std::span<const Point> curve);

}  // namespace reprise::report
