// SPDX-License-Identifier: Apache-2.0
// `reprise bench`: a model's training step on random data, for comparisons.
#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/memory.h"
#include "cli/model.h"
#include "cli/planning.h"
#include "cli/verbs.h"
#include "trainer/exact.h"
#include "trainer/setup.h"

namespace reprise::cli {
namespace {

struct BenchCommand {
  ModelCommand model;
  std::string budget = "100%", init, gradients;
  int steps = 5;
  double time_limit = 10;
  std::int64_t iterations = 0;
  bool json = false, exact = false;
};

struct Bench {
  std::vector<double> losses, exact_losses, seconds;
  std::int64_t params = 0, arena = 0, budget = 0;
  Measured measured;
  PlanResult plan;
};

// The batch from the folder that is named, or random numbers where something needs it before the step; else nothing.
std::vector<Tensor> batch_beside(const BuiltInModel& model, const BenchCommand& command) {
  std::vector<Tensor> batch;
  if (!command.init.empty()) batch = load_weights(model, command.init);
  bool is_needed = !command.gradients.empty() || command.exact;
  return batch.empty() && is_needed ? model.random_batch(command.model.seed) : batch;
}

// What is not there yet is drawn in its place: it is never held twice.
void fill_batch(const TrainStep& step, const BuiltInModel& model, std::vector<Tensor> beside, std::uint64_t seed) {
  for (std::size_t i = 0; i < model.batch.size(); ++i) {
    Tensor place = step.batch(i);
    if (beside.empty()) {
      model.draw(seed, i, place);
    } else {
      std::memcpy(place.data(), beside[i].data(), static_cast<std::size_t>(place.bytes()));
      beside[i] = {};
    }
  }
}

// The gradients of the first step, one raw file a parameter.
void write_gradients(const BuiltInModel& model, const std::vector<Tensor>& batch, const BenchCommand& command) {
  std::vector<std::string> names;
  auto all = [&](const Values& v) -> Values {
    Value loss = model.loss(v)[0];
    Values wrt;
    for (const nn::Named& p : model.parameters)
      if (p.parameter.trainable()) names.push_back(p.name), wrt.push_back(p.parameter.in(loss));
    return gradients(loss, wrt);
  };
  std::vector<Tensor> found = command.exact ? run_exactly(all, batch) : Compiled(all, {.measure = false}).run(batch);
  std::filesystem::create_directories(command.gradients);
  for (std::size_t i = 0; i < found.size(); ++i)
    write_file(command.gradients + "/" + names[i] + ".bin",
               std::string(static_cast<const char*>(found[i].data()), static_cast<std::size_t>(found[i].bytes())));
}

// Percentages are of what an unlimited run needs. `beside` is held beside the step.
StepOptions planned_options(const BenchCommand& command, const BuiltInModel& model, std::int64_t beside) {
  StepOptions options = step_options(command.model);
  if (command.iterations > 0)
    options.planning.iterations = command.iterations;
  else
    options.planning.time_limit = command.time_limit;
  options.timeline = true;
  std::int64_t whole = 0;
  if (command.budget.find('%') != std::string::npos) {
    TrainStep free(model.loss, model.parameters, model.rule, options);
    free.compile(model.batch);
    whole = free.arena_bytes() + beside;
  }
  options.budget = std::max<std::int64_t>(0, parse_bytes(command.budget, whole) - beside);
  return options;
}

Bench run(const BenchCommand& command) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error to report
  Progress progress;
  warm_up();
  MemoryWatch memory;
  ModelCommand limited = command.model;
  limited.budget = known_bytes(command.budget);
  BuiltInModel model = make_model(limited);
  Bench bench{.params = model.parameter_count()};
  progress.show("timing ops and planning");
  std::int64_t beside =
      constant_bytes(model, TrainStep(model.loss, model.parameters, model.rule, step_options(command.model)));
  StepOptions options = planned_options(command, model, beside);
  bench.budget = options.budget + beside;
  TrainStep step(model.loss, model.parameters, model.rule, options);
  try {
    step.compile(model.batch);
  } catch (const NoScheduleFits& e) {
    if (beside == 0) throw;
    throw NoScheduleFits(
        fmt::format("{}; with {} bytes of constants beside it: {} bytes", e.what(), beside, e.smallest_budget + beside),
        e.smallest_budget + beside);
  }
  save_profile(command.model, options);
  memory.arena_is_next();
  {
    std::vector<Tensor> batch = batch_beside(model, command);
    if (!command.gradients.empty()) write_gradients(model, batch, command);
    if (command.exact) bench.exact_losses = exact_losses(model, batch, command.steps);
    fill_batch(step, model, std::move(batch), command.model.seed);
  }
  reset_memory_peak();
  std::vector<Tensor> batch;
  for (std::size_t i = 0; i < model.batch.size(); ++i) batch.push_back(step.batch(i));
  for (int i = 0; i < command.steps; ++i) {
    auto start = std::chrono::steady_clock::now();
    bench.losses.push_back(step.run(batch));
    bench.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    progress.show(fmt::format("step {} of {}: loss {:.5f}, {:.3f} s", i + 1, command.steps, bench.losses.back(),
                              bench.seconds.back()),
                  static_cast<double>(i + 1) / command.steps);
  }
  bench.measured = memory.measure(step, bench.seconds);
  bench.plan = step.plan();
  bench.arena = step.arena_bytes();
  progress.clear();
  return bench;
}

void print(const BenchCommand& command, const Bench& bench) {
  if (command.json) {
    nlohmann::ordered_json json = {{"model", command.model.name},
                                   {"steps", command.steps},
                                   {"losses", bench.losses},
                                   {"step_seconds", bench.measured.step_seconds},
                                   {"budget_bytes", bench.budget},
                                   {"planned_peak_bytes", bench.plan.layout_bytes},
                                   {"arena_bytes", bench.arena},
                                   {"measured_peak_bytes", bench.measured.tensor_peak},
                                   {"rss_peak_bytes", bench.measured.resident_peak},
                                   {"rss_before_bytes", bench.measured.resident_before},
                                   {"recompute_seconds_share", bench.measured.recompute_share},
                                   {"paged_bytes", paged_bytes(bench.plan)},
                                   {"threads", omp_get_max_threads()},
                                   {"params", bench.params},
                                   {"plan_seconds", bench.plan.seconds}};
    if (command.exact) json["exact_losses"] = bench.exact_losses;
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("{}\n", bench.plan.summary());
  if (paged_bytes(bench.plan) > 0) fmt::print("  {}\n", paging_words(paged_bytes(bench.plan), command.model.disk));
  fmt::print("  {} parameters; {:.4f} s a step (median), {:.1f} % of it recomputing; planned in {:.2f} s\n",
             bench.params, bench.measured.step_seconds, 100 * bench.measured.recompute_share, bench.plan.seconds);
  fmt::print("  arena {}, measured {}, resident {} above the start\n", format_bytes(bench.arena),
             format_bytes(bench.measured.tensor_peak), format_bytes(bench.measured.resident_peak));
  fmt::print("  loss {:.6f} to {:.6f}\n", bench.losses.front(), bench.losses.back());
  if (command.exact)
    fmt::print("  in double precision {:.6f} to {:.6f}\n", bench.exact_losses.front(), bench.exact_losses.back());
}

Status run_bench(const BenchCommand& command) try {
  Bench bench = run(command);
  print(command, bench);
  auto wrong = std::ranges::find_if(bench.losses, [](double loss) { return !std::isfinite(loss); });
  if (wrong == bench.losses.end()) return done;
  fmt::print(stderr, "reprise: the loss of step {} is not finite: lower the learning rate, or check the batch\n",
             wrong - bench.losses.begin() + 1);
  return diverged;
} catch (const NoScheduleFits& e) {
  return refused(e, command.json);
}

}  // namespace

std::function<Status()> add_bench(CLI::App& verb) {
  auto command = std::make_shared<BenchCommand>();
  add_option(verb, "model", command->model.name, "A built-in model (see `reprise models`) or an ONNX file",
             {.is_required = true, .type = "MODEL|FILE.onnx", .check = is_model_name()});
  add_option(verb, "--budget", command->budget,
             "Bytes for everything: 512MiB, 2GB, or 50% of what an unlimited run needs",
             {.check = is_budget(), .shows_default = true});
  add_option(verb, "--steps", command->steps, "Steps to run", {.check = between(1, 1'000'000), .shows_default = true});
  add_option(verb, "--time-limit", command->time_limit,
             "Seconds to search for a better plan; longer only until one fits",
             {.check = positive(), .shows_default = true});
  add_option(verb, "--iterations", command->iterations, "Moves each search may try, instead of a time",
             {.check = positive()});
  add_option(verb, "--init", command->init, "Weights and batch from this folder (manifest.json and raw files)",
             {.type = "DIR"});
  add_option(verb, "--gradients", command->gradients,
             "Write the first step's gradients to this folder, raw, a file each: computed before the steps, without a "
             "limit, which rss_peak_bytes shows",
             {.type = "DIR"});
  add_flag(
      verb, "--exact", command->exact,
      "Those gradients, and losses beside the others, in double precision, without a limit: to see what rounding does");
  add_model_options(verb, command->model);
  add_flag(verb, "--json", command->json, "Print JSON on standard output and nothing else there");
  add_footer(verb,
             "Examples:\n"
             "  reprise bench gpt6                      as much memory as it likes\n"
             "  reprise bench gpt6 --budget 50%         half of that\n"
             "  reprise bench resnet50 --budget 300MiB --steps 10 --json\n"
             "  reprise bench net.onnx --budget 50% --batch 16\n"
             "The status is 3 if nothing fits; the message then names the smallest budget that would do. It is 4 if a\n"
             "loss is not finite.");
  return [command] { return run_bench(*command); };
}

}  // namespace reprise::cli
