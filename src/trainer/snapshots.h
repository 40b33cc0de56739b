// SPDX-License-Identifier: Apache-2.0
// The folder of a run: step-00000100.snapshot and so on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise {

std::string snapshot_path(const std::string& folder, std::int64_t step);

struct SnapshotFile {
  std::int64_t step = 0;
  std::string path;
};
/// Newest first.
std::vector<SnapshotFile> snapshots_in(const std::string& folder);

/// Makes the folder if it is not there, and removes what a killed process left half written.
void prepare_folder(const std::string& folder);
/// Removes all snapshots but the newest `keep` and the one of step `best`.
void prune_snapshots(const std::string& folder, int keep, std::int64_t best);

}  // namespace reprise
