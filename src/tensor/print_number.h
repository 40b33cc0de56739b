// SPDX-License-Identifier: Apache-2.0
// Single numbers as NumPy writes them, within an array and alone.
#pragma once

#include <string>
#include <vector>

#include "reprise/tensor.h"

namespace reprise {

/// How the elements of one tensor are written, decided from those that will be shown: all words are equally wide.
class NumberFormat {
 public:
  NumberFormat(const Tensor& tensor, const std::vector<std::int64_t>& offsets);
  std::string word(std::int64_t offset) const;

 private:
  void measure_floats(const std::vector<std::int64_t>& offsets);
  std::string float_word(double x) const;

  Tensor tensor_;
  std::vector<double> floats_;  // all elements of a float tensor
  std::size_t left_ = 0;        // characters before the point (or of the whole word)
  std::size_t right_ = 0;       // after it
  bool scientific_ = false;
  std::size_t exponent_digits_ = 2;
};

/// The only element, as NumPy prints a scalar.
std::string print_scalar(const Tensor& tensor);

}  // namespace reprise
