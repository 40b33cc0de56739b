// SPDX-License-Identifier: Apache-2.0
// Elements as files hold them, and the tensors they become.
#pragma once

#include <functional>

#include "reprise/tensor.h"

namespace reprise::io {

/// kind: 'f' float, 'i' integer, 'u' unsigned, 'b' bool, 'g' bfloat.
struct Element {
  char kind = 'f';
  int bytes = 4;
  bool swapped = false;  // most significant byte first
};

/// What a tensor of such elements is; an Error for kinds that no tensor holds.
DType dtype_of(const Element& element);
Element element_of(DType dtype);

/// Gives the next bytes; throws Error where there are fewer.
using Source = std::function<void(void* to, std::int64_t bytes)>;

/// A tensor of elements that come one after another. Throws Error for a bool that is neither 0 nor 1 and for an
/// integer too large for its tensor.
Tensor read_elements(const Element& element, const Shape& shape, const Source& source);

/// The same memory read as the transpose: from Fortran order to ours.
Tensor from_fortran_order(const Tensor& reversed);

/// Throws Error where a bool is neither 0 nor 1.
void check_booleans(const Tensor& tensor);

}  // namespace reprise::io
