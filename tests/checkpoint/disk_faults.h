// SPDX-License-Identifier: Apache-2.0
// Disks that fill up, and files that change, under a running program.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace reprise {

// While it lives, no byte can be written past `bytes` of any file: a disk that fills up under a running program. The
// signal that the system sends with it, which ends a process by default, is for the store to deal with.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

// A fresh directory for the stores of one test.
struct Parent {
  std::string path = std::filesystem::temp_directory_path() / ("disk_store_test-" + std::to_string(getpid()));
  Parent() { std::filesystem::create_directories(path); }
  ~Parent() { std::filesystem::remove_all(path); }
  bool is_empty() const { return std::filesystem::is_empty(path); }
};

inline void corrupt(const std::string& directory, std::streamoff offset) {
  std::fstream file(directory + "/slots", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.put('!');
}

}  // namespace reprise
