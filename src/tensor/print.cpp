// SPDX-License-Identifier: Apache-2.0
// Tensors as text, the way NumPy prints arrays.
#include <ostream>

#include "reprise/tensor.h"

namespace reprise {

std::string to_string(const Tensor& tensor) {
  std::string text;
  for (double x : tensor.to_vector<double>()) text += std::to_string(x) + " ";
  return text;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace reprise
