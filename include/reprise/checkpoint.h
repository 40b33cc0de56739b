// SPDX-License-Identifier: Apache-2.0
// Reversing a chain of steps in little memory, with your own state type: everything of the room, in one include.
#pragma once

#include "reprise/activation_checkpointer.h"
#include "reprise/chain.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/checkpoint_segments.h"
#include "reprise/checkpoint_strategy.h"
#include "reprise/checkpointed_network.h"
#include "reprise/mixed_sweep.h"
#include "reprise/recomputable.h"
#include "reprise/reverse_sweep.h"
#include "reprise/scan.h"
#include "reprise/serial.h"
#include "reprise/stores.h"
