// SPDX-License-Identifier: Apache-2.0
// How much memory there is to take: the machine's, and what the cgroups of this process (version 2 or 1) leave of their
// limits.
#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.h"
#include "reprise/trainer.h"
#include "trainer/machine.h"

namespace reprise {
namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// A number alone in a file; "max", a missing file or anything else is no limit.
std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : no_limit;
}

// What the limit of one cgroup leaves: pages of files that could be dropped count as free.
std::int64_t left_in(const std::string& folder, const char* limit_name, const char* used_name, const char* cache_key) {
  std::int64_t limit = number_in(folder + limit_name), used = number_in(folder + used_name);
  if (limit == no_limit || used == no_limit) return no_limit;
  std::ifstream stat(folder + "/memory.stat");
  std::string key;
  for (std::int64_t bytes = 0; stat >> key >> bytes;)
    if (key == cache_key) used -= std::min(used, bytes);
  return std::max<std::int64_t>(0, limit - used);
}

std::int64_t machine_bytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return 1024 * std::stoll(line.substr(13));
  fail("[memory] /proc/meminfo has no MemAvailable: give the budget in bytes");
}

// A limit holds for all cgroups below it.
std::int64_t least_up_to_root(std::string path, const std::string& base, auto left) {
  std::int64_t least = no_limit;
  for (;; path.resize(path.find_last_of('/'))) {
    least = std::min(least, left(base + path));
    if (path.empty() || path.find('/') == std::string::npos) return least;
  }
}

}  // namespace

std::int64_t available_memory_under(const std::string& root) {
  std::int64_t least = machine_bytes(root);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers.empty())
      least = std::min(least, least_up_to_root(path, root + "/sys/fs/cgroup", [](const std::string& folder) {
                         return left_in(folder, "/memory.max", "/memory.current", "inactive_file");
                       }));
    if (("," + controllers + ",").find(",memory,") != std::string::npos)
      least =
          std::min(least, least_up_to_root(path, root + "/sys/fs/cgroup/memory", [](const std::string& folder) {
                     return left_in(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file");
                   }));
  }
  return least;
}

std::int64_t available_memory() { return available_memory_under(""); }

}  // namespace reprise
