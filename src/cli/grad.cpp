// SPDX-License-Identifier: Apache-2.0
// `reprise grad`: the loss of an ONNX file's network on given inputs, and the gradient of everything that trains.
#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/network.h"
#include "cli/options.h"
#include "cli/planning.h"
#include "cli/verbs.h"
#include "reprise/io.h"
#include "train/parts.h"
#include "train/session.h"

namespace reprise::cli {
namespace {

struct GradCommand {
  std::string model, inputs, out, budget = "100%", accumulate = "1";
  NetworkWords network;
  std::uint64_t seed = 1;
  int threads = 0;
  double time_limit = 5;
  bool json = false;
};

std::string names_in(const io::NamedTensors& tensors) {
  std::string names;
  for (const auto& [name, tensor] : tensors) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name);
  return names.empty() ? "nothing" : names;
}

const Tensor* find_in(const io::NamedTensors& tensors, const std::string& name) {
  auto found = std::ranges::find(tensors, name, [](const auto& t) { return t.first; });
  return found == tensors.end() ? nullptr : &found->second;
}

DType dtype_of_target(const Tensor& target) {
  if (is_float(target.dtype())) return target.dtype() == DType::f64 ? DType::f64 : DType::f32;
  return DType::i64;
}

// The arrays decide the shapes of the model's inputs and of the target.
BuiltInModel model_of(const GradCommand& command, const io::NamedTensors& arrays) {
  OnnxOptions options = onnx_options(command.network, 0, command.seed, known_bytes(command.budget));
  for (const OnnxTensor& input : onnx_summary(command.model, options.budget).inputs) {
    const Tensor* array = find_in(arrays, input.name);
    if (!array)
      fail("[grad] '{}' holds no array '{}', which '{}' takes: it holds {}", command.inputs, input.name, command.model,
           names_in(arrays));
    options.shapes[input.name] = array->shape().sizes();
  }
  if (const Tensor* target = find_in(arrays, "target"))
    options.target = Type{dtype_of_target(*target), target->shape()};
  BuiltInModel model = onnx_model(command.model, options);
  choose_trained(model, {command.network.train, command.network.freeze});
  return model;
}

// In the model's order and types.
std::vector<Tensor> batch_of(const GradCommand& command, const BuiltInModel& model, const io::NamedTensors& arrays) {
  std::vector<Tensor> batch;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const Tensor* array = find_in(arrays, model.inputs[i]);
    if (!array)
      fail("[grad] '{}' holds no array '{}', which the loss compares with: it holds {}", command.inputs,
           model.inputs[i], names_in(arrays));
    const Type& wanted = model.batch[i];
    if (array->shape() != wanted.shape || (is_float(array->dtype()) && !is_float(wanted.dtype)))
      fail("[grad] '{}' in '{}' is {}, the model takes {}", model.inputs[i], command.inputs, to_string(array->type()),
           to_string(wanted));
    batch.push_back(array->dtype() == wanted.dtype ? *array : array->to(wanted.dtype));
  }
  return batch;
}

std::vector<std::string> trained_names(const BuiltInModel& model) {
  std::vector<std::string> names;
  for (const nn::Named& p : model.parameters)
    if (p.parameter.trainable()) names.push_back(p.name);
  return names;
}

// The loss, then the gradients, of a batch worked through in parts. Running statistics stay as they are.
Graph gradient_graph(const BuiltInModel& model, int parts) {
  Graph graph = trace(
      [&](const Values& batch) -> Values {
        Value total;
        Values sums;
        for (int i = 0; i < parts; ++i) {
          Value loss = loss_of_part("grad", model.loss, part_of_batch("grad", batch, parts, i), parts);
          Values wrt;
          for (const nn::Named& p : model.parameters)
            if (p.parameter.trainable()) wrt.push_back(p.parameter.in(loss));
          add_to(sums, gradients(loss, wrt));
          total = i == 0 ? loss : total + loss;
        }
        sums.insert(sums.begin(), total);
        return sums;
      },
      model.batch);
  graph.updates.clear();
  return graph;
}

