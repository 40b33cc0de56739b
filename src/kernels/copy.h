// SPDX-License-Identifier: Apache-2.0
// Copies between two strided layouts of one shape: the kernel behind transposing, expanding, slicing, flipping,
// concatenating and diagonals.
#pragma once

#include "reprise/tensor.h"

namespace reprise::kernels {

/// to[Σ i·to_strides] = from[Σ i·from_strides] for every index i of `shape`. Strides are in elements and may be
/// negative, or 0 in the source. Loops are merged and ordered once, when it is made; running it allocates nothing.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(std::int64_t element_bytes, const Shape& shape, const Shape& from_strides, const Shape& to_strides);
  void run(const void* from, void* to) const;

  struct Loop {
    std::int64_t count = 1, from = 0, to = 0;
  };

 private:
  void add_loop(Loop loop);
  void choose_inner();
  template <class T>
  void run_as(const T* from, T* to) const;
  template <class T>
  void run_unit(std::int64_t unit, const T* from, T* to) const;

  std::int64_t element_bytes_ = 4;
  int outer_count_ = 0;
  std::array<Loop, Shape::max_rank> outer_;  // outermost first
  Loop across_, row_;                        // the two inner loops; rows are along `row_`
  bool transposes_ = false;                  // across_ is contiguous in the source, row_ in the target
  std::int64_t strip_ = 1, piece_ = 1;       // a unit of work: `strip_` of across_ times `piece_` of row_
  std::int64_t strips_ = 1, pieces_ = 1, units_ = 0;
};

/// The naive twin: one element at a time.
void strided_copy_naive(std::int64_t element_bytes, const Shape& shape, const Shape& from_strides,
                        const Shape& to_strides, const void* from, void* to);

/// Sets bytes to zero, on several threads where they are many.
void fill_zero(void* data, std::int64_t bytes);

}  // namespace reprise::kernels
