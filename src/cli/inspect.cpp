// SPDX-License-Identifier: Apache-2.0
// `reprise inspect`: what a model holds and what training it means, without reading its weights.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/model.h"
#include "cli/planning.h"
#include "cli/verbs.h"
#include "ops/rules.h"
#include "report/text.h"
#include "reprise/compile.h"

namespace reprise::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectCommand {
  ModelCommand model;
  std::string budget;
  bool json = false;
};

struct Totals {
  std::int64_t numbers = 0, bytes = 0;
  void add(const Type& type) { numbers += type.elements(), bytes += type.bytes(); }
};

struct Inspection {
  BuiltInModel model;
  Totals all, trained, kept;
  std::set<std::string> own;  // what is kept: running statistics, keys
  double flops = 0, step_flops = 0;
  std::map<std::string, int> operators;  // the file's, or ours
  std::int64_t keep_all = 0, all_trained = 0;
  std::vector<Type> outputs;
};

double flops_of(const Graph& graph) {
  double flops = 0;
  std::vector<Type> types;
  for (std::int32_t i = 0; i < graph.size(); ++i)
    if (!graph.node(i).inputs.empty()) flops += cost_of(graph.signature(i, types)).flops;
  return flops;
}

std::string role_of(const Inspection& r, const nn::Named& p) {
  if (p.parameter.trainable()) return "trained";
  return r.own.contains(p.name) ? "kept by the network" : "frozen";
}

// What nothing could make a trained parameter: running statistics, keys.
std::set<std::string> own_of(ModelCommand command) {
  command.network.freeze.clear();
  command.network.train.clear();
  std::set<std::string> names;
  for (const nn::Named& p : make_model(command).parameters)
    if (!p.parameter.trainable()) names.insert(p.name);
  return names;
}

Inspection inspect(const InspectCommand& command) {
  Inspection found{.model = make_model(command.model)};
  const BuiltInModel& model = found.model;
  found.own = own_of(command.model);
  Graph forward = eliminate_dead_code(trace(model.loss, model.batch));
  for (const nn::Named& p : model.parameters) {
    if (found.own.contains(p.name)) {
      found.kept.add(p.parameter.type());
      continue;
    }
    found.all.add(p.parameter.type());
    if (p.parameter.trainable()) found.trained.add(p.parameter.type());
  }
  found.flops = flops_of(forward);
  TrainStep step(model.loss, model.parameters, model.rule, {.measure = false});
  Graph whole = step.graph(model.batch);
  found.step_flops = flops_of(eliminate_dead_code(whole));
  Problem problem = problem_of(whole, {.measure = false});
  found.keep_all = peak(problem, keep_all(problem));
  found.all_trained = bytes_if_all_trained(command.model);
  if (is_onnx_path(command.model.name)) {
    found.operators = onnx_summary(command.model.name).operators;
    return found;
  }
  for (const Node& node : forward.nodes())
    if (!node.inputs.empty()) ++found.operators[std::string(node.op->name)];
  return found;
}

std::string tensor_name(const BuiltInModel& model, std::size_t i) {
  if (i < model.inputs.size()) return model.inputs[i];
  return i == 0 ? "x" : "y";
}

Json json_of(const InspectCommand& command, const Inspection& r) {
  Json json = {{"model", command.model.name},
               {"parameters", r.all.numbers},
               {"parameter_bytes", r.all.bytes},
               {"trained", r.trained.numbers},
               {"trained_bytes", r.trained.bytes},
               {"kept", r.kept.numbers},
               {"flops", r.flops},
               {"step_flops", r.step_flops},
               {"keep_all_bytes", r.keep_all},
               {"all_trained_bytes", r.all_trained > 0 ? r.all_trained : r.keep_all},
               {"operators", r.operators},
               {"notes", r.model.notes}};
  Json batch = Json::object(), tensors = Json::array();
  for (std::size_t i = 0; i < r.model.batch.size(); ++i) batch[tensor_name(r.model, i)] = to_string(r.model.batch[i]);
  for (const nn::Named& p : r.model.parameters)
    tensors.push_back({{"name", p.name},
                       {"type", to_string(p.parameter.type())},
                       {"bytes", p.parameter.type().bytes()},
                       {"role", role_of(r, p)}});
  json["batch"] = batch;
  json["tensors"] = tensors;
  return json;
}