struct Gradients {
  io::NamedTensors tensors;  // the loss last
  std::int64_t budget = 0, measured_peak = 0;
  std::int64_t parameters = 0;
  int parts = 1;
  PlanResult plan;
};

CompileOptions compile_options(const GradCommand& command) {
  CompileOptions options{.measure = false};
  options.planning.time_limit = command.time_limit;
  return options;
}

[[noreturn]] void fail_whole(std::int64_t budget, std::int64_t smallest, std::int64_t beside) {
  throw NoScheduleFits(fmt::format("no schedule fits {}: the smallest budget is {} ({} bytes), of which {} are the "
                                   "inputs and constants",
                                   format_bytes(budget), format_bytes(smallest), smallest, format_bytes(beside)),
                       smallest);
}

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// The budget is for everything: the arena, and what is held beside it, the inputs as they were read and constants.
Built built_in(int parts, const GradCommand& command, const BuiltInModel& model, std::int64_t budget,
               bool names_smallest = true) {
  CompileOptions options = compile_options(command);
  options.planning.names_smallest = names_smallest;
  Graph graph = ready_to_plan(gradient_graph(model, parts));
  std::int64_t beside = memory_use().live_bytes;
  if (budget != no_limit) options.budget = std::max<std::int64_t>(1, budget - beside);
  try {
    return build(std::move(graph), options);
  } catch (const NoScheduleFits& e) {
    fail_whole(budget, e.smallest_budget + beside, beside);
  }
}

// In as many parts as the command says, or as run fastest, by estimated costs.
BuiltInParts built(const GradCommand& command, const BuiltInModel& model, std::int64_t budget) {
  if (int parts = parts_of(command.accumulate); parts > 0) return {built_in(parts, command, model, budget), parts};
  return build_fastest(model.batch, [&](int parts, bool names_smallest) {
    return built_in(parts, command, model, budget, names_smallest);
  });
}

// Percentages are of what the whole batch takes where its parts are to be chosen.
std::int64_t budget_of(const GradCommand& command, const BuiltInModel& model) {
  if (command.budget.find('%') == std::string::npos) return parse_bytes(command.budget);
  Built free = built_in(std::max(1, parts_of(command.accumulate)), command, model, no_limit);
  return parse_bytes(command.budget, free.program->arena_bytes + memory_use().live_bytes);
}

// The arena's tensors are written as they lie there: results are held once.
Gradients computed(const GradCommand& command, Session& session) {
  std::vector<Tensor> batch;
  Gradients result;
  BuiltInModel model;
  {
    io::NamedTensors arrays = io::load_npz(command.inputs);
    model = model_of(command, arrays);
    batch = batch_of(command, model, arrays);
  }
  result.parameters = model.parameter_count();
  result.budget = budget_of(command, model);
  session.choose("", [&] {
    BuiltInParts chosen = built(command, model, result.budget);
    result.parts = chosen.parts;
    return std::move(chosen.built);
  });
  reset_memory_peak();
  Executor& executor = session.executor();
  write_inputs(executor, batch);
  executor.run();
  std::vector<std::string> names = trained_names(model);
  for (std::size_t i = 0; i < names.size(); ++i) result.tensors.emplace_back(names[i], executor.output(i + 1));
  result.tensors.emplace_back("loss", executor.output(0));
  result.plan = session.plan("grad");
  result.measured_peak = session.arena_bytes("grad") + memory_use().peak_bytes;
  return result;
}

