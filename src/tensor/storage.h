// SPDX-License-Identifier: Apache-2.0
// The memory behind tensors: 64-byte aligned, and counted.
#pragma once

#include <cstdint>
#include <memory>

namespace reprise {

/// `bytes` of uninitialised, metered memory that frees itself.
std::shared_ptr<void> allocate(std::int64_t bytes);

}  // namespace reprise
