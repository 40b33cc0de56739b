// SPDX-License-Identifier: Apache-2.0
// Runs small functions of values on tensors, and reads the errors they cause.
#pragma once

#include <gtest/gtest.h>

#include "graph/backpropagate.h"
#include "ops/rules.h"
#include "reprise/ops.h"

namespace reprise {

inline std::vector<Type> types_of(const std::vector<Tensor>& inputs) {
  std::vector<Type> types;
  for (const Tensor& t : inputs) types.push_back(t.type());
  return types;
}

inline std::vector<Tensor> run(const std::function<Values(const Values&)>& f, const std::vector<Tensor>& inputs) {
  return evaluate(trace(f, types_of(inputs)), inputs);
}

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace reprise
