// SPDX-License-Identifier: Apache-2.0
// refused: this type does not say how it is stored: specialise reprise::Serial for it
#include <memory>

#include "reprise/stores.h"

class Samples {  // as large as a vector, but its third word is no capacity
 public:
  double* begin() { return values_.get(); }
  double* end() { return values_.get() + size_; }
  const double* begin() const { return values_.get(); }
  const double* end() const { return values_.get() + size_; }
  void resize(std::size_t n) { values_ = std::make_unique<double[]>(n), size_ = n; }

 private:
  std::unique_ptr<double[]> values_;
  std::size_t size_ = 0;
  double spacing_ = 1;  // would be lost
};

void keep(const Samples& samples) { reprise::EncodedStore<Samples>({}).put(0, samples); }