void print_text(const InspectCommand& command, const Inspection& r) {
  fmt::print("{}", command.model.name);
  if (is_onnx_path(command.model.name)) {
    OnnxSummary file = onnx_summary(command.model.name);
    fmt::print(": {}, opset {}", file.producer.empty() ? "unknown producer" : file.producer, file.opset);
  }
  fmt::print("\n  takes");
  for (std::size_t i = 0; i < r.model.batch.size(); ++i)
    fmt::print("{} {} {}", i == 0 ? "" : ",", tensor_name(r.model, i), to_string(r.model.batch[i]));
  fmt::print("\n  {} parameters, {}; {} of them train, {}\n", r.all.numbers, format_bytes(r.all.bytes),
             r.trained.numbers, format_bytes(r.trained.bytes));
  if (r.kept.numbers > 0)
    fmt::print("  {} numbers that the network keeps itself, such as running statistics\n", r.kept.numbers);
  fmt::print("  {:.4g} GFLOP forward, {:.4g} GFLOP a training step\n", r.flops / 1e9, r.step_flops / 1e9);
  fmt::print("  a step that keeps everything takes {}\n", format_bytes(r.keep_all));
  if (r.all_trained > 0)
    fmt::print("  frozen parameters save {}: with all of them trained it would be {}\n",
               format_bytes(r.all_trained - r.keep_all), format_bytes(r.all_trained));
  for (const std::string& note : r.model.notes) fmt::print("  {}\n", note);
  std::string ops;
  for (const auto& [name, count] : r.operators) ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", name, count);
  fmt::print("\nops: {}\n\n", ops);
  for (const nn::Named& p : r.model.parameters)
    fmt::print("  {:<44} {:<22} {:>10}  {}\n", report::shortened(p.name, 44), to_string(p.parameter.type()),
               format_bytes(p.parameter.type().bytes()), role_of(r, p));
}

Status run_inspect(const InspectCommand& command) {
  Inspection found = inspect(command);
  if (command.json)
    fmt::print("{}\n", json_of(command, found).dump(-1, ' ', false, Json::error_handler_t::replace));
  else
    print_text(command, found);
  return done;
}

}  // namespace

std::function<Status()> add_inspect(CLI::App& verb) {
  auto command = std::make_shared<InspectCommand>();
  command->model.estimate = true;
  add_option(verb, "model", command->model.name, "A built-in model (see `reprise models`) or an ONNX file",
             {.is_required = true, .type = "MODEL|FILE.onnx", .check = is_model_name()});
  add_option(verb, "--batch", command->model.batch, "Samples in a batch; the model's own number if left out",
             {.check = positive()});
  add_option(verb, "--optimizer", command->model.optimizer, "Instead of the model's own: " + optim::rule_names(),
             {.check = one_of(optim::rule_names())});
  add_option(verb, "--budget", command->budget,
             "Bytes that reading an ONNX file may take beside its size; 128MiB if left out", {.check = is_budget()});
  add_network_options(verb, command->model.network);
  add_flag(verb, "--json", command->json, "Print JSON on standard output and nothing else there");
  add_footer(verb,
             "Examples:\n"
             "  reprise inspect net.onnx                    what stands in the file, and what training it takes\n"
             "  reprise inspect net.onnx --train 'fc.*'     what is saved if only the last layer trains\n"
             "  reprise inspect resnet18 --batch 4 --json");
  return [command] {
    command->model.budget = known_bytes(command->budget);
    return run_inspect(*command);
  };
}

}  // namespace reprise::cli
