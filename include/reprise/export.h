// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Marks what the shared library shows; everything else is hidden.
#define REPRISE_API __attribute__((visibility("default")))
