// SPDX-License-Identifier: Apache-2.0
// refused: this type does not say how it is stored: specialise reprise::Serial for it
#include "reprise/stores.h"

struct Samples {
  std::vector<double> values;
  double rate = 1;  // would be lost
  double* begin() { return values.data(); }
  double* end() { return values.data() + values.size(); }
  const double* begin() const { return values.data(); }
  const double* end() const { return values.data() + values.size(); }
  void resize(std::size_t n) { values.resize(n); }
};

void keep(const Samples& samples) { reprise::EncodedStore<Samples>({}).put(0, samples); }
