// SPDX-License-Identifier: Apache-2.0
// Which items live at the same time: for searches that place the same items again and again.
#pragma once

#include "memory/instance.h"

namespace reprise::memory {

/// An item that shares sections with another, and how high the two are where they meet.
struct Companion {
  int item;
  std::int64_t own_size, size;
};

/// Of each item, those that share a section with it; one that meets it with several parts is there for each pair.
std::vector<std::vector<Companion>> companions_of(const Instance& instance);

}  // namespace reprise::memory
