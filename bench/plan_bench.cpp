// SPDX-License-Identifier: Apache-2.0
// Plans public graphs and prints, per budget, the extra cost found and proved beside what others published.
//   plan_bench DIRECTORY [SECONDS [THREADS [NAME[@PERCENT]]]]      e.g. plan_bench problems 10 2
// Published: Checkmate (C), Moccasin (M), FastSA (F) as given in the papers, Dynamic Tensor Rematerialization (D)
// simulated again on its own logs. Budgets are shares of the peak of the base order; peak and arena shares of the
// budget.
#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "reprise/plan_io.h"

namespace {

using reprise::PlanResult;
using reprise::Problem;

struct Case {
  const char* problem;
  int percent;
  const char* published;  // extra cost in %
  double prototype;       // extra cost in %, of a rough first version; < 0: proved infeasible
};
constexpr Case cases[] = {
    {"fcn8", 90, "C 0.0, F 0.1", 0.029},
    {"fcn8", 80, "C 0.1, F 0.1", 0.136},
    {"fcn8", 70, "F 3.0", 0.891},
    {"mobilenet", 90, "", 0.163},
    {"mobilenet", 80, "", 0.370},
    {"mobilenet", 70, "", 0.626},
    {"mobilenet", 50, "", 1.635},
    {"mobilenet", 45, "", 1.965},
    {"mobilenet", 30, "", 3.976},
    {"vgg_unet", 90, "", 1.129},
    {"vgg_unet", 80, "", 1.984},
    {"vgg_unet", 70, "", 2.967},
    {"vgg_unet", 50, "", 6.967},
    {"vgg_unet", 45, "", 9.321},
    {"vgg16", 90, "", 1.968},
    {"vgg16", 80, "", -1},
    {"random_layered_100", 90, "C M 0.8, F 0.0", 0.0},
    {"random_layered_100", 80, "C M 2.3, F 0.3", 1.568},
    {"random_layered_250", 90, "C M 0.9, F 0.0", 0.0},
    {"random_layered_250", 80, "M 4.9, F 0.0", 0.0},
    {"random_layered_250", 70, "F 2.6", 0.569},
    {"log_unet", 80, "D 6.25", 2.465},
    {"log_unet", 50, "D 61", 9.425},
    {"log_unet", 30, "", 26.7},
    {"log_resnet32", 80, "D 8.67", 2.390},
    {"log_resnet32", 50, "D 18.4", 9.012},
    {"log_resnet32", 30, "D 45.2", 16.68},
    {"log_transformer", 80, "D 7.20", 1.067},
    {"log_transformer", 50, "D 10.7", 4.299},
    {"log_transformer", 30, "D 25.9", 6.962},
};

void bench(const std::string& directory, const Case& row, double seconds, int threads) {
  Problem problem = reprise::load_problem(directory + "/" + row.problem + ".json");
  std::int64_t whole = reprise::peak(problem, reprise::keep_all(problem));
  reprise::PlanOptions options{.budget = whole * row.percent / 100, .threads = threads};
  options.time_limit = seconds;
  options.iterations = 1'000'000'000;
  double first = -1;
  options.progress = [&](const reprise::PlanProgress& progress) {
    if (progress.cost && first < 0) first = progress.seconds;
  };
  PlanResult result = reprise::solve(problem, options);
  std::string prototype = row.prototype < 0 ? "infeasible" : fmt::format("{:.3f}", row.prototype);
  fmt::print("{:<19}{:>4}  {:<16}{:>11}", row.problem, row.percent, row.published, prototype);
  if (!result) {
    fmt::print("{:>10}  proved below {:.3f} %, fits {:.3f} %\n", "infeasible",
               100 * static_cast<double>(result.min_budget_bound) / static_cast<double>(whole),
               100 * static_cast<double>(result.min_budget) / static_cast<double>(whole));
    return;
  }
  auto percent = [&](double cost) { return 100 * (cost / result.base_cost - 1); };
  auto share = [&](std::int64_t bytes) {
    return 100 * static_cast<double>(bytes) / static_cast<double>(result.budget);
  };
  fmt::print("{:>10.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>8.2f}{:>8.2f}  {}\n", percent(result.cost),
             percent(result.lower_bound), 100 * result.gap(), share(result.peak), share(result.layout_bytes), first,
             result.seconds, result.solver);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: plan_bench DIRECTORY [SECONDS [THREADS [NAME[@PERCENT]]]]\n");
    return 2;
  }
  double seconds = argc > 2 ? std::atof(argv[2]) : 10;
  int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  std::string only = argc > 4 ? argv[4] : "";
  fmt::print("extra cost in %, {} s and {} threads each\n", seconds, threads);
  fmt::print("{:<19}{:>4}  {:<16}{:>11}{:>10}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}  solver\n", "problem", "%", "published",
             "prototype", "ours", "bound", "gap %", "peak %", "arena %", "first s", "s");
  try {
    for (const Case& row : cases) {
      if (only.empty() || only == row.problem || only == fmt::format("{}@{}", row.problem, row.percent))
        bench(argv[1], row, seconds, threads);
    }
  } catch (const std::exception& e) {
    fmt::print(stderr, "plan_bench: {}\n", e.what());
    return 1;
  }
}
