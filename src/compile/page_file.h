// SPDX-License-Identifier: Apache-2.0
// A file for values that leave memory for a while: its room is taken beforehand, and nothing of it stays behind however
// the process ends.
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

class PageFile {
 public:
  /// An Error where the folder is not there, may not be written to, or has not so much room left.
  PageFile(std::string folder, std::int64_t bytes);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  /// All of it, or an Error.
  void write(std::int64_t offset, const void* data, std::int64_t bytes) const;
  void read(std::int64_t offset, void* data, std::int64_t bytes) const;
  /// Waits until what was written is on the disk, and forgets it otherwise: reading it then is reading the disk.
  void flush() const;

 private:
  void check_room(std::int64_t bytes) const;

  std::string folder_;
  int descriptor_ = -1;
};

/// Whether files in the folder are kept in memory, so that moving values there frees none.
bool is_in_memory(const std::string& folder);

}  // namespace reprise
