// SPDX-License-Identifier: Apache-2.0
// A trade-off curve drawn with letters.
#pragma once

#include <span>
#include <string>

#include "reprise/report.h"

namespace reprise::cli {

/// Time over budget: * found, . proved, K the knee. Points are joined by straight lines. Empty for fewer than two.
std::string text_plot(std::span<const report::Point> curve);

}  // namespace reprise::cli
