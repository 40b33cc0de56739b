// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolution, pooling, attention, recurrent nets, dropout and random numbers.
#pragma once

#include "reprise/graph.h"
#include "reprise/ops_math.h"

namespace reprise {}  // namespace reprise
