// SPDX-License-Identifier: Apache-2.0
// test:
#include <reprise/reprise.h>

#include <iostream>

using reprise::Tensor, reprise::Value;
using namespace reprise::literals;

int main() {
  // A gradient.
  auto loss = [](const Value& w) { return sum(square(w)); };
  std::cout << reprise::grad(loss)(Tensor{1, 2, 3}) << "\n";  // [2. 4. 6.]

  // Training within a budget: the only difference from ordinary training is `.budget`.
  reprise::nn::Sequential model{reprise::nn::Linear(2, 64), reprise::gelu, reprise::nn::Linear(64, 1)};
  auto train = reprise::train_step(model, reprise::optim::Adam{{.lr = 1e-2}}, {.budget = 64_KiB},
                                   [&](const Value& x, const Value& y) { return mse(model(x), y); });
  Tensor inputs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, targets{{0}, {1}, {1}, {0}};
  for (int i = 0; i < 20; ++i) train(inputs, targets);
  std::cout << train.plan().summary() << "\n";

  // A chain of steps with a state of your own, reversed with 3 snapshots instead of 1000 kept states.
  auto step = [](double x) { return x + 0.001 * x * (1 - x); };
  auto adjoint = [](double x, double dx) { return dx * (1 + 0.001 * (1 - 2 * x)); };
  double sensitivity = reprise::reverse_sweep(0.5, {.steps = 1000, .snapshots = 3}, step, 1.0, adjoint);
  std::cout << sensitivity << "\n";

  // Any graph of sizes and costs, within a budget.
  reprise::Problem p;
  auto load = p.add({"load", 40_MiB, 0.2});
  auto fft = p.add({"fft", 80_MiB, 1.5}, {load});
  auto filter = p.add({"filter", 80_MiB, 0.7}, {fft});
  p.add({"result", 10_MiB, 0.4}, {filter, load});
  auto plan = reprise::solve(p, {.budget = 180_MiB});
  std::cout << plan.summary() << "\n";
}
