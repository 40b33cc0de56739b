// SPDX-License-Identifier: Apache-2.0
// What one block of a chain can do, and what that takes: the numbers that the program over the chain works with, and
// the nodes that stand behind them.
#pragma once

#include "plan/chain.h"

namespace reprise::plan {

/// Nodes run one after the other, what they cost, and the most bytes in memory meanwhile.
struct Stretch {
  std::vector<int> nodes;
  double cost = 0;
  std::int64_t peak = 0;
};

/// A way to run a block whose backward block follows later, and that backward block.
struct Tape {
  Stretch forward;
  Stretch backward;
  std::int64_t held = 0;  // bytes in between, besides the next state
};

struct ChainBlock {
  Stretch advance[2];                 // makes the next state; [1]: the first time, when every node has to run
  std::int64_t advance_held[2] = {};  // peak if the state it starts from stays
  std::vector<Tape> tapes[2];
  Stretch leaf;
  std::int64_t state_bytes = 0, carried_bytes = 0;
};

ChainBlock build_block(const Problem& problem, const Chain& chain, std::size_t k);

/// Whether two blocks are alike in all that the program reads: every number, not the nodes.
bool is_alike(const ChainBlock& a, const ChainBlock& b);

}  // namespace reprise::plan
