// SPDX-License-Identifier: Apache-2.0
// External data: numbers in files beside the model. A model is data from somewhere, so it may only name files that were
// put into its own folder: no name leads out of there, and nothing else is let in by a link.
#pragma once

#include <string>

#include "io/file.h"

namespace reprise::onnx {

/// Opens the file that `model` calls `location`, below the folder behind the descriptor. An Error for a name that is
/// not plainly relative ("weights.bin", "parts/1.bin"), for symbolic and hard links and for what is no regular file.
io::InputFile open_external(const io::InputFile& model, int folder, const std::string& location);

/// What open_external does where the kernel has no openat2: a descriptor, or -1 with errno, ELOOP for a link.
int open_by_steps(int folder, const std::string& location);

}  // namespace reprise::onnx
