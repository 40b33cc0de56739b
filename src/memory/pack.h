// SPDX-License-Identifier: Apache-2.0
// Packing for those who have checked what they pack, and name nothing.
#pragma once

#include "memory/instance.h"

namespace reprise::memory {

struct Packed {
  PackResult result;          // without a `why`
  std::int64_t refuted = -1;  // no layout of this height or lower exists
};

Packed pack(std::span<const Lifetime> lifetimes, const PackOptions& options);

}  // namespace reprise::memory
