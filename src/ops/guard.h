// SPDX-License-Identifier: Apache-2.0
// How a step stops before it changes anything: updates read a value that has passed a guard.
#pragma once

#include "reprise/graph.h"

namespace reprise {

/// Thrown by a running `guard` whose counts are not all zero.
class GuardFailed : public Error {
 public:
  using Error::Error;
};

/// How many elements of x are NaN or infinite, i64[].
Value count_not_finite(const Value& x);
/// x, but running it throws GuardFailed unless every one of these i64[] is zero.
Value guard(const Value& x, const Values& counts);

}  // namespace reprise
