// SPDX-License-Identifier: Apache-2.0
// Dynamic execution, as ratios taken in one run: what each cache policy costs under a limit, against no limit; and what
// the tape adds to a tiny operation.
//   lazy_bench [REPEATS [PROGRAM]]      tape, mlp, resnet or lstm
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "../tests/execute/programs.h"
#include "reprise/lazy.h"

namespace reprise {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

constexpr CachePolicy policies[] = {CachePolicy::cost_aware, CachePolicy::lru, CachePolicy::fifo, CachePolicy::lfu,
                                    CachePolicy::none};

struct Figures {
  double seconds = 0;
  std::int64_t executed = 0, peak_bytes = 0;
};

Figures run_step(const std::shared_ptr<Graph>& graph, const std::vector<Tensor>& inputs, const LazyOptions& options) {
  LazyExecutor lazy(options);
  double begin = seconds_now();
  lazy.forward(graph, inputs);
  return {seconds_now() - begin, lazy.stats().executed, lazy.stats().peak_bytes};
}

struct Rounds {
  std::vector<double> ratios, executed;
  std::int64_t peak_bytes = 0;

  void add(const std::shared_ptr<Graph>& graph, const std::vector<Tensor>& inputs, const LazyOptions& options) {
    double base = run_step(graph, inputs, {}).seconds;
    Figures f = run_step(graph, inputs, options);
    ratios.push_back(f.seconds / base);
    executed.push_back(static_cast<double>(f.executed));
    peak_bytes = std::max(peak_bytes, f.peak_bytes);
  }
};

void compare_policies(const Toy& p, int repeats) {
  auto graph = std::make_shared<Graph>(training_graph(p));
  std::vector<Tensor> inputs = p.parameters;
  inputs.insert(inputs.end(), p.data.begin(), p.data.end());
  Figures unlimited = run_step(graph, inputs, {});
  std::printf("%s: %d nodes, %lld ops, %.1f KiB unlimited\n", p.name.c_str(), graph->size(),
              static_cast<long long>(unlimited.executed), static_cast<double>(unlimited.peak_bytes) / 1024);
  std::printf("  %-6s %-11s %8s %8s %s\n", "limit", "policy", "ops x", "time x", "within");
  for (int percent : {100, 70, 50, 30}) {
    std::int64_t limit = unlimited.peak_bytes * percent / 100;
    std::map<CachePolicy, Rounds> rounds;
    for (int i = 0; i < repeats; ++i)  // the policies take turns, so that a busy moment of the machine hits all
      for (CachePolicy policy : policies) rounds[policy].add(graph, inputs, {.cache = limit, .policy = policy});
    for (CachePolicy policy : policies) {
      const Rounds& r = rounds[policy];
      std::printf("  %4d %% %-11s %8.3f %8.3f %s\n", percent, std::string(to_string(policy)).c_str(),
                  median(r.executed) / static_cast<double>(unlimited.executed), median(r.ratios),
                  r.peak_bytes <= limit ? "yes" : "no");
    }
  }
}

template <class F>
void tape_overhead(const char* what, int ops, int repeats, F step) {
  std::vector<double> forward, whole;
  Tape tape;
  Var x = tape.variable(Tensor{.1, .2, .3, .4});
  std::int64_t mark = tape.node_count();
  for (int r = 0; r < 20 * repeats; ++r) {
    double begin = seconds_now();
    Value h = x;
    for (int i = 0; i < ops; ++i) h = step(h, x);
    double middle = seconds_now();
    tape.backward(h, Tensor{1, 1, 1, 1});
    double end = seconds_now();
    forward.push_back((middle - begin) / ops);
    whole.push_back((end - begin) / ops);
    tape.zero_grads();
    tape.truncate(mark);
  }
  std::printf("tape, %-12s forward %.0f ns, forward + backward %.0f ns an op\n", what, 1e9 * median(forward),
              1e9 * median(whole));
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  using namespace reprise;
  int repeats = argc > 1 ? std::atoi(argv[1]) : 5;
  std::string only = argc > 2 ? argv[2] : "";
  if (only.empty() || only == "tape") {
    tape_overhead("tanh", 500, repeats, [](const Value& h, const Var&) { return tanh(h); });
    tape_overhead("relu", 500, repeats, [](const Value& h, const Var&) { return relu(h); });
    tape_overhead("add", 500, repeats, [](const Value& h, const Var& x) { return h + x; });
    tape_overhead("multiply", 500, repeats, [](const Value& h, const Var& x) { return h * x; });
  }
  for (const Toy& program : {mlp_program(16, 128, 128), resnet_program(8, 4, 16, 16), lstm_program(24, 32, 64)})
    if (only.empty() || only == program.name) compare_policies(program, repeats);
}
