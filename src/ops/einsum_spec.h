// SPDX-License-Identifier: Apache-2.0
// What an einsum's text means for operands of given shapes, and the order in which to contract them.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "reprise/tensor.h"

namespace reprise {

/// Labels are numbers from 0; a set of them is a bit mask (52 letters and 12 dimensions of "..." fit).
using Labels = std::vector<int>;
using LabelSet = std::uint64_t;

struct EinsumSpec {
  std::vector<Labels> operands;  // a label per dimension
  Labels output;
  std::vector<std::int64_t> sizes;  // of each label, after broadcasting
};

/// Reads NumPy's notation; an Error that quotes the spec and says what is wrong with it.
EinsumSpec parse_einsum(std::string_view spec, const std::vector<Shape>& shapes);

LabelSet set_of(const Labels& labels);

/// Pairs to contract. Operands are numbered from 0, each result takes the next number. Of up to 8 operands the order
/// with the fewest multiplications is found by dynamic programming over subsets; beyond, pairs are chosen greedily by
/// how much smaller than its operands a result is.
std::vector<std::pair<int, int>> contraction_order(const std::vector<LabelSet>& operands, LabelSet output,
                                                   const std::vector<std::int64_t>& sizes);

/// The multiplications that order takes: the sum over pairs of the sizes of all labels involved.
double contraction_cost(std::vector<LabelSet> operands, LabelSet output, const std::vector<std::int64_t>& sizes,
                        const std::vector<std::pair<int, int>>& order);

}  // namespace reprise
