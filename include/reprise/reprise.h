// SPDX-License-Identifier: Apache-2.0
// Everything, in one include.
#pragma once

#include "reprise/autodiff.h"
#include "reprise/base.h"
#include "reprise/checkpoint.h"
#include "reprise/compile.h"
#include "reprise/data.h"
#include "reprise/graph.h"
#include "reprise/half.h"
#include "reprise/io.h"
#include "reprise/lazy.h"
#include "reprise/lazy_plan.h"
#include "reprise/memory.h"
#include "reprise/models.h"
#include "reprise/nn.h"
#include "reprise/ops.h"
#include "reprise/optim.h"
#include "reprise/plan.h"
#include "reprise/plan_io.h"
#include "reprise/tape.h"
#include "reprise/tensor.h"
#include "reprise/train.h"
