// SPDX-License-Identifier: Apache-2.0
#include "report/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "reprise/base.h"

namespace reprise::report {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return {};
}

std::string memory() {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? format_bytes(std::int64_t{pages} * bytes) : std::string();
}

std::string system_name() {
  utsname names{};
  return uname(&names) == 0 ? std::string(names.sysname) + " " + names.release + ", " + names.machine : std::string();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts() {
  std::vector<std::pair<std::string, std::string>> facts;
  auto tell = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  tell("reprise", std::string(version()));
  tell("processor", processor());
  tell("cores", std::to_string(std::thread::hardware_concurrency()));
  tell("memory", memory());
  tell("system", system_name());
  return facts;
}

}  // namespace reprise::report
