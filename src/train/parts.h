// SPDX-License-Identifier: Apache-2.0
// A batch worked through in equal parts, one after the other, whose gradients are summed.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "compile/build.h"

namespace reprise {

/// Rows of part `i`; `who` is named where they cannot be told apart.
Values part_of_batch(std::string_view who, const Values& batch, int parts, int i);

/// What a part adds to the loss of the batch, a mean over it. Refused where a layer updates itself from what it sees.
Value loss_of_part(std::string_view who, const Function& loss, const Values& part, int parts);

/// Sums, value by value; empty sums become `more`.
void add_to(Values& sums, const Values& more);

struct BuiltInParts {
  Built built;
  int parts = 1;
};
using BuildParts = std::function<Built(int parts, bool names_smallest)>;
/// The number of parts of a batch that runs fastest within the budget that `build` keeps to.
BuiltInParts build_fastest(std::span<const Type> batch, const BuildParts& build);

}  // namespace reprise
