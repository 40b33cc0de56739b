// SPDX-License-Identifier: Apache-2.0
// Buffers as text: one row each, columns by the header's names (id, lower, upper, size and perhaps alignment).
#pragma once

#include <string_view>

#include "reprise/memory.h"

namespace reprise::memory {

/// Throws Error naming the line on what cannot be read. Columns of other names are passed over.
std::vector<Buffer> read_csv(std::string_view text);

/// The columns id, lower, upper, size, offset.
std::string write_csv(std::span<const Buffer> buffers, const Layout& layout);

}  // namespace reprise::memory
