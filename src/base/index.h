// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of nodes and values are signed; the standard library's subscripts are not.
#include <cstddef>
#include <cstdint>

namespace reprise {

constexpr std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace reprise
