// SPDX-License-Identifier: Apache-2.0
// NumPy's array format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string>
#include <string_view>

#include "io/elements.h"

namespace reprise::io {

/// Everything before the elements of an array.
std::string npy_header(const Type& type);

/// An array from what `source` gives, which must be `bytes` long to the last; `what` names it in errors.
Tensor read_npy(const std::string& what, std::int64_t bytes, const Source& source);

}  // namespace reprise::io