void print(const GradCommand& command, const Gradients& r) {
  double loss = r.tensors.back().second.item();
  if (command.json) {
    nlohmann::ordered_json json = {{"model", command.model},
                                   {"loss", loss},
                                   {"parameters", r.parameters},
                                   {"gradients", r.tensors.size() - 1},
                                   {"parts", r.parts},
                                   {"budget_bytes", r.budget},
                                   {"measured_peak_bytes", r.measured_peak},
                                   {"planned_peak_bytes", r.plan.layout_bytes},
                                   {"recomputed", r.plan.recomputed},
                                   {"overhead", r.plan.overhead()}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("loss {:.9g}; {} gradients of {} parameters{}\n", loss, r.tensors.size() - 1, r.parameters,
             command.out.empty() ? "" : fmt::format(" in '{}'", command.out));
  fmt::print("  budget {}, took {}; {} of {} values recomputed{}\n", format_bytes(r.budget),
             format_bytes(r.measured_peak), r.plan.recomputed, r.plan.value_count,
             r.parts > 1 ? fmt::format("; the batch was worked through in {} parts", r.parts) : "");
}

Status run_grad(const GradCommand& command) try {
  if (!is_onnx_path(command.model))
    throw WrongCommand(fmt::format("grad works on an ONNX file, and '{}' does not end with .onnx", command.model));
  if (command.threads > 0) omp_set_num_threads(command.threads);
  expect_writable({command.out});
  expect_kept(command.inputs, {command.out});
  Session session(compile_options(command));
  Gradients result = computed(command, session);
  if (!command.out.empty()) io::save_npz(command.out, result.tensors);
  print(command, result);
  if (std::isfinite(result.tensors.back().second.item())) return done;
  fmt::print(stderr, "reprise: the loss is not finite: look for NaN, infinities or an empty batch in '{}'\n",
             command.inputs);
  return diverged;
} catch (const NoScheduleFits& e) {
  return refused(e, command.json);
}

}  // namespace

std::function<Status()> add_grad(CLI::App& verb) {
  auto command = std::make_shared<GradCommand>();
  add_option(verb, "model", command->model, "An ONNX file", {.is_required = true, .type = "FILE.onnx"});
  add_option(verb, "--inputs", command->inputs, "The model's inputs by name and, unless the loss needs none, 'target'",
             {.is_required = true, .type = "FILE.npz"});
  add_option(verb, "--out", command->out,
             "Write the gradients there, an array for each parameter that trains, and 'loss'", {.type = "FILE.npz"});
  add_option(verb, "--budget", command->budget,
             "Bytes for everything: 512MiB, 2GB, or 50% of what an unlimited run needs",
             {.check = is_budget(), .shows_default = true});
  add_option(verb, "--accumulate", command->accumulate,
             "Work through the batch in so many parts, or auto: as many as run fastest within the budget",
             {.check = is_parts()});
  add_network_options(verb, command->network);
  add_option(verb, "--seed", command->seed, "Seed of dropout, where the model has any");
  add_option(verb, "--threads", command->threads, "Threads that compute; all cores if left out",
             {.check = between(1, 1024)});
  add_option(verb, "--time-limit", command->time_limit,
             "Seconds to search for a better plan; longer only until one fits",
             {.check = positive(), .shows_default = true});
  add_flag(verb, "--json", command->json, "Print JSON on standard output and nothing else there");
  add_footer(
      verb,
      "Examples:\n"
      "  reprise grad net.onnx --inputs in.npz --loss cross_entropy --out grads.npz\n"
      "  reprise grad net.onnx --inputs in.npz --loss mse --out grads.npz --budget 40% --json\n"
      "  reprise grad net.onnx --inputs in.npz --loss mse --out grads.npz --budget 2GB --accumulate auto\n"
      "In Python: numpy.savez('in.npz', x=images, target=labels). The network runs once in training mode; the file\n"
      "is not changed, and gradients have the same bits within any budget. The status is 3 if nothing fits, and 4 if\n"
      "the loss is not finite; the gradients are written then, too.");
  return [command] { return run_grad(*command); };
}

}  // namespace reprise::cli
