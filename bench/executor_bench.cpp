// SPDX-License-Identifier: Apache-2.0
// What the executor itself costs: a chain of 10,000 tiny ops, against calling the same kernel as often in a plain loop.
#include "execute/executor.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "compile/build.h"

using namespace reprise;

namespace {

double median_seconds(int rounds, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + rounds / 2);
  return seconds[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main() {
  constexpr int length = 10'000, rounds = 51;
  Type types[] = {{DType::f32, {4}}};
  Graph graph = trace(
      [](const Values& v) -> Values {
        Value x = v[0];
        for (int i = 0; i < length; ++i) x = negate(x);
        return {x};
      },
      types);
  CompileOptions options{.planning = {.solvers = {"keep_all"}}, .measure = false};
  Executor executor(build(ready_to_plan(graph), options).program, {});
  double all = median_seconds(rounds, [&] { executor.run(); });

  std::vector<Type> input_types;
  Kernel kernel = graph.node(1).op->forward(graph.signature(1, input_types));
  Tensor a = Tensor::zeros(types[0]), b = Tensor::zeros(types[0]);
  const void* in[] = {a.data()};
  void* out[] = {b.data()};
  double plain = median_seconds(rounds, [&] {
    for (int i = 0; i < length; ++i) kernel.run({in, out, nullptr});
  });
  fmt::print("{} instructions: {:.1f} ns each, {:.1f} ns of it the kernel itself; the executor adds {:.1f} ns\n",
             length, 1e9 * all / length, 1e9 * plain / length, 1e9 * (all - plain) / length);
}
