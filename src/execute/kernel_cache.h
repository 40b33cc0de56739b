// SPDX-License-Identifier: Apache-2.0
// Prepared kernels by signature. Dynamic programs run the same few ops on the same few types again and again: what
// depends on types only is decided once.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "reprise/graph.h"

namespace reprise {

class KernelCache {
 public:
  /// Programs whose shapes never repeat must not fill the memory with kernels: beyond this many all are forgotten.
  explicit KernelCache(std::size_t most = 4096) : most_(most) {}

  /// The kernel of node i. It stays while there are no more than `most`.
  const Kernel& of(const Graph& graph, std::int32_t i);

 private:
  struct Entry {
    const Op* op;
    std::vector<Type> inputs;
    Attributes attributes;
    Kernel kernel;
  };
  static bool is_of(const Entry& entry, const Graph& graph, const Node& node);

  std::unordered_multimap<std::uint64_t, Entry> entries_;
  std::vector<Type> types_;
  std::size_t most_;
};

/// Of a node's op, input types and attributes.
std::uint64_t hash_of_signature(const Graph& graph, const Node& node);

}  // namespace reprise
