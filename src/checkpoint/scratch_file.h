// SPDX-License-Identifier: Apache-2.0
// A file in a directory of its own, with all its room taken beforehand, that goes when the object does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace reprise {

/// Owns a new directory below `parent` and removes it, and the file named `file`, when it dies.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::string& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string file() const { return path_ + "/slots"; }

 private:
  std::string path_;
};

/// Whole reads and writes of one preallocated file, or StoreFailed that names `slot`. Threads may use it together.
class ScratchFile {
 public:
  ScratchFile(const std::string& parent, std::int64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  void write(std::int64_t slot, std::int64_t offset, std::span<const std::byte> bytes) const;
  void read(std::int64_t slot, std::int64_t offset, std::span<std::byte> bytes) const;
  const std::string& directory() const { return directory_.path(); }

 private:
  ScratchDirectory directory_;
  int descriptor_;
};

}  // namespace reprise
