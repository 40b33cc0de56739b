// SPDX-License-Identifier: Apache-2.0
// Random planning problems of several shapes for the tests: the same seed gives the same problem.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "reprise/plan.h"

namespace reprise {

enum class Shape { chain, layered, u_shape, training };

/// A random problem of about `size` nodes with small sizes and costs.
inline Problem random_problem(Shape shape, int size, std::uint64_t seed) {
  Random random(seed);
  Problem p;
  std::vector<ValueRef> made;
  auto add = [&](std::vector<ValueRef> inputs) {
    std::string name = "n" + std::to_string(p.node_count());
    made.push_back(
        p.add({name, random.between(1, 20), static_cast<double>(random.between(0, 9)), random.between(0, 3)}, inputs));
    return made.back();
  };
  if (shape == Shape::layered) {
    for (int i = 0; i < size; ++i) {
      std::vector<ValueRef> inputs;
      for (std::int64_t k = random.between(0, 3); k > 0 && i > 0; --k)
        inputs.push_back(made[static_cast<std::size_t>(random.below(i))]);
      add(inputs);
    }
  } else {
    int half = shape == Shape::chain ? size : size / 2;
    for (int i = 0; i < half; ++i) {
      std::vector<ValueRef> inputs;
      if (i > 0) inputs.push_back(made.back());
      if (shape == Shape::training && i > 1 && random.chance(0.3))
        inputs.push_back(made[static_cast<std::size_t>(random.below(i - 1))]);
      add(inputs);
    }
    for (int i = half; i-- > 0 && shape != Shape::chain;) {
      ValueRef forward = made[static_cast<std::size_t>(i)];
      std::vector<ValueRef> inputs{made.back(), forward};
      if (shape == Shape::training) {
        for (int v : p.inputs(forward.node)) inputs.push_back({p.value(v).node, 0});
      }
      add(inputs);
    }
  }
  p.output(made.back());
  if (random.chance(0.3))
    p.output(made[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(made.size())))]);
  return p;
}

}  // namespace reprise
