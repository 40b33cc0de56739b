// SPDX-License-Identifier: Apache-2.0
// The vocabulary: every table of ops, in one constant registry.
#include "ops/registry.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "graph/builtin.h"

namespace reprise {
namespace {

using Table = std::span<const Op> (*)();
constexpr Table tables[] = {
    // numbers
    constant_ops,
    unary_ops,
    activation_ops,
    binary_ops,
    compare_ops,
    reduce_ops,
    along_axis_ops,
    softmax_ops,
    norm_ops,
    batch_norm_ops,
    cross_entropy_ops,
    ctc_ops,
    // shapes
    view_ops,
    // nets
    matmul_ops,
    convolution_ops,
    pooling_ops,
    resize_ops,
    move_ops,
    slice_ops,
    concat_ops,
    pad_ops,
    triangle_ops,
    gather_ops,
    index_ops,
    deformable_ops,
    attention_ops,
    random_ops,
    cell_ops,
    // optimizers
    update_ops,
    guard_ops,
};

// Every op that is recorded is looked up: a name's length, beginning and end tell most from each other.
struct NameHash {
  std::size_t operator()(std::string_view name) const {
    std::uint64_t begin = 0, end = 0;
    std::size_t n = std::min<std::size_t>(name.size(), 8);
    std::memcpy(&begin, name.data(), n);
    std::memcpy(&end, name.data() + name.size() - n, n);
    std::uint64_t h = (begin ^ (end << 1) ^ name.size()) * 0x9e3779b97f4a7c15;
    return h ^ (h >> 32);
  }
};

struct Registry {
  std::vector<const Op*> ops{&input_op, &constant_op};
  std::unordered_map<std::string_view, const Op*, NameHash> by_name;

  Registry() {
    for (Table table : tables)
      for (const Op& op : table()) ops.push_back(&op);
    for (const Op* op : ops)
      if (!by_name.emplace(op->name, op).second) fail("[internal] two ops are named '{}'", op->name);
  }
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace

const Op* find_op(std::string_view name) {
  auto at = registry().by_name.find(name);
  return at == registry().by_name.end() ? nullptr : at->second;
}

std::span<const Op* const> all_ops() { return registry().ops; }

}  // namespace reprise
