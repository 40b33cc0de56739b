// SPDX-License-Identifier: Apache-2.0
// An op's gradient rule, recorded once per signature as a short list of kernel calls. A tape's backward pass runs these
// instead of recording nodes.
#pragma once

#include <unordered_map>
#include <vector>

#include "reprise/graph.h"

namespace reprise {

/// Which gradients of outputs there are, and which of inputs are wanted.
using Mask = std::vector<bool>;

/// Numbers of slots: the op's inputs, its outputs, the gradients of its outputs, constants, temporaries.
struct GradientProgram {
  struct Step {
    Kernel kernel;
    std::vector<std::int32_t> in, out;  // slots
    Types types;                        // of `out`
    std::vector<std::int32_t> dead;     // temporaries that nobody reads afterwards
  };
  struct Result {
    std::int32_t slot = -1;  // -1: no gradient flows
    Type type;
  };

  std::int32_t arity = 0, output_count = 0;
  std::int32_t first_constant = 0, first_temporary = 0, slot_count = 0;
  std::vector<std::int32_t> used;  // slots of inputs and outputs that a step or a result reads
  std::vector<Tensor> constants;
  std::vector<Step> steps;
  std::vector<Result> results;   // one an input of the op
  std::int64_t extra_bytes = 0;  // the most that temporaries, results and scratch take at once
  std::int64_t constant_bytes = 0;
};

/// Throws Error where the op has no gradient.
GradientProgram compile_gradient(const Graph& graph, std::int32_t node, const Mask& given, const Mask& wanted);

class GradientCache {
 public:
  /// The program of node i; it stays until the next call. `is_new` where it was compiled just now.
  const GradientProgram& of(const Graph& graph, std::int32_t i, const Mask& given, const Mask& wanted);
  /// Bytes of all programs' constants.
  std::int64_t constant_bytes() const { return constant_bytes_; }

 private:
  static constexpr std::size_t most = 4096;
  struct Entry {
    const Op* op;
    std::vector<Type> inputs;
    Attributes attributes;
    Mask given, wanted;
    GradientProgram program;
  };
  std::unordered_multimap<std::uint64_t, Entry> entries_;
  std::int64_t constant_bytes_ = 0;
};

}  // namespace reprise
