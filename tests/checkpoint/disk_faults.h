// SPDX-License-Identifier: Apache-2.0
// Disks that fill up, and files that change, under a running program.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "file_size_limit.h"

namespace reprise {

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
