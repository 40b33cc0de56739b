// SPDX-License-Identifier: Apache-2.0
// What nodes cost: measured once for each op and types, or estimated where nothing may run.
#pragma once

#include "reprise/compile.h"
#include "reprise/graph.h"

namespace reprise {

/// Seconds by a roofline: a plain model of a laptop core, good enough to compare nodes where nothing may be run.
double roofline_seconds(const Signature& signature);

/// Seconds of one run by the clock: the median of a few runs on made-up numbers, integers being zero. The estimate
/// where the op refuses those.
double measured_seconds(const Signature& signature, const Kernel& kernel);

/// "matmul f32[2,3] f32[3,4] transpose=0": equal texts cost the same.
std::string profile_key(const Signature& signature);

}  // namespace reprise
