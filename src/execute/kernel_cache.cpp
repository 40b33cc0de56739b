// SPDX-License-Identifier: Apache-2.0
#include "execute/kernel_cache.h"

#include <algorithm>

#include "base/error.h"
#include "graph/hash.h"

namespace reprise {
namespace {

std::uint64_t mixed(std::uint64_t h, std::uint64_t x) {
  h = (h ^ x) * 0x9e3779b97f4a7c15;
  return h ^ (h >> 32);
}

}  // namespace

std::uint64_t hash_of_signature(const Graph& graph, const Node& node) {
  std::uint64_t h = reinterpret_cast<std::uintptr_t>(node.op);
  for (Ref r : node.inputs) {
    const Type& type = graph.type(r);
    h = mixed(h, static_cast<std::uint64_t>(type.dtype) * 16 + static_cast<std::uint64_t>(type.shape.rank()));
    for (std::int64_t size : type.shape) h = mixed(h, static_cast<std::uint64_t>(size));
  }
  return node.attributes.empty() ? h : mixed(h, hash_of(node.attributes));
}

bool KernelCache::is_of(const Entry& entry, const Graph& graph, const Node& node) {
  return entry.op == node.op &&
         std::ranges::equal(entry.inputs, node.inputs, [&](const Type& t, Ref r) { return t == graph.type(r); }) &&
         entry.attributes == node.attributes;
}

const Kernel& KernelCache::of(const Graph& graph, std::int32_t i) {
  const Node& node = graph.node(i);
  std::uint64_t hash = hash_of_signature(graph, node);
  auto [first, last] = entries_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (is_of(at->second, graph, node)) return at->second.kernel;
  if (!node.op->forward) fail("[{}] this op cannot be run", node.op->name);
  Kernel kernel = node.op->forward(graph.signature(i, types_));
  if (entries_.size() >= most_) entries_.clear();
  return entries_.emplace(hash, Entry{node.op, types_, node.attributes, std::move(kernel)})->second.kernel;
}

}  // namespace reprise
