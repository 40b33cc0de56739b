// SPDX-License-Identifier: Apache-2.0
// An op's examples: inputs to test and measure it with.
#pragma once

#include <vector>

#include "reprise/graph.h"

namespace reprise {

struct Example {
  struct Input {
    Type type;
    double low, high;  // what its numbers are drawn from, both ends included for integers
  };
  std::vector<Input> inputs;
  Attributes attributes;
};

/// Reads Op::examples.
std::vector<Example> examples_of(const Op& op);

/// Random tensors for the example; the same seed gives the same numbers, whatever the float dtype.
std::vector<Tensor> draw(const Example& example, std::uint64_t seed);

}  // namespace reprise
