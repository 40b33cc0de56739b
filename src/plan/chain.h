// SPDX-License-Identifier: Apache-2.0
// A problem seen as a chain of blocks: the forward stretch of the base order falls into blocks that hand on nothing but
// a state, and the rest into as many blocks that use them in reverse.
//
//   forward     block 0 ─state 1─ block 1 ─state 2─ … ─ block L-1
//                  │                 │                     │        values that only the block below reads
//   backward    block 0 ────────── block 1 ───────── … ─ block L-1
#pragma once

#include <functional>
#include <vector>

#include "reprise/plan.h"

namespace reprise::plan {

struct Chain {
  struct Block {
    std::vector<int> state;      // values handed in by the block before; empty for the first
    std::vector<int> forward;    // nodes, in base order
    std::vector<int> backward;   // nodes, in base order
    std::vector<int> carried;    // values that backward blocks hand to this one: read there or later, or outputs
    std::vector<int> handed_on;  // the same, for the next
  };
  std::vector<Block> blocks;
  std::vector<char> is_free;    // per value: pinned, or held from its first run to the end whatever happens
  std::int64_t held_bytes = 0;  // everything that is held whatever happens
};

/// The chain with the most blocks, at most `most_blocks`; one of fewer than two blocks if the problem is no chain.
Chain find_chain(const Problem& problem, int most_blocks);
/// The same with at most 96 blocks, or with as many more as are small enough to be solved; two where small values can
/// be held throughout or not.
std::vector<Chain> find_chains(const Problem& problem, const std::function<bool(const Chain&)>& is_small);

}  // namespace reprise::plan
