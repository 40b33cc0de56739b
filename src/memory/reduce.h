// SPDX-License-Identifier: Apache-2.0
// Makes an instance smaller: items that find room whatever the others do are put aside and placed last.
#pragma once

#include "memory/instance.h"

namespace reprise::memory {

/// Items that fit below `height` wherever the others lie, in the order in which they may be put aside: each fits among
/// those that are not before it in the list.
std::vector<int> postponable(const Instance& instance, std::int64_t height);

}  // namespace reprise::memory
