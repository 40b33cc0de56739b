// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolution, pooling, attention, recurrent nets, dropout and random numbers.
#pragma once

#include "reprise/graph.h"
#include "reprise/ops_math.h"

namespace reprise {

/// NumPy's matrix product: vectors count as a row (a) or a column (b), batch dimensions broadcast. The flags use the
/// last two dimensions of an operand swapped, without storing them so; a vector ignores its flag.
REPRISE_API Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false);
/// x · weightᵀ + bias over the last dimension of x; weight is [out, in], bias [out].
REPRISE_API Value linear(const Value& x, const Value& weight);
REPRISE_API Value linear(const Value& x, const Value& weight, const Value& bias);

}  // namespace reprise
