// SPDX-License-Identifier: Apache-2.0
// The vocabulary: functions on values. Each records nodes; nothing is computed yet.
#pragma once

#include "reprise/ops_math.h"
#include "reprise/ops_nn.h"
#include "reprise/ops_shape.h"
