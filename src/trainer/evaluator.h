// SPDX-License-Identifier: Apache-2.0
// Loss and accuracy on the samples that validate, in memory that exists only meanwhile.
#pragma once

#include <memory>

#include "compile/build.h"
#include "reprise/trainer.h"

namespace reprise {

class Evaluator {
 public:
  /// Plans for batches that fit `budget`: the training batch's size, or half of it, a quarter ...; throws
  /// NoScheduleFits. `samples` is how many to use at most.
  Evaluator(const BuiltInModel& model, const data::Dataset& data, std::int64_t samples, const CompileOptions& options);

  /// What is compiled for batches of the training batch's size.
  static Graph graph(const BuiltInModel& model);

  std::int64_t arena_bytes() const { return built_.program->arena_bytes; }
  /// Parameters are copied from where they are; takes arena_bytes().
  Evaluation run() const;

 private:
  Built plan(const BuiltInModel& model, const CompileOptions& options);

  data::Dataset data_;
  std::int64_t samples_ = 0, batch_ = 0;
  std::size_t tensors_ = 0;  // of a batch
  Built built_;
};

}  // namespace reprise
