// SPDX-License-Identifier: Apache-2.0
// What `--help` lists.
#pragma once

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/tool.h"

namespace reprise::cli {

/// The verbs: lines of two spaces and a word under "Subcommands:".
inline std::vector<std::string> listed_verbs() {
  std::vector<std::string> names;
  std::istringstream help(tool_once("--help").output);
  bool are_verbs = false;
  for (std::string line; std::getline(help, line);) {
    if (are_verbs && line.size() > 2 && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    are_verbs = are_verbs || line.starts_with("Subcommands:");
  }
  return names;
}

/// Every --option of a verb, without --help itself.
inline std::set<std::string> listed_options(const std::string& verb) {
  std::set<std::string> names;
  std::istringstream help(tool_once(verb + " --help").output);
  for (std::string line; std::getline(help, line);) {
    if (!line.starts_with("  -")) continue;
    std::string head = line.substr(2, line.find(' ', 2) - 2);
    if (std::size_t at = head.find("--"); at != std::string::npos) names.insert(head.substr(at));
  }
  names.erase("--help");
  return names;
}

}  // namespace reprise::cli
