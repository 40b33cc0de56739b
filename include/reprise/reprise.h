// SPDX-License-Identifier: Apache-2.0
// Everything, in one include.
#pragma once

#include "reprise/base.h"
#include "reprise/checkpoint.h"
#include "reprise/half.h"
#include "reprise/plan.h"
