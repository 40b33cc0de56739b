// SPDX-License-Identifier: Apache-2.0
// Hashes of a node's content.
#pragma once

#include "reprise/graph.h"

namespace reprise {

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed);
std::uint64_t hash_of(const Attributes& attributes);
std::uint64_t hash_of(const Types& types);
/// Of the op, the attributes and the inputs; names and hints do not count.
std::uint64_t hash_of(const Node& node);

}  // namespace reprise
