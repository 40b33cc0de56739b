// SPDX-License-Identifier: Apache-2.0
// What a report says of the machine it was made on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reprise::report {

/// Processor, cores, memory, system, version; what the system does not tell is left out.
std::vector<std::pair<std::string, std::string>> machine_facts();

}  // namespace reprise::report
