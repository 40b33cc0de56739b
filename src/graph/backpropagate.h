// SPDX-License-Identifier: Apache-2.0
// Reverse mode: walks the recorded nodes once, last to first, and asks each op's rule.
#pragma once

#include <functional>

#include "reprise/graph.h"

namespace reprise {

/// Records the gradients of `wrt` given `seeds`, those of `outputs` (all of one graph). An empty Value where nothing of
/// `outputs` depends on that value. Several uses of one value are summed in a fixed order: latest use first.
Values backpropagate(const Values& outputs, const Values& seeds, const Values& wrt);
/// The same; no gradient flows through the nodes that `stops` names.
Values backpropagate(const Values& outputs, const Values& seeds, const Values& wrt,
                     const std::function<bool(std::int32_t node)>& stops);

/// An op's gradient rule made from a plain expression of the same function: records `expression` of the inputs and
/// backpropagates through it. For fused gradient ops, whose own derivatives are rare.
Values gradient_of_expression(const Call& call, const Values& dy, Values (*expression)(const Call&));

}  // namespace reprise
