// SPDX-License-Identifier: Apache-2.0
#include "graph/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace reprise {
namespace {

template <class Items>
std::uint64_t hash_items(const Items& items, std::uint64_t seed) {
  std::span all(items);
  return hash_bytes(all.data(), all.size_bytes(), seed + all.size());
}

std::uint64_t hash_of(const Attribute& attribute, std::uint64_t seed) {
  return std::visit(
      [&](const auto& x) -> std::uint64_t {
        using T = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<T, std::string>)
          return hash_bytes(x.data(), x.size(), seed);
        else if constexpr (std::is_same_v<T, Tensor>)
          return hash_bytes(x.data(), static_cast<std::size_t>(x.bytes()),
                            hash_items(x.shape().sizes(), seed + static_cast<std::uint64_t>(x.dtype())));
        else if constexpr (std::is_arithmetic_v<T>)
          return hash_bytes(&x, sizeof x, seed);
        else
          return hash_items(x, seed);
      },
      attribute);
}

}  // namespace

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t hash_of(const Attributes& attributes) {
  std::uint64_t h = 0;
  for (const auto& [name, value] : attributes)
    h = hash_of(value, hash_bytes(name.data(), name.size(), h + value.index()));
  return h;
}

std::uint64_t hash_of(const Types& types) {
  std::uint64_t h = types.size();
  for (const Type& type : types)
    h = hash_bytes(type.shape.begin(), static_cast<std::size_t>(type.shape.rank()) * sizeof(std::int64_t),
                   h + static_cast<std::uint64_t>(type.dtype));
  return h;
}

std::uint64_t hash_of(const Node& node) {
  std::uint64_t h = hash_bytes(node.op->name.data(), node.op->name.size(), hash_of(node.attributes));
  return hash_items(node.inputs, h);
}

std::uint64_t hash(const Graph& graph) {
  std::uint64_t h = hash_items(graph.updates, hash_items(graph.outputs, hash_items(graph.inputs, 0)));
  for (const Node& node : graph.nodes()) {
    std::uint64_t part = hash_of(node);
    h = hash_bytes(&part, sizeof part, h);
  }
  return h;
}

}  // namespace reprise
