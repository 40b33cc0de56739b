// SPDX-License-Identifier: Apache-2.0
// Reversing a chain of steps in little memory, with your own state type: everything of the room, in one include.
#pragma once

#include "reprise/chain.h"
#include "reprise/checkpoint_errors.h"
#include "reprise/mixed_sweep.h"
#include "reprise/reverse_sweep.h"
#include "reprise/serial.h"
#include "reprise/stores.h"
