// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace reprise {

/// available_memory() with /proc and /sys found under another folder, for tests.
std::int64_t available_memory_under(const std::string& root);

}  // namespace reprise
