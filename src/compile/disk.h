// SPDX-License-Identifier: Apache-2.0
// What moving values to a disk and back costs.
#pragma once

#include "reprise/compile.h"

namespace reprise {

/// Values smaller than this are not worth a move: it takes as long as one of a whole page.
constexpr std::int64_t smallest_page = 4096;

/// Seconds that moves take: so many each, and so many a byte.
struct DiskTimes {
  double start = 0;
  double write = 0, read = 0;  // a byte
  Paging of(std::int64_t bytes) const {
    return {start + static_cast<double>(bytes) * write, start + static_cast<double>(bytes) * read};
  }
};
/// As the options say: what they name, else what the profile knows, else by a short write and read in the folder, or
/// an estimate where nothing may be run.
DiskTimes disk_times(const CompileOptions& options);

}  // namespace reprise
